/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report.h"

#include <stdio.h>

static void add_text(struct json_object *obj, const char *name, const char *value)
{
	json_object_object_add(obj, name, json_object_new_string(value));
}

static void add_bool(struct json_object *obj, const char *name, bool value)
{
	json_object_object_add(obj, name, json_object_new_boolean(value));
}

static void add_int(struct json_object *obj, const char *name, int value)
{
	json_object_object_add(obj, name, json_object_new_int(value));
}

/* Four places; json-c would print seventeen. */
static void add_number(struct json_object *obj, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof text, "%.4f", value);
	json_object_object_add(obj, name, json_object_new_double_s(value, text));
}

static struct json_object *tags_json(const struct verdict *v)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < v->n_tags; i++)
		json_object_array_add(list, json_object_new_string(v->tags[i]));
	return list;
}

static struct json_object *boxes_json(const struct report *r)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; r->bboxes && i < r->verdict.n_boxes; i++) {
		const struct verdict_box *b = &r->verdict.boxes[i];
		struct json_object *box = json_object_new_object();

		add_number(box, "x1", b->x1);
		add_number(box, "y1", b->y1);
		add_number(box, "x2", b->x2);
		add_number(box, "y2", b->y2);
		add_text(box, "label", b->label);
		add_number(box, "conf", b->confidence);
		json_object_array_add(list, box);
	}
	return list;
}

static struct json_object *metrics_json(const struct report *r)
{
	struct json_object *obj = json_object_new_object();

	add_number(obj, "brightness", r->metrics.brightness);
	add_number(obj, "contrast", r->metrics.contrast);
	add_number(obj, "sharpness", r->metrics.sharpness);
	add_number(obj, "edge_energy", r->metrics.edge_energy);
	add_number(obj, "glare_ratio", r->metrics.glare_ratio);
	add_number(obj, "motion_ratio", r->motion_ratio);
	add_number(obj, "blur_score", r->metrics.blur_score);
	return obj;
}

static void add_verdict(struct json_object *obj, const struct report *r)
{
	const struct verdict *v = &r->verdict;

	add_bool(obj, "analyzed", true);
	add_bool(obj, "detected", v->detected);
	add_text(obj, "primary_event", v->primary_event);
	json_object_object_add(obj, "tags", tags_json(v));
	add_number(obj, "confidence", v->confidence);
	add_int(obj, "severity", v->severity);
	add_bool(obj, "unknown_flag", v->unknown_flag);
	add_int(obj, "count_hint", v->count_hint);
	json_object_object_add(obj, "bboxes", boxes_json(r));
}

/* The result belongs to a script that other threads read: its members are copied, not shared. */
static void override(struct json_object *obj, struct json_object *result)
{
	json_object_object_foreach(result, name, value)
	{
		struct json_object *copy = NULL;

		if (value == NULL || json_object_deep_copy(value, &copy, NULL) == 0)
			json_object_object_add(obj, name, copy);
	}
}

struct json_object *report_json(const struct report *r, struct json_object *result)
{
	struct json_object *obj = json_object_new_object(), *size = json_object_new_object();
	struct json_object *performance = json_object_new_object();

	add_text(obj, "schema_version", r->schema_version);
	add_text(obj, "camera_id", r->camera_id);
	add_text(obj, "captured_at", r->captured_at);
	add_text(obj, "request_id", r->request_id);
	add_text(obj, "profile", r->profile);
	add_verdict(obj, r);
	add_number(performance, "inference_ms", r->inference_ms);
	json_object_object_add(obj, "performance", performance);
	json_object_object_add(obj, "metrics", metrics_json(r));
	add_int(size, "width", r->width);
	add_int(size, "height", r->height);
	json_object_object_add(obj, "frame_size", size);
	if (result != NULL)
		override(obj, result);
	return obj;
}
