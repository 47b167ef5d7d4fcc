/* SPDX-License-Identifier: Apache-2.0
 * POST /v1/analyze: checks the form, looks at the picture, compares it with the camera's last one. */
#include "analyzer/answer.h"
#include "analyzer/handlers.h"
#include "common/iso_time.h"
#include "analyzer/jpeg.h"
#include "analyzer/report.h"
#include "common/ident.h"
#include "common/json.h"
#include "common/log.h"

#include <string.h>
#include <time.h>

/* Why a request is refused with 400. */
struct fault {
	const char *code;
	struct err e;
};

/* The small pictures; all may be NULL. */
struct pictures {
	struct gray *now;    /* VISION_SIDE, for light and sharpness */
	struct gray *coarse; /* MOTION_SIDE, for motion */
	struct gray *before; /* MOTION_SIDE: prev_image, else the camera's last */
};

static int refuse(struct fault *f, const char *code)
{
	f->code = code;
	return -1;
}

static int check_required(const struct form *form, struct fault *f)
{
	static const enum form_field required[] = {
	    FORM_CAMERA_ID, FORM_CAPTURED_AT, FORM_SCHEMA_VERSION, FORM_INFER_IMAGE};

	for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
		if (form_bytes(form, required[i])->len == 0) {
			err_set(&f->e, "\"%s\" is missing or empty", form_field_name(required[i]));
			return refuse(f, "missing_field");
		}
	}
	return 0;
}

