/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/iso_time.h"

#include <time.h>

/* n digits with a value of low..high. Moves *s past them. */
static bool number(const char **s, int n, int low, int high, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		v = v * 10 + (**s - '0');
	}
	*ret = v;
	return v >= low && v <= high;
}

static bool literal(const char **s, char c)
{
	if (**s != c)
		return false;
	(*s)++;
	return true;
}

/* An absent fraction is 0; digits after the third are read and dropped. */
static bool fraction(const char **s, int *ret_ms)
{
	int weight = 100, digits = 0;

	*ret_ms = 0;
	if (!literal(s, '.') && !literal(s, ','))
		return true;
	for (; **s >= '0' && **s <= '9'; (*s)++, weight /= 10, digits++)
		*ret_ms += (**s - '0') * weight;
	return digits > 0;
}

static bool zone(const char **s, int *ret_minutes)
{
	int sign, hours, minutes = 0;

	*ret_minutes = 0;
	if (**s == '\0' || literal(s, 'Z') || literal(s, 'z'))
		return true;
	if (**s != '+' && **s != '-')
		return false;
	sign = **s == '-' ? -1 : 1;
	(*s)++;
	if (!number(s, 2, 0, 23, &hours))
		return false;
	if (**s != '\0' && ((literal(s, ':') && **s == '\0') || !number(s, 2, 0, 59, &minutes)))
		return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

bool iso_time_parse(const char *s, int64_t *ret_ms)
{
	int year, month, day, hour, minute, second, ms, offset;
	struct tm tm;

	if (!number(&s, 4, 1970, 9999, &year) || !literal(&s, '-') || !number(&s, 2, 1, 12, &month) ||
	    !literal(&s, '-') || !number(&s, 2, 1, days_in(year, month), &day) ||
	    !(literal(&s, 'T') || literal(&s, 't') || literal(&s, ' ')) || !number(&s, 2, 0, 23, &hour) ||
	    !literal(&s, ':') || !number(&s, 2, 0, 59, &minute) || !literal(&s, ':') ||
	    !number(&s, 2, 0, 60, &second) || !fraction(&s, &ms) || !zone(&s, &offset) || *s != '\0')
		return false;
	tm = (struct tm){
	    .tm_year = year - 1900,
	    .tm_mon = month - 1,
	    .tm_mday = day,
	    .tm_hour = hour,
	    .tm_min = minute,
	    .tm_sec = second,
	};
	*ret_ms = ((int64_t)timegm(&tm) - offset * 60) * 1000 + ms;
	return true;
}
