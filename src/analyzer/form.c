/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/form.h"

#include "common/ident.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { POST_BUFFER = 64 * 1024, HINTS_MAX = 16 * 1024, TEXT_MAX = 128 };

static const struct {
	const char *name;
	size_t max;
	bool image;
} fields[FORM_FIELDS] = {
    [FORM_CAMERA_ID] = {"camera_id", TEXT_MAX, false},
    [FORM_CAPTURED_AT] = {"captured_at", TEXT_MAX, false},
    [FORM_SCHEMA_VERSION] = {"schema_version", TEXT_MAX, false},
    [FORM_REQUEST_ID] = {"request_id", TEXT_MAX, false},
    [FORM_PROFILE] = {"profile", TEXT_MAX, false},
    [FORM_RETURN_BBOXES] = {"return_bboxes", TEXT_MAX, false},
    [FORM_HINTS_JSON] = {"hints_json", HINTS_MAX, false},
    [FORM_INFER_IMAGE] = {"infer_image", FORM_IMAGE_MAX, true},
    [FORM_PREV_IMAGE] = {"prev_image", FORM_IMAGE_MAX, true},
};

struct form {
	struct MHD_PostProcessor *post;
	struct buf values[FORM_FIELDS];
	bool given[FORM_FIELDS], too_long[FORM_FIELDS], twice[FORM_FIELDS];
	bool malformed;
};

static void take_piece(struct form *f, enum form_field field, const char *data, uint64_t offset, size_t len)
{
	struct buf *value = &f->values[field];

	if (offset == 0 && f->given[field] && value->len > 0)
		f->twice[field] = true;
	f->given[field] = true;
	if (f->too_long[field] || len == 0)
		return;
	if (buf_append(value, data, len) < 0) {
		f->too_long[field] = true;
		buf_free(value);
	}
}

/* Fields of other names are let pass; the protocol may grow. */
static enum MHD_Result on_piece(void *cls, enum MHD_ValueKind kind, const char *key, const char *filename,
    const char *content_type, const char *transfer_encoding, const char *data, uint64_t offset, size_t len)
{
	(void)kind;
	(void)filename;
	(void)content_type;
	(void)transfer_encoding;
	for (int i = 0; key != NULL && i < FORM_FIELDS; i++)
		if (strcmp(fields[i].name, key) == 0)
			take_piece(cls, (enum form_field)i, data, offset, len);
	return MHD_YES;
}

struct form *form_new(struct MHD_Connection *connection)
{
	static const char wanted[] = "multipart/form-data";
	const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
	struct form *f;

	if (type == NULL || strncasecmp(type, wanted, strlen(wanted)) != 0)
		return NULL;
	f = calloc(1, sizeof *f);
	if (f == NULL)
		return NULL;
	for (int i = 0; i < FORM_FIELDS; i++)
		buf_init(&f->values[i], fields[i].max);
	f->post = MHD_create_post_processor(connection, POST_BUFFER, on_piece, f);
	if (f->post == NULL) {
		form_free(f);
		return NULL;
	}
	return f;
}

void form_free(struct form *f)
{
	if (f == NULL)
		return;
	if (f->post != NULL)
		MHD_destroy_post_processor(f->post);
	for (int i = 0; i < FORM_FIELDS; i++)
		buf_free(&f->values[i]);
	free(f);
}

void form_feed(struct form *f, const char *data, size_t len)
{
	if (!f->malformed && MHD_post_process(f->post, data, len) != MHD_YES)
		f->malformed = true;
}

static int check_field(const struct form *f, enum form_field i, const char **ret_code, struct err *e)
{
	*ret_code = "invalid_field";
	if (f->twice[i])
		return err_set(e, "\"%s\" is given twice", fields[i].name);
	if (f->too_long[i]) {
		*ret_code = fields[i].image ? "image_too_large" : "invalid_field";
		return err_set(e, "\"%s\" is longer than %zu bytes", fields[i].name, fields[i].max);
	}
	if (!fields[i].image && f->values[i].len > 0 &&
	    (strlen(f->values[i].data) != f->values[i].len ||
		(i != FORM_HINTS_JSON && !ident_is_text(f->values[i].data, fields[i].max))))
		return err_set(e, "\"%s\" is not a plain text", fields[i].name);
	return 0;
}

int form_finish(struct form *f, const char **ret_code, struct err *e)
{
	enum MHD_Result complete = MHD_destroy_post_processor(f->post);

	f->post = NULL;
	if (f->malformed || complete != MHD_YES) {
		*ret_code = "bad_multipart";
		return err_set(e, "the multipart body is malformed or ends early");
	}
	for (int i = 0; i < FORM_FIELDS; i++)
		if (check_field(f, (enum form_field)i, ret_code, e) < 0)
			return -1;
	return 0;
}

const char *form_text(const struct form *f, enum form_field field)
{
	return f->values[field].data;
}

const struct buf *form_bytes(const struct form *f, enum form_field field)
{
	return &f->values[field];
}

const char *form_field_name(enum form_field field)
{
	return fields[field].name;
}
