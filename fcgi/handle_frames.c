/* SPDX-License-Identifier: Apache-2.0
 * Frames come in: the image into the spool, then its row and its job in one database call. As the queue fills, answers
 * come later, and then refusals; so this has a pool of processes of its own (ingest.sock). */
#include "common/clock.h"
#include "common/ident.h"
#include "common/jpeg.h"
#include "common/log.h"
#include "common/spool.h"
#include "fcgi/frame_lock.h"
#include "fcgi/handlers.h"
#include "fcgi/image.h"
#include "fcgi/pressure.h"
#include "common/iso_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PRIORITY_MAX = 100, NUMBER_MAX = 24, FULL_MS = 500 };

struct frame_request {
	const char *camera_id;
	char captured_at[RFC3339_UTC_LEN + 1];
	char frame_uuid[UUID_TEXT_LEN + 1]; /* in lower case: it names the file */
	char priority[NUMBER_MAX];
	char bytes[NUMBER_MAX];
};

enum { CAMERA_ID, CAPTURED_AT, FRAME_UUID, PRIORITY, PARAMS };

static void set_uuid(struct frame_request *f, const char *given)
{
	if (given == NULL) {
		ident_new_uuid(f->frame_uuid);
		return;
	}
	for (size_t i = 0; i <= UUID_TEXT_LEN; i++)
		f->frame_uuid[i] = (char)tolower((unsigned char)given[i]);
}

static int check(const struct query_param q[PARAMS], struct frame_request *ret, struct err *e)
{
	long priority = 0;

	if (q[CAMERA_ID].value == NULL || q[CAPTURED_AT].value == NULL)
		return err_set(e, "\"%s\" is missing", q[q[CAMERA_ID].value == NULL ? CAMERA_ID : CAPTURED_AT].name);
	ret->camera_id = q[CAMERA_ID].value;
	if (!ident_valid(ret->camera_id))
		return err_set(e, "\"camera_id\" must be 1 to %d letters, digits, '_', '.' or '-'", IDENT_MAX);
	if (!rfc3339_parse(q[CAPTURED_AT].value, ret->captured_at))
		return err_set(e, "\"captured_at\" must be a time such as 2026-01-31T23:59:59.123Z (RFC 3339)");
	if (q[FRAME_UUID].value != NULL && !ident_is_uuid(q[FRAME_UUID].value))
		return err_set(e, "\"frame_uuid\" must be a UUID");
	if (query_int(&q[PRIORITY], -PRIORITY_MAX, PRIORITY_MAX, &priority, e) < 0)
		return -1;
	set_uuid(ret, q[FRAME_UUID].value);
	snprintf(ret->priority, sizeof ret->priority, "%ld", priority);
	return 0;
}

static void spool_fault(struct answer *a, const struct err *e)
{
	log_error("a frame could not be stored: %s", e->msg);
	answer_error(a, "SPOOL_UNAVAILABLE");
}

/* A file that no row names is of no use; but the row may be there if the database's answer was lost. Then the client
 * asks again with the same uuid, told here in case it was not its own. */
static void refused(struct api *api, struct answer *a, const struct frame_request *f, bool existed)
{
	struct err e;

	if (api->db_status == DB_DOWN) {
		json_object_object_add(a->json, "frame_uuid", json_object_new_string(f->frame_uuid));
		return;
	}
	if (!existed && spool_remove(api->conf->spool_dir, f->frame_uuid, &e) < 0)
		log_warning("a refused frame stays in the spool: %s", e.msg);
}

/* --- backpressure */

static void count_refusal(struct api *api, struct json_object *facts)
{
	if (!json_object_object_get_ex(facts, "queue_max", NULL)) {
		metrics_add(api->metrics, METRIC_FRAMES_REFUSED_CAMERA);
		return;
	}
	metrics_add(api->metrics, METRIC_FRAMES_REFUSED_QUEUE);
	metrics_add(api->metrics, METRIC_BACKPRESSURE_REJECTIONS_INGEST);
	json_object_put(api->queue_full.facts);
	api->queue_full.facts = json_object_get(facts);
	api->queue_full.until = clock_ms() + FULL_MS;
}

/* A queue that was full a moment ago is full: refused at once, without a file and without the database. But a frame
 * that we have already is not turned away when its sender asks again. */
static bool is_known_full(struct api *api, const struct frame_request *f)
{
	char path[SPOOL_PATH_MAX];

	return api->queue_full.facts != NULL && clock_ms() < api->queue_full.until &&
	       spool_path(api->conf->spool_dir, f->frame_uuid, path, sizeof path) == 0 && access(path, F_OK) != 0;
}

static void refuse_known(struct api *api, struct answer *a)
{
	metrics_add(api->metrics, METRIC_FRAMES_REFUSED_QUEUE);
	metrics_add(api->metrics, METRIC_BACKPRESSURE_REJECTIONS_INGEST);
	answer_error_with(a, "QUEUE_FULL", NULL, api->queue_full.facts);
}

