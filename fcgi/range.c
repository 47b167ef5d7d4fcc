/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/range.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Digits at *p; more than fit are as good as the largest number. False if there are none. */
static bool number(const char **p, size_t *ret)
{
	size_t n = 0;
	const char *start = *p;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		size_t digit = (size_t)(**p - '0');

		n = n > (SIZE_MAX - digit) / 10 ? SIZE_MAX : n * 10 + digit;
	}
	*ret = n;
	return *p > start;
}

enum range_kind range_parse(const char *header, size_t len, size_t *ret_first, size_t *ret_last)
{
	static const char unit[] = "bytes=";
	size_t first, last;
	bool has_first, has_last;

	if (header == NULL || strncasecmp(header, unit, strlen(unit)) != 0)
		return RANGE_ALL;
	header += strlen(unit);
	has_first = number(&header, &first);
	if (*header != '-')
		return RANGE_ALL;
	header++;
	has_last = number(&header, &last);
	/* Several ranges, or nonsense: the whole is a right answer to both. */
	if (*header != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first))
		return RANGE_ALL;
	if (!has_first) { /* the last so many */
		if (last == 0 || len == 0)
			return RANGE_NONE;
		first = last < len ? len - last : 0;
		last = len - 1;
	} else if (first >= len) {
		return RANGE_NONE;
	} else if (!has_last || last >= len) {
		last = len - 1;
	}
	*ret_first = first;
	*ret_last = last;
	return RANGE_PART;
}
