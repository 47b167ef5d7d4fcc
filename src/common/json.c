/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include "common/ident.h"

#include <limits.h>
#include <string.h>

/* The text need not end where it is read to. */
static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr(" \t\r\n", text[i]) == NULL || text[i] == '\0')
			return false;
	return true;
}

struct json_object *json_parse_object(const char *text, size_t len, struct err *e)
{
	struct json_tokener *tok;
	struct json_object *obj = NULL;
	enum json_tokener_error fault;

	if (len == 0 || len > INT_MAX) {
		err_set(e, len == 0 ? "the body is empty; a JSON object is expected" : "the JSON text is too long");
		return NULL;
	}
	if (!ident_is_utf8(text, len)) { /* json-c's own check lets overlong forms pass */
		err_set(e, "the JSON text is not valid UTF-8");
		return NULL;
	}
	tok = json_tokener_new_ex(JSON_DEPTH_MAX);
	if (tok == NULL) {
		err_set(e, "out of memory");
		return NULL;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	obj = json_tokener_parse_ex(tok, text, (int)len);
	fault = json_tokener_get_error(tok);
	if (fault == json_tokener_continue) {
		err_set(e, "the JSON text ends in the middle");
	} else if (fault != json_tokener_success) {
		err_set(e, "not valid JSON near byte %zu: %s", json_tokener_get_parse_end(tok),
		    json_tokener_error_desc(fault));
	} else if (!is_blank(text + json_tokener_get_parse_end(tok), len - json_tokener_get_parse_end(tok))) {
		err_set(e, "there is something after the JSON object");
		fault = json_tokener_error_parse_unexpected;
	} else if (!json_object_is_type(obj, json_type_object)) {
		err_set(e, "a JSON object is expected, not %s", json_type_to_name(json_object_get_type(obj)));
		fault = json_tokener_error_parse_unexpected;
	}
	json_tokener_free(tok);
	if (fault != json_tokener_success) {
		json_object_put(obj);
		return NULL;
	}
	return obj;
}

/* 1 if the member is there and of the type, 0 if absent, -1 if of another type. */
static int member(
    struct json_object *obj, const char *name, enum json_type type, struct json_object **ret, struct err *e)
{
	struct json_object *m;

	if (!json_object_object_get_ex(obj, name, &m) || m == NULL)
		return 0;
	if (!json_object_is_type(m, type) && !(type == json_type_double && json_object_is_type(m, json_type_int)))
		return err_set(e, "\"%s\" must be a %s, not a %s", name, json_type_to_name(type),
		    json_type_to_name(json_object_get_type(m)));
	*ret = m;
	return 1;
}

int json_get_string(struct json_object *obj, const char *name, const char **ret, struct err *e)
{
	struct json_object *m = NULL;
	int found = member(obj, name, json_type_string, &m, e);
	size_t len;

	if (found <= 0)
		return found;
	len = (size_t)json_object_get_string_len(m);
	if (len > JSON_STRING_MAX)
		return err_set(e, "\"%s\" is longer than %d bytes", name, JSON_STRING_MAX);
	if (strlen(json_object_get_string(m)) != len)
		return err_set(e, "\"%s\" holds a NUL character", name);
	*ret = json_object_get_string(m);
	return 0;
}

int json_get_bool(struct json_object *obj, const char *name, bool *ret, struct err *e)
{
	struct json_object *m = NULL;
	int found = member(obj, name, json_type_boolean, &m, e);

	if (found > 0)
		*ret = json_object_get_boolean(m);
	return found < 0 ? -1 : 0;
}

int json_get_double(struct json_object *obj, const char *name, double *ret, struct err *e)
{
	struct json_object *m = NULL;
	int found = member(obj, name, json_type_double, &m, e);

	if (found > 0)
		*ret = json_object_get_double(m);
	return found < 0 ? -1 : 0;
}

int json_get_int64(struct json_object *obj, const char *name, int64_t *ret, struct err *e)
{
	struct json_object *m = NULL;
	int found = member(obj, name, json_type_int, &m, e);

	if (found > 0)
		*ret = json_object_get_int64(m);
	return found < 0 ? -1 : 0;
}

const char *json_text(struct json_object *obj, const char *name)
{
	const char *text = "";

	(void)json_get_string(obj, name, &text, NULL);
	return text;
}

int64_t json_number(struct json_object *obj, const char *name)
{
	int64_t n = 0;

	(void)json_get_int64(obj, name, &n, NULL);
	return n;
}
