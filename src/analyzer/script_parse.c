/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/script_parse.h"

#include "common/buf.h"
#include "common/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const file_members[] = {"rules", "comment", NULL};
static const char *const match_members[] = {"method", "path", "camera_id", NULL};
static const char *const rule_members[] = {"match", "times", "after", "delay_ms", "status", "headers", "body",
    "content_type", "body_bytes", "hang", "close", "result", "comment", NULL};

/* A misspelt member would silently make another test than was meant. */
static int check_members(struct json_object *obj, const char *const *known, struct err *e)
{
	json_object_object_foreach(obj, name, value)
	{
		const char *const *k = known;

		(void)value;
		while (*k != NULL && strcmp(*k, name) != 0)
			k++;
		if (*k == NULL)
			return err_set(e, "\"%s\" is not known here", name);
	}
	return 0;
}

/* 1 with *ret if the member is there, 0 if not, -1 if it is not an object. */
static int get_object(struct json_object *obj, const char *name, struct json_object **ret, struct err *e)
{
	struct json_object *m;

	if (!json_object_object_get_ex(obj, name, &m))
		return 0;
	if (!json_object_is_type(m, json_type_object))
		return err_set(e, "\"%s\" must be an object", name);
	*ret = m;
	return 1;
}

static int get_long(struct json_object *obj, const char *name, long min, long max, long *ret, struct err *e)
{
	int64_t v = *ret;

	if (json_get_int64(obj, name, &v, e) < 0)
		return -1;
	if (json_object_object_get_ex(obj, name, NULL) && (v < min || v > max))
		return err_set(e, "\"%s\" must be from %ld to %ld", name, min, max);
	*ret = (long)v;
	return 0;
}

static int parse_match(struct json_object *obj, struct script_rule *rule, struct err *e)
{
	struct json_object *match = NULL;
	int found = get_object(obj, "match", &match, e);

	if (found <= 0)
		return found;
	if (check_members(match, match_members, e) < 0 || json_get_string(match, "method", &rule->method, e) < 0 ||
	    json_get_string(match, "path", &rule->path, e) < 0 ||
	    json_get_string(match, "camera_id", &rule->camera_id, e) < 0)
		return -1;
	return 0;
}

static bool header_name_valid(const char *s)
{
	return *s != '\0' &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")] == '\0';
}

static int parse_headers(struct json_object *obj, struct script_rule *rule, struct err *e)
{
	struct json_object *headers = NULL;
	int found = get_object(obj, "headers", &headers, e);

	if (found <= 0)
		return found;
	json_object_object_foreach(headers, name, value)
	{
		const char *text = json_object_get_string(value);

		if (rule->n_headers == SCRIPT_HEADERS_MAX)
			return err_set(e, "more than %d headers", SCRIPT_HEADERS_MAX);
		if (!json_object_is_type(value, json_type_string) || !header_name_valid(name) ||
		    text[strcspn(text, "\r\n")] != '\0')
			return err_set(e, "header \"%s\" is not one, or its value is not a string in one line", name);
		rule->headers[rule->n_headers++] = (struct script_header){name, text};
	}
	return 0;
}

/* A string is sent as it is, anything else as JSON. The text is made here, once: json-c writes it into the object. */
static void parse_body(struct json_object *obj, struct script_rule *rule)
{
	struct json_object *body;

	if (!json_object_object_get_ex(obj, "body", &body))
		return;
	if (json_object_is_type(body, json_type_string)) {
		rule->body = json_object_get_string(body);
		rule->body_len = (size_t)json_object_get_string_len(body);
	} else if (body == NULL) {
		rule->body = "null";
		rule->body_len = strlen(rule->body);
	} else {
		rule->body = json_object_to_json_string_length(
		    body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &rule->body_len);
	}
}

static int check_sense(const struct script_rule *rule, struct err *e)
{
	bool content = rule->body != NULL || rule->body_bytes >= 0;

	if (rule->hang && rule->close)
		return err_set(e, "\"hang\" and \"close\" exclude each other");
	if ((rule->hang || rule->close) && (rule->status != 0 || content || rule->result != NULL))
		return err_set(e, "with \"hang\" or \"close\" there is no answer");
	if (rule->body != NULL && rule->body_bytes >= 0)
		return err_set(e, "\"body\" and \"body_bytes\" exclude each other");
	if (rule->result != NULL && (content || (rule->status != 0 && rule->status != 200)))
		return err_set(e, "\"result\" is a normal answer: no \"body\", no \"status\" but 200");
	if (rule->result == NULL && rule->status == 0 && (content || rule->n_headers > 0))
		return err_set(e, "an answer needs a \"status\"");
	return 0;
}

