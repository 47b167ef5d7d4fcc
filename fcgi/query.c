/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/query.h"

#include "fcgi/percent.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 40, INT_DIGITS_MAX = 9 };

/* Where a decoded string is being put. */
struct writer {
	char *at, *end;
};

/* Decodes up to one of stops or the end of *p and moves *p there. NULL for a byte that may not be or has no room. */
static const char *decode(const char **p, const char *stops, struct writer *w)
{
	const char *start = w->at;

	while (**p != '\0' && strchr(stops, **p) == NULL) {
		int c = percent_next(p);

		if (c < 0 || w->end - w->at < 2)
			return NULL;
		*w->at++ = (char)c;
	}
	*w->at++ = '\0';
	return start;
}

static struct query_param *find(struct query_param *params, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(params[i].name, name) == 0)
			return &params[i];
	return NULL;
}

/* One name=value at *p. */
static int parse_pair(const char **p, struct writer *w, struct query_param *params, size_t n, struct err *e)
{
	const char *name = decode(p, "=&", w), *value;
	struct query_param *param;

	if (name == NULL)
		return err_set(e, "the query holds a broken escape or a character that is never part of one");
	param = find(params, n, name);
	if (param == NULL)
		return err_set(e, "there is no parameter \"%.*s\" here", NAME_SHOWN, name);
	if (**p != '=')
		return err_set(e, "\"%s\" has no value", name);
	(*p)++;
	value = decode(p, "&", w);
	if (value == NULL)
		return err_set(e, "\"%s\" holds a broken escape or a character that is never part of one", name);
	if (*value == '\0')
		return err_set(e, "\"%s\" is empty", name);
	if (strlen(value) > QUERY_VALUE_MAX)
		return err_set(e, "\"%s\" is longer than %d characters", name, QUERY_VALUE_MAX);
	if (param->value != NULL)
		return err_set(e, "\"%s\" is there twice", name);
	param->value = value;
	return 0;
}

const char *query_parse(const char *uri, struct query *q, struct query_param *params, size_t n, struct err *e)
{
	const char *p = strchr(uri, '?');
	struct writer w = {q->text, q->text + sizeof q->text};

	for (size_t i = 0; i < n; i++)
		params[i].value = NULL;
	if (p == NULL || p[1] == '\0')
		return NULL;
	/* Decoded it is no longer than this, each '=' and '&' becoming a NUL, and one for the end. */
	if (strlen(p) >= sizeof q->text) {
		err_set(e, "the query is longer than %d bytes", QUERY_BYTES_MAX - 2);
		return "URI_TOO_LONG";
	}
	do {
		p++;
		if (parse_pair(&p, &w, params, n, e) < 0)
			return "BAD_REQUEST";
	} while (*p == '&');
	return NULL;
}

int query_int(const struct query_param *p, long low, long high, long *ret, struct err *e)
{
	const char *digits;
	size_t len;
	long value;

	if (p->value == NULL)
		return 0;
	digits = p->value + (*p->value == '-');
	len = strspn(digits, "0123456789");
	value = strtol(p->value, NULL, 10);
	if (len == 0 || len > INT_DIGITS_MAX || digits[len] != '\0' || value < low || value > high)
		return err_set(e, "\"%s\" must be a whole number from %ld to %ld", p->name, low, high);
	*ret = value;
	return 0;
}
