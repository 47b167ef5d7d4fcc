/* SPDX-License-Identifier: Apache-2.0
 * Answers. Each function ends the request and returns what the daemon's callback has to return. */
#ifndef CAM_ANALYZER_ANSWER_H
#define CAM_ANALYZER_ANSWER_H

#include "analyzer/request.h"

/* Takes obj over; NULL means that memory ran out and becomes a 500. */
enum MHD_Result answer_json(struct request *r, unsigned status, struct json_object *obj);
/* JSON text that is malloced; taken over. */
enum MHD_Result answer_text(struct request *r, unsigned status, char *text);
/* {"error": code, "message": ...}; 429 gets Retry-After, 405 gets Allow. */
enum MHD_Result answer_error(struct request *r, unsigned status, const char *code, const char *message);
/* The status, headers and body of a rule. */
enum MHD_Result answer_rule(struct request *r, const struct script_rule *rule);
/* For a body past its limit, while it still comes in: says so on the socket and closes. The daemon itself cannot
 * answer before the end of a body. */
enum MHD_Result answer_cut_off(struct request *r, unsigned status, const char *code);

#endif
