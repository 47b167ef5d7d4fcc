/* SPDX-License-Identifier: Apache-2.0
 * Signed links to images, and the images: from the spool, else from the archive. */
#include "common/file.h"
#include "common/ident.h"
#include "common/json.h"
#include "common/log.h"
#include "common/media.h"
#include "common/spool.h"
#include "fcgi/deliver.h"
#include "fcgi/handlers.h"
#include "fcgi/rclone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TTL_MIN_SEC = 10, TTL_MAX_SEC = 86400, TTL_DEFAULT_SEC = 600, PATH_MAX_BYTES = 2048 };

enum { EXP, SIG, PARAMS };

/* Where media_find() says that an image may be. */
struct place {
	const char *uuid; /* in lower case */
	bool spooled;
	const char *driver; /* NULL: not in the archive */
	const char *path;
	int64_t bytes;
};

/* False after filling in the answer. */
static bool load_keys(struct api *api, struct answer *a)
{
	struct err e;

	if (media_keys_load(&api->media_keys, api->conf->media_key_file, &e) == 0)
		return true;
	log_error("no links to images: %s", e.msg);
	answer_error(a, "MEDIA_UNAVAILABLE");
	return false;
}

static int check_link(struct json_object *body, const char **ret_uuid, int64_t *ret_ttl, struct err *e)
{
	*ret_uuid = NULL;
	*ret_ttl = TTL_DEFAULT_SEC;
	if (json_get_string(body, "frame_uuid", ret_uuid, e) < 0 || json_get_int64(body, "ttl_sec", ret_ttl, e) < 0)
		return -1;
	if (*ret_uuid == NULL || !ident_is_uuid(*ret_uuid))
		return err_set(e, "\"frame_uuid\" must be a UUID");
	if (*ret_ttl < TTL_MIN_SEC || *ret_ttl > TTL_MAX_SEC)
		return err_set(e, "\"ttl_sec\" must be a whole number from %d to %d", TTL_MIN_SEC, TTL_MAX_SEC);
	return 0;
}

static void answer_link(struct api *api, struct answer *a, const char *uuid, time_t exp)
{
	char url[MEDIA_LINK_MAX], path[MEDIA_LINK_MAX], at[32];
	struct json_object *json;
	struct tm tm;
	struct err e = {"the time cannot be written"};

	if (media_link(&api->media_keys, api->conf->public_url, uuid, exp, url, &e) < 0 ||
	    media_link(&api->media_keys, api->conf->url_prefix, uuid, exp, path, &e) < 0 ||
	    gmtime_r(&exp, &tm) == NULL || strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S.000Z", &tm) == 0) {
		log_error("%s", e.msg);
		answer_error(a, "INTERNAL_ERROR");
		return;
	}
	json = json_object_new_object();
	json_object_object_add(json, "url", json_object_new_string(url));
	json_object_object_add(json, "path", json_object_new_string(path));
	json_object_object_add(json, "expires_at", json_object_new_string(at));
	answer_json(a, 200, json);
}

void handle_media_link(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *body = NULL, *result = NULL;
	const char *uuid;
	struct query text;
	struct err e;
	int64_t ttl;

	if (!request_is_type(r, "application/json")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send application/json", NULL);
		return;
	}
	if (!api_query(r, a, &text, NULL, 0))
		return;
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL || check_link(body, &uuid, &ttl, &e) < 0) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		goto out;
	}
	if (!load_keys(api, a))
		goto out;
	result = api_call(api, a, API_SQL("media_find($5::uuid)"), 1, (const char *[]){uuid});
	if (result == NULL)
		goto out;
	if (strcmp(api_outcome(result), "OK") == 0)
		answer_link(api, a, uuid, time(NULL) + ttl);
	else
		answer_error(a, api_outcome(result));
out:
	json_object_put(result);
	json_object_put(body);
}

/* The link carries its own permission: nobody is asked for. NULL after filling in the answer. */
static struct json_object *find_frame(struct api *api, struct answer *a, const char *uuid)
{
	struct json_object *result = NULL;
	PGresult *row = NULL;
	enum db_status status;
	struct err e;

	status = db_query(api->db, "SELECT camserver.media_find($1::uuid)", 1, (const char *[]){uuid}, &row, &e);
	if (status != DB_OK) {
		api_db_error(api, a, status, &e);
		return NULL;
	}
	result = json_tokener_parse(PQgetvalue(row, 0, 0));
	PQclear(row);
	if (result == NULL)
		answer_error(a, "INTERNAL_ERROR");
	return result;
}

/* Answers with a local file that is open; path is how the web server finds it. Closes fd. */
static bool send_open(
    struct api *api, const struct request *r, struct answer *a, const char *uuid, const char *path, int fd)
{
	struct stat st;
	char *bytes;
	size_t len;
	int fault = 0;