/* How long to wait with the answer of an accepted frame; takes what the database said of the queue out of it. */
static int64_t delay_of(struct json_object *result)
{
	struct backpressure_limits limits = backpressure_default_limits;
	struct json_object *queue;
	struct backpressure b;

	if (!json_object_object_get_ex(result, "queue", &queue))
		return 0;
	b = backpressure_judge(&limits, pressure_read(queue, &limits));
	json_object_object_del(result, "queue");
	return b.delay_ms;
}

static void delay(struct api *api, struct answer *a, int64_t ms)
{
	char text[NUMBER_MAX];

	metrics_add(api->metrics, METRIC_BACKPRESSURE_DELAYED_INGEST);
	metrics_observe(api->metrics, HISTOGRAM_DELAY_INGEST, ms * 1000);
	snprintf(text, sizeof text, "%lld", (long long)ms);
	answer_header(a, "X-Backpressure-Delay-Ms", text);
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void count_accepted(struct api *api, struct json_object *result)
{
	struct json_object *duplicate;

	if (json_object_object_get_ex(result, "duplicate", &duplicate) && !json_object_get_boolean(duplicate))
		metrics_add(api->metrics, METRIC_FRAMES_ACCEPTED);
}

/* --- */

/* A file of that name stays, unless it is what a crash of the machine left of one: no row was ever made for such. */
static int store(
    struct api *api, const struct request *r, const struct frame_request *f, bool *ret_existed, struct err *e)
{
	const char *dir = api->conf->spool_dir;
	int result = spool_write(dir, f->frame_uuid, r->body.data, r->body.len, ret_existed, e);

	if (result < 0 || !*ret_existed || !image_is_broken(dir, f->frame_uuid))
		return result;
	if (spool_remove(dir, f->frame_uuid, e) < 0)
		return -1;
	return spool_write(dir, f->frame_uuid, r->body.data, r->body.len, ret_existed, e);
}

/* With the frame's lock held. Returns for how many milliseconds the answer is to be held back. */
static int64_t ingest(struct api *api, const struct request *r, struct answer *a, const struct frame_request *f)
{
	int64_t wait = 0;
	struct json_object *result;
	bool existed;
	struct err e;

	if (store(api, r, f, &existed, &e) < 0) {
		spool_fault(a, &e);
		return 0;
	}
	/* The file of the first time stays; another image under its name would be lost without a word. */
	if (existed && !image_is(api->conf->spool_dir, f->frame_uuid, r->body.data, r->body.len)) {
		answer_error(a, "FRAME_CONFLICT");
		return 0;
	}
	result = api_call(api, a,
	    API_SQL("frame_ingest(who.user_id, $5::uuid, $6, $7::timestamptz, $8::integer, $9::integer)"), 5,
	    (const char *[]){f->frame_uuid, f->camera_id, f->captured_at, f->priority, f->bytes});
	if (result == NULL || strcmp(api_outcome(result), "ACCEPTED") != 0) {
		refused(api, a, f, existed);
	} else {
		count_accepted(api, result);
		wait = delay_of(result);
	}
	if (result != NULL && strcmp(api_outcome(result), "QUEUE_FULL") == 0)
		count_refusal(api, result);
	api_answer(a, result, "ACCEPTED", 202);
	return wait;
}

void handle_frame_ingest(struct api *api, struct request *r, struct answer *a)
{
	struct query_param q[PARAMS] = {
	    [CAMERA_ID] = {"camera_id", NULL},
	    [CAPTURED_AT] = {"captured_at", NULL},
	    [FRAME_UUID] = {"frame_uuid", NULL},
	    [PRIORITY] = {"priority", NULL},
	};
	struct frame_request f = {0};
	struct query text;
	struct err e;
	int64_t wait;
	int lock;

	/* Whether they may, the database says; but nobody at all shall not make this host write files. */
	if (api->identity.token[0] == '\0' && api->identity.remote_user == NULL) {
		answer_error(a, "UNAUTHORIZED");
		answer_header(a, "WWW-Authenticate", "Bearer realm=\"camserver\"");
		return;
	}
	if (!request_is_type(r, "image/jpeg")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send image/jpeg", NULL);
		return;
	}
	if (!api_query(r, a, &text, q, PARAMS))
		return;
	if (check(q, &f, &e) < 0 || jpeg_check(r->body.data, r->body.len, NULL, &e) < 0) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	if (is_known_full(api, &f)) {
		refuse_known(api, a);
		return;
	}
	snprintf(f.bytes, sizeof f.bytes, "%zu", r->body.len);
	/* While the database is away, files would only pile up. */
	api->db_status = db_connect(api->db, &e);
	if (api->db_status != DB_OK) {
		api_db_error(api, a, api->db_status, &e);
		return;
	}
	lock = spool_prepare(api->conf->spool_dir, &e) < 0 ? -1 : frame_lock(api->conf->spool_dir, f.frame_uuid, &e);
	if (lock < 0) {
		spool_fault(a, &e);
		return;
	}
	wait = ingest(api, r, a, &f);
	frame_unlock(lock);
	if (wait > 0)
		delay(api, a, wait);
}
