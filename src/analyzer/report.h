/* SPDX-License-Identifier: Apache-2.0
 * The 200 answer of POST /v1/analyze as JSON. */
#ifndef CAM_REPORT_H
#define CAM_REPORT_H

#include "analyzer/verdict.h"

#include <json-c/json.h>

struct report {
	const char *schema_version, *camera_id, *captured_at, *request_id, *profile;
	bool bboxes; /* whether the caller wants them */
	int width, height;
	double inference_ms, motion_ratio;
	struct vision_metrics metrics;
	struct verdict verdict;
};

/* Members of result (NULL: none) take the place of those with the same name. The caller puts the object back. */
struct json_object *report_json(const struct report *r, struct json_object *result);

#endif
