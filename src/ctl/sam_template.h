/* SPDX-License-Identifier: Apache-2.0
 * What a SAM template.yaml says about the capacity of its functions. */
#ifndef CAM_SAM_TEMPLATE_H
#define CAM_SAM_TEMPLATE_H

#include "common/err.h"

#include <json-c/json.h>

/* An object with, for each AWS::Serverless::Function, its name and {"max_capacity": N, "image": ...}; the capacity is
 * ReservedConcurrentExecutions, else 50. The caller puts it back. NULL and *e if the file is no good or has none. */
struct json_object *sam_template_read(const char *path, struct err *e);

#endif
