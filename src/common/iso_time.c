/* SPDX-License-Identifier: Apache-2.0 */
#include "common/iso_time.h"

#include <stdio.h>
#include <string.h>

enum { YEAR_MIN = 1970, YEAR_MAX = 9999, FRACTION_DIGITS_MAX = 9 };

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

/* One of the characters of set. */
static bool one_of(const char **s, const char *set)
{
	if (**s == '\0' || strchr(set, **s) == NULL)
		return false;
	(*s)++;
	return true;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static bool date(const char **s, struct tm *ret)
{
	int year, month, day;

	if (!number(s, 4, YEAR_MIN, YEAR_MAX, &year) || !one_of(s, "-") || !number(s, 2, 1, 12, &month) ||
	    !one_of(s, "-") || !number(s, 2, 1, days_in(year, month), &day))
		return false;
	ret->tm_year = year - 1900;
	ret->tm_mon = month - 1;
	ret->tm_mday = day;
	return true;
}

/* An absent fraction is 0; digits after the sixth are read and dropped. */
static bool fraction(const char **s, enum iso_form form, int *ret_us)
{
	int digits = 0, weight = 100000, us = 0;

	if (one_of(s, form == RFC_3339 ? "." : ".,")) {
		for (; **s >= '0' && **s <= '9'; (*s)++, weight /= 10, digits++)
			us += (**s - '0') * weight;
		if (digits == 0 || digits > FRACTION_DIGITS_MAX)
			return false;
	}
	*ret_us = us;
	return true;
}

static bool zone(const char **s, enum iso_form form, int *ret_minutes)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes = 0;

	*ret_minutes = 0;
	if (one_of(s, "Zz") || (form == ISO_8601 && **s == '\0'))
		return true;
	if (!one_of(s, "+-") || !number(s, 2, 0, 23, &hours))
		return false;
	/* The hour alone, or hour and minute without the colon, are ISO 8601's. */
	if ((form == RFC_3339 || **s != '\0') &&
	    ((!one_of(s, ":") && form == RFC_3339) || !number(s, 2, 0, 59, &minutes)))
		return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

bool iso_time_parse(const char *s, enum iso_form form, time_t *ret_sec, int *ret_us)
{
	struct tm tm = {0};
	int us, offset;

	if (!date(&s, &tm) || !one_of(&s, form == RFC_3339 ? "Tt" : "Tt ") || !number(&s, 2, 0, 23, &tm.tm_hour) ||
	    !one_of(&s, ":") || !number(&s, 2, 0, 59, &tm.tm_min) || !one_of(&s, ":") ||
	    !number(&s, 2, 0, 60, &tm.tm_sec) || !fraction(&s, form, &us) || !zone(&s, form, &offset) || *s != '\0')
		return false;
	*ret_sec = timegm(&tm) - offset * 60;
	*ret_us = us;
	return true;
}

bool rfc3339_parse(const char *s, char ret_utc[RFC3339_UTC_LEN + 1])
{
	char text[64];
	struct tm tm;
	time_t at;
	int us;

	if (!iso_time_parse(s, RFC_3339, &at, &us) || gmtime_r(&at, &tm) == NULL || tm.tm_year + 1900 < YEAR_MIN ||
	    tm.tm_year + 1900 > YEAR_MAX)
		return false;
	if (snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, us) != RFC3339_UTC_LEN)
		return false;
	memcpy(ret_utc, text, RFC3339_UTC_LEN + 1);
	return true;
}
