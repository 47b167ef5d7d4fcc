/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST = 256, BUF_KEEP = 64 * 1024 };

static char empty[1];

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.data = empty, .max = max};
}

void buf_free(struct buf *b)
{
	if (b->cap > 0)
		free(b->data);
	buf_init(b, b->max);
}

void buf_reset(struct buf *b)
{
	if (b->cap > BUF_KEEP)
		buf_free(b);
	b->len = 0;
	b->failed = false;
	if (b->cap > 0)
		b->data[0] = '\0';
}

static int reserve(struct buf *b, size_t extra)
{
	size_t need, cap;
	char *data;

	if (b->failed || extra > b->max - b->len) {
		b->failed = true;
		return -1;
	}
	need = b->len + extra + 1;
	if (need <= b->cap)
		return 0;
	for (cap = b->cap > 0 ? b->cap : BUF_FIRST; cap < need;)
		cap *= 2;
	data = realloc(b->cap > 0 ? b->data : NULL, cap);
	if (data == NULL) {
		b->failed = true;
		return -1;
	}
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	if (reserve(b, len) < 0)
		return -1;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t room = b->cap > 0 && !b->failed ? b->cap - b->len : 0;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(room > 0 ? b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	if (len >= 0 && (size_t)len < room && (size_t)len <= b->max - b->len) {
		b->len += (size_t)len;
		return 0;
	}
	if (room > 0)
		b->data[b->len] = '\0'; /* what did not fit is no part of it */
	if (len < 0 || reserve(b, (size_t)len) < 0) {
		b->failed = true;
		return -1;
	}
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)len;
	return 0;
}
