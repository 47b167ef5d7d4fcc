/* SPDX-License-Identifier: Apache-2.0
 * The inference protocol's answers, read strictly where they matter and openly where they vary. No I/O. */
#ifndef CAM_IS21_H
#define CAM_IS21_H

#include "common/err.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum { IS21_ANSWER_MAX = 1024 * 1024, IS21_TAGS_MAX = 64, IS21_TAG_MAX = 128, IS21_SCHEMA_VERSION_MAX = 64 };

struct is21_result {
	struct json_object *body;   /* the whole answer; owned, is21_free() */
	const char *schema_version; /* or NULL */
	const char *primary_event;
	const char *tags[IS21_TAGS_MAX];
	size_t n_tags;
	bool detected;
	bool unknown_flag;
	bool has_confidence, has_count, has_blur;
	int severity;
	double confidence;
	int count_hint;
	double blur_score;
};

/* A 200 answer. Fields that are not there get what they mean by default; a field of a wrong type or range, or an
 * answer that says neither what was detected nor what kind it was, is an error. Strings belong to the body. */
int is21_parse(const char *text, size_t len, struct is21_result *ret, struct err *e);
void is21_free(struct is21_result *r);

/* What a node that speaks another schema says it speaks, at the top of the answer or under "detail"; "" if it does not
 * say. */
void is21_mismatch(const char *text, size_t len, char ret_current[IS21_SCHEMA_VERSION_MAX + 1]);

#endif
