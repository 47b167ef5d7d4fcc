/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/is21.h"

#include "common/ident.h"
#include "common/json.h"

#include <stdio.h>
#include <string.h>

enum { SEVERITY_MAX = 3, COUNT_MAX = 1000000 };

static int read_tags(struct json_object *body, struct is21_result *r, struct err *e)
{
	struct json_object *list;
	size_t n;

	if (!json_object_object_get_ex(body, "tags", &list) || list == NULL)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return err_set(e, "\"tags\" must be an array");
	n = json_object_array_length(list);
	if (n > IS21_TAGS_MAX)
		return err_set(e, "more than %d tags", IS21_TAGS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct json_object *tag = json_object_array_get_idx(list, i);
		const char *text;

		if (!json_object_is_type(tag, json_type_string))
			return err_set(e, "\"tags\" must hold strings only");
		text = json_object_get_string(tag);
		if (!ident_is_text(text, IS21_TAG_MAX) || strlen(text) != (size_t)json_object_get_string_len(tag))
			return err_set(
			    e, "a tag is empty, longer than %d bytes, or holds control characters", IS21_TAG_MAX);
		r->tags[r->n_tags++] = text;
	}
	return 0;
}

static int read_number(
    struct json_object *body, const char *name, double min, double max, bool *ret_has, double *ret, struct err *e)
{
	struct json_object *m;

	*ret_has = json_object_object_get_ex(body, name, &m) && m != NULL;
	if (!*ret_has)
		return 0;
	if (json_get_double(body, name, ret, e) < 0)
		return -1;
	if (!(*ret >= min && *ret <= max))
		return err_set(e, "\"%s\" must be from %g to %g", name, min, max);
	return 0;
}

/* Where a node measures sharpness it says so at the top or among its metrics. */
static void read_blur(struct json_object *body, struct is21_result *r)
{
	struct json_object *metrics;

	if (read_number(body, "blur_score", 0, 1e9, &r->has_blur, &r->blur_score, NULL) == 0 && r->has_blur)
		return;
	r->has_blur =
	    json_object_object_get_ex(body, "metrics", &metrics) && json_object_is_type(metrics, json_type_object) &&
	    read_number(metrics, "blur_score", 0, 1e9, &r->has_blur, &r->blur_score, NULL) == 0 && r->has_blur;
}

static int read_fields(struct json_object *body, struct is21_result *r, struct err *e)
{
	bool analyzed = true, has_detected, has_severity;
	int64_t count = 0;
	double severity = 0;

	has_detected = json_object_object_get_ex(body, "detected", NULL);
	if (json_get_bool(body, "analyzed", &analyzed, e) < 0 || json_get_bool(body, "detected", &r->detected, e) < 0 ||
	    json_get_string(body, "primary_event", &r->primary_event, e) < 0 ||
	    json_get_string(body, "schema_version", &r->schema_version, e) < 0 ||
	    read_number(body, "severity", 0, SEVERITY_MAX, &has_severity, &severity, e) < 0 ||
	    read_number(body, "confidence", 0, 1, &r->has_confidence, &r->confidence, e) < 0 ||
	    json_get_int64(body, "count_hint", &count, e) < 0 || read_tags(body, r, e) < 0)
		return -1;
	if (!analyzed)
		return err_set(e, "the node says that it did not analyse the image");
	if (!has_detected && r->primary_event == NULL)
		return err_set(e, "neither \"detected\" nor \"primary_event\" is there");
	if (r->primary_event == NULL)
		r->primary_event = r->detected ? "unknown" : "none";
	if (!ident_valid(r->primary_event))
		return err_set(e, "\"primary_event\" is not a plain word");
	if (!has_detected)
		r->detected = strcmp(r->primary_event, "none") != 0;
	r->severity = (int)severity;
	if (severity != r->severity)
		return err_set(e, "\"severity\" must be a whole number");
	if (count < 0 || count > COUNT_MAX)
		return err_set(e, "\"count_hint\" must be from 0 to %d", COUNT_MAX);
	r->has_count = json_object_object_get_ex(body, "count_hint", NULL);
	r->count_hint = (int)count;
	r->unknown_flag = strcmp(r->primary_event, "unknown") == 0;
	read_blur(body, r);
	return json_get_bool(body, "unknown_flag", &r->unknown_flag, e);
}

int is21_parse(const char *text, size_t len, struct is21_result *ret, struct err *e)
{
	struct is21_result r = {.body = json_parse_object(text, len, e)};

	if (r.body == NULL)
		return -1;
	if (read_fields(r.body, &r, e) < 0) {
		json_object_put(r.body);
		return -1;
	}
	*ret = r;
	return 0;
}

void is21_free(struct is21_result *r)
{
	json_object_put(r->body);
	r->body = NULL;
}

void is21_mismatch(const char *text, size_t len, char ret_current[IS21_SCHEMA_VERSION_MAX + 1])
{
	struct json_object *body = json_parse_object(text, len, NULL), *detail;
	const char *current = NULL;

	ret_current[0] = '\0';
	if (body == NULL)
		return;
	if (json_object_object_get_ex(body, "detail", &detail) && json_object_is_type(detail, json_type_object))
		(void)json_get_string(detail, "current", &current, NULL);
	if (current == NULL)
		(void)json_get_string(body, "current", &current, NULL);
	if (current != NULL)
		snprintf(ret_current, IS21_SCHEMA_VERSION_MAX + 1, "%s", current);
	json_object_put(body);
}
