/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/percent.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int percent_next(const char **p)
{
	int c = (unsigned char)*(*p)++;

	if (c == '%') {
		int high = hex_digit((*p)[0]), low = high < 0 ? -1 : hex_digit((*p)[1]);

		if (low < 0)
			return -1;
		c = high << 4 | low;
		*p += 2;
	}
	return c < 0x20 || c >= 0x7f ? -1 : c;
}
