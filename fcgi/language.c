/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/language.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The range at p is the language itself or one of its regions: en, en-GB. */
static bool names(const char *p, const char *language)
{
	size_t len = strlen(language);

	return strncasecmp(p, language, len) == 0 && strchr("-,; \t", p[len]) != NULL; /* the NUL too */
}

static double weight(const char *p, size_t len)
{
	const char *q = memchr(p, ';', len);

	if (q == NULL)
		return 1;
	q += 1 + strspn(q + 1, " \t");
	if (strncasecmp(q, "q=", 2) != 0)
		return 1;
	return strtod(q + 2, NULL);
}

bool language_is_english(const char *header)
{
	double en = 0, ja = 0;

	for (const char *p = header; p != NULL && *p != '\0';) {
		size_t len;

		p += strspn(p, ", \t");
		len = strcspn(p, ",");
		if (names(p, "en") && weight(p, len) > en)
			en = weight(p, len);
		else if (names(p, "ja") && weight(p, len) > ja)
			ja = weight(p, len);
		p += len;
	}
	return en > ja;
}
