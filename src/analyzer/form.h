/* SPDX-License-Identifier: Apache-2.0
 * The multipart form of POST /v1/analyze, taken in piece by piece. Each field has its maximum; of a longer one nothing
 * is kept. */
#ifndef CAM_FORM_H
#define CAM_FORM_H

#include "common/buf.h"
#include "common/err.h"

#include <microhttpd.h>

enum { FORM_IMAGE_MAX = 5000000 };

enum form_field {
	FORM_CAMERA_ID,
	FORM_CAPTURED_AT,
	FORM_SCHEMA_VERSION,
	FORM_REQUEST_ID,
	FORM_PROFILE,
	FORM_RETURN_BBOXES,
	FORM_HINTS_JSON,
	FORM_INFER_IMAGE,
	FORM_PREV_IMAGE,
	FORM_FIELDS
};

/* Room for two pictures, the text fields and the headers of the parts. */
enum { FORM_BODY_MAX = 2 * FORM_IMAGE_MAX + 256 * 1024 };

struct form;

/* NULL when the request is not multipart/form-data or memory ran out. */
struct form *form_new(struct MHD_Connection *connection);
void form_free(struct form *f);

void form_feed(struct form *f, const char *data, size_t len);
/* To be called once after the last piece. On -1 the form is not usable: *ret_code is a word, *e a sentence. */
int form_finish(struct form *f, const char **ret_code, struct err *e);

/* The text of a field; "" when it was not sent or is not usable. */
const char *form_text(const struct form *f, enum form_field field);
const struct buf *form_bytes(const struct form *f, enum form_field field);
const char *form_field_name(enum form_field field);

#endif
