/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/call_body.h"

#include "common/ident.h"

#include <json-c/json.h>
#include <string.h>

enum { NAME_MAX_LEN = 16 }; /* longer ones are none that we look for */

struct scan {
	const char *text;
	size_t at, len;
	struct call_body *body;
	const char *fault; /* NULL: the text is not JSON at this place */
};

static bool fails(struct scan *s, const char *fault)
{
	s->fault = fault;
	return false;
}

static int peek(const struct scan *s)
{
	return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static void skip_blank(struct scan *s)
{
	while (s->at < s->len &&
	       (s->text[s->at] == ' ' || s->text[s->at] == '\t' || s->text[s->at] == '\n' || s->text[s->at] == '\r'))
		s->at++;
}

static bool take(struct scan *s, int c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

/* --- strings */

static int hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The four digits of \uXXXX; -1: they are none. */
static int take_unicode(struct scan *s)
{
	int code = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(peek(s));

		if (digit < 0)
			return -1;
		code = code * 16 + digit;
		s->at++;
	}
	return code;
}

/* What stands behind a backslash, as a character; '?' if that is none of ASCII; -1: it may not stand there. */
static int take_escape(struct scan *s)
{
	int c = peek(s);

	if (c < 0 || strchr("\"\\/bfnrtu", c) == NULL || c == '\0')
		return -1;
	s->at++;
	if (c == 'u') {
		c = take_unicode(s);
		return c < 0 ? -1 : c >= 0x20 && c < 0x7f ? c : '?';
	}
	return strchr("\"\\/", c) != NULL ? c : '?';
}

/* With ret, its first size - 1 bytes. */
static bool take_string(struct scan *s, char *ret, size_t size)
{
	size_t n = 0;
	int c;

	if (!take(s, '"'))
		return false;
	while ((c = peek(s)) != '"') {
		if (c < 0x20) /* or the end */
			return false;
		s->at++;
		if (c == '\\' && (c = take_escape(s)) < 0)
			return false;
		if (ret != NULL && n + 1 < size)
			ret[n++] = (char)(c < 0x80 ? c : '?');
	}
	s->at++;
	if (ret != NULL)
		ret[n] = '\0';
	return true;
}

/* --- values */

static bool take_digits(struct scan *s)
{
	size_t start = s->at;

	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return s->at > start;
}

static bool take_number(struct scan *s)
{
	take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return take_digits(s);
	}
	return true;
}

static bool take_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool take_value(struct scan *s, int depth);

static bool take_array(struct scan *s, int depth)
{
	s->at++;
	skip_blank(s);
	if (take(s, ']'))
		return true;
	do {
		if (!take_value(s, depth))
			return false;
		skip_blank(s);
	} while (take(s, ','));
	return take(s, ']');
}

/* A member of the outermost object: what we want to know of it is noted. */
static bool take_member(struct scan *s, const char *name)
{
	struct call_body *b = s->body;

	b->has_messages |= strcmp(name, "messages") == 0;
	b->has_prompt |= strcmp(name, "prompt") == 0;
	b->has_input |= strcmp(name, "input") == 0;
	if (strcmp(name, "model") != 0)
		return take_value(s, 1);
	if (b->has_model)
		return fails(s, "\"model\" is there twice");
	skip_blank(s);
	if (peek(s) != '"')
		return fails(s, "\"model\" must be a string");
	b->has_model = true;
	b->model_start = s->at;
	if (!take_string(s, b->model, sizeof b->model))
		return false;
	b->model_end = s->at;
	return true;
}

static bool take_object(struct scan *s, int depth)
{
	char name[NAME_MAX_LEN];

	s->at++;
	skip_blank(s);
	if (take(s, '}'))
		return true;
	do {
		skip_blank(s);
		if (!take_string(s, name, sizeof name))
			return false;
		skip_blank(s);
		if (!take(s, ':') || !(depth == 1 ? take_member(s, name) : take_value(s, depth)))
			return false;
		skip_blank(s);
	} while (take(s, ','));
	return take(s, '}');
}

static bool take_value(struct scan *s, int depth)
{
	skip_blank(s);
	switch (peek(s)) {
	case '{':
	case '[':
		if (depth == CALL_BODY_DEPTH_MAX)
			return fails(s, "the JSON text is nested too deeply");
		return peek(s) == '{' ? take_object(s, depth + 1) : take_array(s, depth + 1);
	case '"':
		return take_string(s, NULL, 0);
	case 't':
		return take_word(s, "true");
	case 'f':
		return take_word(s, "false");
	case 'n':
		return take_word(s, "null");
	default:
		return take_number(s);
	}
}

int call_body_read(const char *text, size_t len, struct call_body *ret, struct err *e)
{
	struct scan s = {.text = text, .len = len, .body = ret};
	size_t inside;

	*ret = (struct call_body){.text = text, .len = len};
	if (!ident_is_utf8(text, len))
		return err_set(e, "the JSON text is not valid UTF-8");
	skip_blank(&s);
	if (s.at == len)
		return err_set(e, "the body is empty; a JSON object is expected");
	if (peek(&s) != '{')
		return err_set(e, "a JSON object is expected");
	inside = s.at + 1;
	if (!take_value(&s, 0)) {
		if (s.fault != NULL)
			return err_set(e, "%s", s.fault);
		if (s.at == len)
			return err_set(e, "the JSON text ends in the middle");
		return err_set(e, "not valid JSON near byte %zu", s.at);
	}
	skip_blank(&s);
	if (s.at != len)
		return err_set(e, "there is something after the JSON object");
	if (!ret->has_model) {
		ret->model_start = ret->model_end = inside;
		ret->is_empty = text[inside + strspn(text + inside, " \t\r\n")] == '}';
	}
	return 0;
}

int call_body_write(const struct call_body *body, const char *model, struct buf *out)
{
	struct json_object *name;

	if (model == NULL)
		return buf_append(out, body->text, body->len);
	name = json_object_new_string(model);
	buf_append(out, body->text, body->model_start);
	buf_printf(out, "%s%s%s",
	    body->has_model ? "" : "\"model\":", json_object_to_json_string_ext(name, JSON_C_TO_STRING_NOSLASHESCAPE),
	    body->has_model || body->is_empty ? "" : ",");
	buf_append(out, body->text + body->model_end, body->len - body->model_end);
	json_object_put(name);
	return out->failed ? -1 : 0;
}
