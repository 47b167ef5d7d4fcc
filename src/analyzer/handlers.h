/* SPDX-License-Identifier: Apache-2.0
 * What the routes lead to. Each answers the request, whose body has come in whole. */
#ifndef CAM_ANALYZER_HANDLERS_H
#define CAM_ANALYZER_HANDLERS_H

#include "analyzer/request.h"

enum MHD_Result handle_healthz(struct request *r);
enum MHD_Result handle_capabilities(struct request *r);
enum MHD_Result handle_schema_get(struct request *r);
enum MHD_Result handle_schema_put(struct request *r);
enum MHD_Result handle_analyze(struct request *r);
enum MHD_Result handle_debug_requests(struct request *r);

#endif
