/* SPDX-License-Identifier: Apache-2.0
 * The body of a model call: a JSON object of which only the model's name is ours to change. It is checked and searched
 * in one pass and passed on as the client wrote it - its numbers, its order -, with another name in the place of the
 * model's. */
#ifndef CAM_CALL_BODY_H
#define CAM_CALL_BODY_H

#include "common/buf.h"
#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CALL_BODY_DEPTH_MAX = 64, CALL_BODY_MODEL_MAX = 128 };

struct call_body {
	const char *text; /* the caller's */
	size_t len;
	bool has_messages, has_prompt, has_input, has_model;
	char model[CALL_BODY_MODEL_MAX +
		   2];                 /* what is too long is cut off here, too long still; '?' for what is no ASCII */
	size_t model_start, model_end; /* of its value; or where a member may be put in */
	bool is_empty;
};

/* One JSON object as RFC 8259 has it, in UTF-8, and nothing after it; "model", if it is there, once and a string. The
 * text must live as long as ret. -1 and *e otherwise. */
int call_body_read(const char *text, size_t len, struct call_body *ret, struct err *e);
/* Writes it with this model; NULL: as it is. -1: it does not fit. */
int call_body_write(const struct call_body *body, const char *model, struct buf *out);

#endif
