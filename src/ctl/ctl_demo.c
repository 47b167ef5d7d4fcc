/* SPDX-License-Identifier: Apache-2.0
 * camctl demo-cameras: drawn cameras whose frames go the way of real ones, for those who have no camera at hand. */
#include "common/clock.h"
#include "common/log.h"
#include "ctl/ctl.h"
#include "ctl/feed.h"
#include "ctl/scene.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <turbojpeg.h>
#include <unistd.h>

enum {
	CAMERAS_DEFAULT = 3,
	CAMERAS_MAX = 60,
	CAMERA_ID_MAX = 32,
	JPEG_QUALITY = 82,
	REPORT_SEC = 600,
	SECONDS_MAX = 1000000000
};
#define RATE_MIN 0.01
#define RATE_MAX 25.0
/* Cameras of one kind beyond the first see the same things so much later. */
#define LATER_SEC 37.0

struct demo_camera {
	char id[CAMERA_ID_MAX];
	enum scene_kind kind;
	double later_sec;
};

struct demo {
	struct ctl *ctl;
	struct demo_camera cameras[CAMERAS_MAX];
	int n_cameras;
	double rate, seconds; /* seconds 0: until a signal */
	struct scene *scenes[SCENE_KINDS];
	tjhandle encoder;
	unsigned char *jpeg;
	unsigned long jpeg_size;
	bool registered;          /* the cameras have rows */
	enum feed_status trouble; /* the last one told, so that each is told once */
	long fed;
};

static volatile sig_atomic_t stopping;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	_exit(EXIT_SUCCESS);
}

/* A database that does not answer may hold us for long; the alarm ends that. The spool stands being left at any time.
 */
static void on_stop(int signal_number)
{
	(void)signal_number;
	stopping = 1;
	alarm(1);
}

static void catch_signals(void)
{
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_stop}, NULL);
	sigaction(SIGINT, &(struct sigaction){.sa_handler = on_stop}, NULL);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL);
}

static void demo_free(struct demo *d)
{
	for (int i = 0; i < SCENE_KINDS; i++)
		scene_free(d->scenes[i]);
	if (d->encoder != NULL)
		tjDestroy(d->encoder);
	tjFree(d->jpeg);
}

static int demo_init(struct demo *d)
{
	d->encoder = tjInitCompress();
	d->jpeg_size = tjBufSize(SCENE_WIDTH, SCENE_HEIGHT, TJSAMP_420);
	d->jpeg = tjAlloc((int)d->jpeg_size);
	for (int i = 0; i < SCENE_KINDS; i++)
		if ((d->scenes[i] = scene_new((enum scene_kind)i)) == NULL)
			return -1;
	return d->encoder != NULL && d->jpeg != NULL ? 0 : -1;
}

/* Draws into d->jpeg; 0 bytes if the encoder fails. */
static size_t draw(struct demo *d, enum scene_kind kind, double at)
{
	static uint8_t rgb[SCENE_BYTES];
	unsigned long len = d->jpeg_size;

	scene_draw(d->scenes[kind], at, rgb);
	if (tjCompress2(d->encoder, rgb, SCENE_WIDTH, 0, SCENE_HEIGHT, TJPF_RGB, &d->jpeg, &len, TJSAMP_420,
		JPEG_QUALITY, TJFLAG_NOREALLOC) < 0)
		return 0;
	return len;
}

/* --- one picture into a file */