/* An empty text leaves *ret as it was. */
static int parse_bool(const char *text, bool *ret)
{
	if (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0)
		*ret = true;
	else if (strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
		*ret = false;
	else if (*text != '\0')
		return -1;
	return 0;
}

static int check_hints(const struct form *form, struct fault *f)
{
	const struct buf *hints = form_bytes(form, FORM_HINTS_JSON);
	struct json_object *obj;
	struct err why;

	if (hints->len == 0)
		return 0;
	obj = json_parse_object(hints->data, hints->len, &why);
	if (obj == NULL) {
		err_set(&f->e, "\"hints_json\": %.900s", why.msg);
		return refuse(f, "invalid_field");
	}
	json_object_put(obj);
	return 0;
}

static bool parse_time(const char *s, int64_t *ret_ms)
{
	time_t at;
	int us;

	if (!iso_time_parse(s, ISO_8601, &at, &us))
		return false;
	*ret_ms = (int64_t)at * 1000 + us / 1000;
	return true;
}

static int check_fields(const struct form *form, struct report *report, int64_t *ret_captured_ms, struct fault *f)
{
	if (check_required(form, f) < 0)
		return -1;
	if (!ident_valid(form_text(form, FORM_CAMERA_ID)))
		err_set(&f->e, "\"camera_id\" must be 1 to %d letters, digits, '_', '.' or '-'", IDENT_MAX);
	else if (!parse_time(form_text(form, FORM_CAPTURED_AT), ret_captured_ms))
		err_set(&f->e, "\"captured_at\" must be a time such as 2026-01-31T23:59:59Z");
	else if (strcmp(report->profile, "fast") != 0 && strcmp(report->profile, "standard") != 0)
		err_set(&f->e, "\"profile\" must be fast or standard");
	else if (parse_bool(form_text(form, FORM_RETURN_BBOXES), &report->bboxes) < 0)
		err_set(&f->e, "\"return_bboxes\" must be true or false");
	else
		return check_hints(form, f);
	return refuse(f, "invalid_field");
}

static int decode(struct analyzer *a, const struct buf *jpeg, int side, struct jpeg_image *ret, struct fault *f)
{
	int status;

	while (sem_wait(&a->decoders) < 0)
		; /* a signal */
	status = jpeg_decode(jpeg->data, jpeg->len, side, ret, &f->e);
	sem_post(&a->decoders);
	return status < 0 ? refuse(f, "bad_image") : 0;
}

static int load_pictures(
    struct request *r, int64_t captured_ms, struct report *report, struct pictures *p, struct fault *f)
{
	const struct buf *prev = form_bytes(r->form, FORM_PREV_IMAGE);
	struct jpeg_image image = {0}, prev_image = {0};

	if (prev->len > 0 && decode(r->analyzer, prev, MOTION_SIDE, &prev_image, f) < 0)
		return -1;
	p->before = prev_image.gray;
	if (decode(r->analyzer, form_bytes(r->form, FORM_INFER_IMAGE), VISION_SIDE, &image, f) < 0)
		return -1;
	report->width = image.width;
	report->height = image.height;
	p->now = image.gray;
	p->coarse = gray_shrink(p->now, MOTION_SIDE);
	if (p->coarse != NULL) {
		struct gray *last = scenes_exchange(r->analyzer->scenes, report->camera_id, captured_ms, p->coarse);

		if (p->before == NULL)
			p->before = last;
		else
			gray_free(last);
	}
	return 0;
}

/* A picture that shows nothing is no ground for saying that something changed. */
static bool comparable(const struct gray *g)
{
	struct vision_metrics m;

	vision_measure(g, &m);
	return vision_usable(vision_judge(&m));
}

static void look(const struct pictures *p, struct report *report)
{
	struct motion motion;
	struct vision_issues issues;
	bool compared;

	vision_measure(p->now, &report->metrics);
	issues = vision_judge(&report->metrics);
	compared = p->coarse != NULL && p->before != NULL && vision_usable(issues) && comparable(p->before) &&
		   motion_compare(p->before, p->coarse, &motion);
	report->motion_ratio = compared ? motion.motion_ratio : 0;
	verdict_make(issues, compared ? &motion : NULL, compared ? p->coarse->width : 1,
	    compared ? p->coarse->height : 1, &report->verdict);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int analyze(struct request *r, int64_t captured_ms, struct report *report, struct fault *f)
{
	struct pictures p = {0};
	double began = now_ms();
	int status = load_pictures(r, captured_ms, report, &p, f);

	if (status == 0) {
		look(&p, report);
		report->inference_ms = now_ms() - began;
	}
	gray_free(p.now);
	gray_free(p.coarse);
	gray_free(p.before);
	return status;
}

static enum MHD_Result answer_mismatch(struct request *r, const char *current)
{
	struct json_object *obj = json_object_new_object();

	json_object_object_add(obj, "error", json_object_new_string("schema_mismatch"));
	json_object_object_add(obj, "current", json_object_new_string(current));
	return answer_json(r, MHD_HTTP_CONFLICT, obj);
}

static const char *text_or(const struct form *form, enum form_field field, const char *fallback)
{
	return form_bytes(form, field)->len > 0 ? form_text(form, field) : fallback;
}

enum MHD_Result handle_analyze(struct request *r)
{
	char current[SCHEMA_VERSION_MAX + 1], uuid[UUID_TEXT_LEN + 1];
	struct report report;
	struct fault fault;
	int64_t captured_ms;

	if (r->overloaded)
		return answer_error(
		    r, MHD_HTTP_TOO_MANY_REQUESTS, "overloaded", "as many analyses as allowed are running");
	if (r->form == NULL)
		return answer_error(r, MHD_HTTP_BAD_REQUEST, "not_multipart", "a multipart/form-data body is expected");
	if (form_finish(r->form, &fault.code, &fault.e) < 0)
		return answer_error(r, MHD_HTTP_BAD_REQUEST, fault.code, fault.e.msg);
	ident_new_uuid(uuid);
	report = (struct report){
	    .camera_id = form_text(r->form, FORM_CAMERA_ID),
	    .captured_at = form_text(r->form, FORM_CAPTURED_AT),
	    .schema_version = form_text(r->form, FORM_SCHEMA_VERSION),
	    .request_id = text_or(r->form, FORM_REQUEST_ID, uuid),
	    .profile = text_or(r->form, FORM_PROFILE, "standard"),
	    .bboxes = true,
	};
	if (check_fields(r->form, &report, &captured_ms, &fault) < 0)
		return answer_error(r, MHD_HTTP_BAD_REQUEST, fault.code, fault.e.msg);
	schema_version(r->analyzer->schema, current);
	if (strcmp(current, report.schema_version) != 0)
		return answer_mismatch(r, current);
	if (analyze(r, captured_ms, &report, &fault) < 0)
		return answer_error(r, MHD_HTTP_BAD_REQUEST, fault.code, fault.e.msg);
	log_debug("%s %s: %s, %.1f ms", report.camera_id, report.captured_at, report.verdict.primary_event,
	    report.inference_ms);
	return answer_json(r, MHD_HTTP_OK, report_json(&report, r->rule != NULL ? r->rule->result : NULL));
}