	if (!api->conf->sendfile)
		fault = file_read_fd(fd, FRAME_BYTES_MAX, &bytes, &len);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		fault = EINVAL;
	close(fd);
	if (fault != 0)
		log_warning("an image cannot be shown: %s: %s", path, strerror(fault));
	else if (api->conf->sendfile)
		deliver_file(r, a, uuid, path, (size_t)st.st_size);
	else
		deliver_bytes(r, a, uuid, bytes, len);
	return fault == 0;
}

/* These three answer with the image if they have it. False if not; *a is an error then, or as it was. */
static bool from_spool(struct api *api, const struct request *r, struct answer *a, const struct place *p)
{
	char path[SPOOL_PATH_MAX];
	int fd;

	if (!p->spooled || spool_path(api->conf->spool_dir, p->uuid, path, sizeof path) < 0)
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && send_open(api, r, a, p->uuid, path, fd);
}

static bool from_dir(struct api *api, const struct request *r, struct answer *a, const struct place *p)
{
	char path[PATH_MAX_BYTES];
	int fd;

	if (snprintf(path, sizeof path, "%s/%s", api->conf->archive_dir, p->path) >= (int)sizeof path)
		return false;
	fd = file_open_below(api->conf->archive_dir, p->path);
	if (fd >= 0)
		return send_open(api, r, a, p->uuid, path, fd);
	if (errno != ENOENT)
		log_warning("an archived image cannot be shown: %s: %s", path, strerror(errno));
	return false;
}

static bool from_rclone(struct api *api, const struct request *r, struct answer *a, const struct place *p)
{
	struct err e = {"out of memory"};
	char *bytes;
	size_t len;
	int found = -1;

	if (api->rclone == NULL)
		api->rclone = rclone_new();
	if (api->rclone != NULL)
		found = rclone_get(api->rclone, api->conf, p->path, &bytes, &len, &e);
	if (found < 0) {
		log_warning("an archived image cannot be shown: %s", e.msg);
		answer_error(a, "ARCHIVE_UNAVAILABLE");
	}
	if (found <= 0)
		return false;
	if ((int64_t)len != p->bytes)
		log_warning("the archive's %s has %zu bytes, not the %lld that were put there", p->path, len,
		    (long long)p->bytes);
	deliver_bytes(r, a, p->uuid, bytes, len);
	return true;
}

static void send_frame(struct api *api, const struct request *r, struct answer *a, const struct place *p)
{
	bool done = false;

	answer_error(a, "IMAGE_GONE");
	if (deliver_known(r, p->uuid) && (p->spooled || p->driver != NULL)) {
		answer_empty(a, 304);
		answer_etag(a, p->uuid);
		done = true;
	} else if (from_spool(api, r, a, p)) {
		done = true;
	} else if (p->driver != NULL && !ident_is_path(p->path)) {
		log_error("frame %s is archived under a path that cannot be one", p->uuid);
	} else if (p->driver != NULL) {
		done = strcmp(p->driver, "dir") == 0 ? from_dir(api, r, a, p) : from_rclone(api, r, a, p);
	}
	if (done)
		a->cache_control = "private";
}

static void find_and_send(struct api *api, const struct request *r, struct answer *a)
{
	char uuid[UUID_TEXT_LEN + 1];
	struct place p = {.uuid = uuid, .path = ""};
	struct json_object *result;
	struct err e;

	ident_lower_uuid(r->args[0], uuid);
	result = find_frame(api, a, uuid);
	if (result == NULL)
		return;
	if (strcmp(api_outcome(result), "OK") != 0)
		answer_error(a, "IMAGE_GONE"); /* the frame itself is no longer known */
	else if (json_get_bool(result, "spooled", &p.spooled, &e) < 0 ||
		 json_get_string(result, "driver", &p.driver, &e) < 0 ||
		 json_get_string(result, "path", &p.path, &e) < 0 || json_get_int64(result, "bytes", &p.bytes, &e) < 0)
		answer_error(a, "INTERNAL_ERROR");
	else
		send_frame(api, r, a, &p);
	json_object_put(result);
}

/* No sign-in, so first of all the signature: whoever made a link up costs no more than two hashes. */
void handle_media_frame(struct api *api, struct request *r, struct answer *a)
{
	struct query_param q[PARAMS] = {[EXP] = {"exp", NULL}, [SIG] = {"sig", NULL}};
	struct query text;
	struct err e;
	const char *uri = request_var(r, "REQUEST_URI");

	if (query_parse(uri != NULL ? uri : "", &text, q, PARAMS, &e) != NULL || q[EXP].value == NULL ||
	    q[SIG].value == NULL || !ident_is_uuid(r->args[0])) {
		answer_error(a, "BAD_SIGNATURE");
		return;
	}
	if (!load_keys(api, a))
		return;
	switch (media_verify(&api->media_keys, r->args[0], q[EXP].value, q[SIG].value, time(NULL))) {
	case MEDIA_VALID:
		find_and_send(api, r, a);
		break;
	case MEDIA_EXPIRED:
		answer_error(a, "LINK_EXPIRED");
		break;
	case MEDIA_FORGED:
		answer_error(a, "BAD_SIGNATURE");
		break;
	}
}