static int draw_file(struct demo *d, const char *path, const char *name, double at)
{
	int kind = name != NULL ? scene_find(name) : -1;
	FILE *f;
	size_t len;
	bool good;

	if (kind < 0) {
		fprintf(stderr, "camctl: --camera must be entrance, parking or 2f\n");
		return EXIT_FAILURE;
	}
	len = draw(d, (enum scene_kind)kind, at);
	f = fopen(path, "we");
	good = f != NULL && len > 0 && fwrite(d->jpeg, 1, len, f) == len;
	if ((f != NULL && fclose(f) != 0) || !good) {
		fprintf(stderr, "camctl: %s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* --- the cameras */

static void name_cameras(struct demo *d)
{
	for (int i = 0; i < d->n_cameras; i++) {
		struct demo_camera *camera = &d->cameras[i];
		int round = i / SCENE_KINDS;

		camera->kind = (enum scene_kind)(i % SCENE_KINDS);
		camera->later_sec = round * LATER_SEC;
		if (round == 0)
			snprintf(camera->id, sizeof camera->id, "demo_%s", scene_name(camera->kind));
		else
			snprintf(camera->id, sizeof camera->id, "demo_%s_%d", scene_name(camera->kind), round + 1);
	}
}

/* A camera that is there keeps whatever its operator gave it. */
static enum db_status register_camera(struct demo *d, const struct demo_camera *camera, int number, struct err *e)
{
	static const char *const names[SCENE_KINDS][2] = {[SCENE_ENTRANCE] = {"Entrance", "1F"},
	    [SCENE_PARKING] = {"Parking", "Outside"},
	    [SCENE_CORRIDOR] = {"2F corridor", "2F"}};
	char name[64];
	struct json_object *json = json_object_new_object();
	PGresult *row = NULL;
	enum db_status status;

	snprintf(name, sizeof name, number > 0 ? "%s %d" : "%s", names[camera->kind][0], number + 1);
	json_object_object_add(json, "display_name", json_object_new_string(name));
	json_object_object_add(json, "location_label", json_object_new_string(names[camera->kind][1]));
	status = db_query(d->ctl->db,
	    "SELECT camserver.camera_set($1, $2::jsonb) WHERE NOT EXISTS (SELECT 1 FROM camserver.cameras WHERE "
	    "camera_id = $1)",
	    2, (const char *[]){camera->id, json_object_to_json_string(json)}, &row, e);
	if (status == DB_OK)
		PQclear(row);
	json_object_put(json);
	return status;
}

static enum feed_status register_cameras(struct demo *d, struct err *e)
{
	for (int i = 0; i < d->n_cameras && !d->registered; i++) {
		enum db_status status = register_camera(d, &d->cameras[i], i / SCENE_KINDS, e);

		if (status != DB_OK)
			return status == DB_DOWN ? FEED_DB_DOWN : FEED_FAILED;
	}
	d->registered = true;
	return FEED_ACCEPTED;
}

/* --- feeding */

/* A live camera does not wait: what cannot be handed in now is lost, and said once. */
static void note(struct demo *d, enum feed_status status, const struct err *e)
{
	if (status == d->trouble)
		return;
	if (status == FEED_ACCEPTED)
		log_info("frames are accepted again");
	else
		log_warning("frames are lost until this is over: %s", e->msg);
	d->trouble = status;
}

static enum feed_status feed_camera(struct demo *d, const struct demo_camera *camera, double at, struct err *e)
{
	struct frame frame = {.camera_id = camera->id};
	int retry_sec;

	frame.len = draw(d, camera->kind, at + camera->later_sec);
	frame.jpeg = d->jpeg;
	if (frame.len == 0) {
		err_set(e, "the JPEG encoder: %s", tjGetErrorStr2(d->encoder));
		return FEED_FAILED;
	}
	return feed_frame(d->ctl, &frame, &retry_sec, e);
}

/* One frame of each camera. */
static void tick(struct demo *d, double at)
{
	struct err e = {""}, why = e;
	enum feed_status status = feed_prepare(d->ctl, &why) < 0 ? FEED_FAILED : register_cameras(d, &why),
			 worst = status;

	for (int i = 0; i < d->n_cameras && stopping == 0 && status != FEED_DB_DOWN && status != FEED_FAILED; i++) {
		status = feed_camera(d, &d->cameras[i], at, &e);
		if (status == FEED_ACCEPTED) {
			d->fed++;
			continue;
		}
		if (status == FEED_NO_CAMERA) /* perhaps the database was reset */
			d->registered = false;
		worst = status;
		why = e;
	}
	note(d, worst, &why);
}

static void pause_until(int64_t when)
{
	int64_t left;

	while (stopping == 0 && (left = when - clock_ms()) > 0) {
		struct timespec ts = {left / 1000, left % 1000 * 1000000};

		nanosleep(&ts, NULL); /* a signal between the test and the sleep is the alarm's */
	}
}

/* Pictures are drawn for exact multiples of the interval, however late the machine is; a tick that was missed is
 * left out. */
static void run(struct demo *d)
{
	int64_t began = clock_ms(), reported = began;
	double interval_ms = 1000 / d->rate;

	for (int64_t n = 0; stopping == 0;) {
		int64_t now;

		if (d->seconds > 0 && (double)n / d->rate >= d->seconds)
			break;
		tick(d, (double)n / d->rate);
		now = clock_ms();
		if (now - reported >= REPORT_SEC * 1000) {
			log_info("%ld frames fed", d->fed);
			reported = now;
		}
		n = (int64_t)fmax((double)n + 1, floor((double)(now - began) / interval_ms));
		pause_until(began + (int64_t)((double)n * interval_ms));
	}
}

static int feed_cameras(struct demo *d)
{
	name_cameras(d);
	catch_signals();
	log_info("%d drawn cameras, %g frames a second each", d->n_cameras, d->rate);
	run(d);
	log_info("%ld frames fed; the end", d->fed);
	return EXIT_SUCCESS;
}

int ctl_demo_cameras(struct ctl *ctl)
{
	struct demo d = {.ctl = ctl};
	const char *path = ctl_option(ctl, "--draw", NULL), *kind = ctl_option(ctl, "--camera", NULL);
	double cameras, at;
	int result = EXIT_FAILURE;

	if (ctl_number(ctl, "--cameras", CAMERAS_DEFAULT, 1, CAMERAS_MAX, &cameras) < 0 ||
	    ctl_number(ctl, "--rate", 1, RATE_MIN, RATE_MAX, &d.rate) < 0 ||
	    ctl_number(ctl, "--seconds", 0, 0, SECONDS_MAX, &d.seconds) < 0 ||
	    ctl_number(ctl, "--at", 0, 0, SECONDS_MAX, &at) < 0 || ctl_left(ctl, 0) < 0)
		return EXIT_FAILURE;
	d.n_cameras = (int)cameras;
	if (demo_init(&d) < 0)
		fprintf(stderr, "camctl: out of memory\n");
	else
		result = path != NULL ? draw_file(&d, path, kind, at) : feed_cameras(&d);
	demo_free(&d);
	return result;
}
