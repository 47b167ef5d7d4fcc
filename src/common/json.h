/* SPDX-License-Identifier: Apache-2.0
 * Strict reading of JSON from outside on top of json-c, and typed access that says what is wrong. */
#ifndef CAM_JSON_H
#define CAM_JSON_H

#include "common/err.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH_MAX = 16, JSON_STRING_MAX = 4096 };

/* One JSON object, nothing after it, valid UTF-8, at most JSON_DEPTH_MAX deep. The caller puts it back with
 * json_object_put(). NULL and *e on any fault. */
struct json_object *json_parse_object(const char *text, size_t len, struct err *e);

/* The members below are looked up by name. An absent or null member leaves *ret as it was and returns 0; one of
 * another type returns -1 and says which. Returned strings belong to the object. */
int json_get_string(struct json_object *obj, const char *name, const char **ret, struct err *e);
int json_get_bool(struct json_object *obj, const char *name, bool *ret, struct err *e);
int json_get_double(struct json_object *obj, const char *name, double *ret, struct err *e);
int json_get_int64(struct json_object *obj, const char *name, int64_t *ret, struct err *e);

/* The same for what comes from our own database, which says what it means: "" and 0 for anything else. */
const char *json_text(struct json_object *obj, const char *name);
int64_t json_number(struct json_object *obj, const char *name);

#endif