static int parse_rule(struct json_object *obj, struct script_rule *rule, struct err *e)
{
	long status = 0;

	rule->content_type = "application/json";
	rule->body_bytes = -1;
	if (!json_object_is_type(obj, json_type_object))
		return err_set(e, "a rule must be an object");
	if (check_members(obj, rule_members, e) < 0 || parse_match(obj, rule, e) < 0 ||
	    get_long(obj, "times", 1, LONG_MAX, &rule->times, e) < 0 ||
	    get_long(obj, "after", 0, LONG_MAX, &rule->after, e) < 0 ||
	    get_long(obj, "delay_ms", 0, SCRIPT_DELAY_MAX_MS, &rule->delay_ms, e) < 0 ||
	    get_long(obj, "status", 200, 599, &status, e) < 0 ||
	    get_long(obj, "body_bytes", 0, SCRIPT_BODY_BYTES_MAX, &rule->body_bytes, e) < 0 ||
	    json_get_bool(obj, "hang", &rule->hang, e) < 0 || json_get_bool(obj, "close", &rule->close, e) < 0 ||
	    json_get_string(obj, "content_type", &rule->content_type, e) < 0 || parse_headers(obj, rule, e) < 0 ||
	    get_object(obj, "result", &rule->result, e) < 0)
		return -1;
	rule->status = (unsigned)status;
	parse_body(obj, rule);
	if (check_sense(rule, e) < 0)
		return -1;
	if (rule->result != NULL)
		rule->status = 0;
	return 0;
}

static int parse_rules(struct script *s, struct err *e)
{
	struct json_object *rules;
	struct err why;

	if (check_members(s->document, file_members, e) < 0)
		return -1;
	if (!json_object_object_get_ex(s->document, "rules", &rules) || !json_object_is_type(rules, json_type_array))
		return err_set(e, "there must be an array \"rules\"");
	s->n = json_object_array_length(rules);
	if (s->n > SCRIPT_RULES_MAX)
		return err_set(e, "more than %d rules", SCRIPT_RULES_MAX);
	s->rules = calloc(s->n + 1, sizeof *s->rules);
	if (s->rules == NULL)
		return err_set(e, "out of memory");
	for (size_t i = 0; i < s->n; i++) {
		s->rules[i].script = s;
		if (parse_rule(json_object_array_get_idx(rules, i), &s->rules[i], &why) < 0)
			return err_set(e, "rule %zu: %.900s", i + 1, why.msg);
	}
	return 0;
}

static int read_file(const char *path, struct buf *b, struct err *e)
{
	FILE *f = fopen(path, "re");
	char chunk[4096];
	size_t n;
	int status = 0;

	if (f == NULL)
		return err_set(e, "%s", strerror(errno));
	while (status == 0 && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
		if (buf_append(b, chunk, n) < 0)
			status = err_set(e, "longer than %d bytes", SCRIPT_FILE_MAX);
	if (status == 0 && ferror(f))
		status = err_set(e, "%s", strerror(errno));
	fclose(f);
	return status;
}

struct script *script_parse_file(const char *path, struct err *e)
{
	struct script *s = calloc(1, sizeof *s);
	struct buf text;
	struct err why;
	bool good = false;

	buf_init(&text, SCRIPT_FILE_MAX);
	if (s == NULL)
		err_set(&why, "out of memory");
	else
		good = read_file(path, &text, &why) == 0 &&
		       (s->document = json_parse_object(text.data, text.len, &why)) != NULL &&
		       parse_rules(s, &why) == 0;
	buf_free(&text);
	if (good)
		return s;
	err_set(e, "script %.200s: %.800s", path, why.msg);
	script_parse_free(s);
	return NULL;
}

void script_parse_free(struct script *s)
{
	if (s == NULL)
		return;
	json_object_put(s->document);
	free(s->rules);
	free(s);
}
