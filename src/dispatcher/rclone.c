/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/rclone.h"

#include "common/json.h"
#include "common/log.h"
#include "common/rclone_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_TIMEOUT_MS = 15000, ANSWER_MAX = 64 * 1024 };

const char *const rclone_hashes[RCLONE_HASHES] = {
    [RCLONE_SHA256] = "sha256", [RCLONE_SHA1] = "sha1", [RCLONE_MD5] = "md5"};

/* Starts a request to that address, if it could be made. Frees the address. */
static struct http_transfer *start(
    struct dispatcher *d, struct buf *url, struct http_request *r, http_done *done, void *arg)
{
	struct http_transfer *t = NULL;
	char *password;
	struct err e;

	if (*d->conf.rclone_user != '\0')
		r->user = d->conf.rclone_user;
	password = rclone_password(&d->conf, &e);
	if (password == NULL)
		log_error("RCLONE_PASSWORD_FILE: %s", e.msg);
	r->password = password;
	r->url = url->data;
	if (!url->failed)
		t = http_start(d->http, r, done, arg);
	free(password);
	buf_free(url);
	return t;
}

/* Takes over the parameters. */
static struct http_transfer *call(
    struct dispatcher *d, const char *command, struct json_object *params, http_done *done, void *arg)
{
	struct http_transfer *t;
	struct buf url;

	buf_init(&url, RCLONE_URL_MAX);
	rclone_command_url(&d->conf, command, &url);
	t = start(d, &url,
	    &(struct http_request){.method = "POST",
		.timeout_ms = CALL_TIMEOUT_MS,
		.json = json_object_to_json_string(params),
		.answer_max = ANSWER_MAX},
	    done, arg);
	json_object_put(params);
	return t;
}

static void add(struct json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value));
}

static struct json_object *file_params(struct dispatcher *d, const char *path)
{
	struct json_object *o = json_object_new_object();

	add(o, "fs", d->conf.rclone_remote);
	add(o, "remote", path);
	return o;
}

struct http_transfer *rclone_stat(struct dispatcher *d, const char *path, http_done *done, void *arg)
{
	struct json_object *o = file_params(d, path), *opt = json_object_new_object(), *types = json_object_new_array();

	for (size_t i = 0; i < RCLONE_HASHES; i++)
		json_object_array_add(types, json_object_new_string(rclone_hashes[i]));
	json_object_object_add(opt, "showHash", json_object_new_boolean(true));
	json_object_object_add(opt, "hashTypes", types);
	json_object_object_add(o, "opt", opt);
	return call(d, "operations/stat", o, done, arg);
}

struct http_transfer *rclone_move(struct dispatcher *d, const char *from, const char *to, http_done *done, void *arg)
{
	struct json_object *o = json_object_new_object();

	add(o, "srcFs", d->conf.rclone_remote);
	add(o, "srcRemote", from);
	add(o, "dstFs", d->conf.rclone_remote);
	add(o, "dstRemote", to);
	return call(d, "operations/movefile", o, done, arg);
}

struct http_transfer *rclone_delete(struct dispatcher *d, const char *path, http_done *done, void *arg)
{
	return call(d, "operations/deletefile", file_params(d, path), done, arg);
}

struct http_transfer *rclone_upload(struct dispatcher *d, const char *dir, const char *name, const char *data,
    size_t len, long timeout_ms, http_done *done, void *arg)
{
	const struct http_part form[] = {
	    {.name = "file", .data = data, .len = len, .file_name = name, .type = "image/jpeg"}, {.name = NULL}};
	char *fs = curl_easy_escape(NULL, d->conf.rclone_remote, 0), *remote = curl_easy_escape(NULL, dir, 0);
	struct http_transfer *t;
	struct buf url;

	buf_init(&url, RCLONE_URL_MAX);
	rclone_command_url(&d->conf, "operations/uploadfile", &url);
	if (fs == NULL || remote == NULL || buf_printf(&url, "?fs=%s&remote=%s", fs, remote) < 0)
		url.failed = true;
	t = start(d, &url,
	    &(struct http_request){.method = "POST", .timeout_ms = timeout_ms, .form = form, .answer_max = ANSWER_MAX},
	    done, arg);
	curl_free(fs);
	curl_free(remote);
	return t;
}

struct http_transfer *rclone_get(struct dispatcher *d, const char *path, size_t max, http_done *done, void *arg)
{
	struct buf url;

	buf_init(&url, RCLONE_URL_MAX);
	if (rclone_file_url(&d->conf, path, &url) < 0)
		url.failed = true;
	return start(d, &url, &(struct http_request){.method = "GET", .timeout_ms = CALL_TIMEOUT_MS, .answer_max = max},
	    done, arg);
}

/* The item of a stat's answer: the caller puts back *ret_root. */
static struct json_object *item_of(const struct http_answer *a, struct json_object **ret_root)
{
	struct json_object *item = NULL;
	struct err e;

	*ret_root = json_parse_object(a->body, a->len, &e);
	if (*ret_root == NULL || !json_object_object_get_ex(*ret_root, "item", &item) ||
	    !json_object_is_type(item, json_type_object))
		return NULL;
	return item;
}

size_t rclone_size(const struct http_answer *a)
{
	struct json_object *root, *item = item_of(a, &root);
	int64_t size = 0;

	if (item != NULL)
		(void)json_get_int64(item, "Size", &size, NULL);
	json_object_put(root);
	return size > 0 ? (size_t)size : 0;
}

enum rclone_match rclone_compare(
    const struct http_answer *a, const size_t *bytes, char sums[RCLONE_HASHES][DIGEST_HEX_MAX + 1])
{
	struct json_object *root, *item = item_of(a, &root), *hashes = NULL;
	enum rclone_match match = item == NULL ? RCLONE_ABSENT : RCLONE_MAYBE;
	int64_t size = -1;

	if (item != NULL) {
		(void)json_get_int64(item, "Size", &size, NULL);
		if (bytes != NULL && size != (int64_t)*bytes)
			match = RCLONE_DIFFERS;
		(void)json_object_object_get_ex(item, "Hashes", &hashes);
	}
	for (size_t i = 0; match == RCLONE_MAYBE && i < RCLONE_HASHES; i++) {
		const char *sum = "";

		if (hashes != NULL)
			(void)json_get_string(hashes, rclone_hashes[i], &sum, NULL);
		if (*sum != '\0' && sums[i][0] != '\0')
			match = strcmp(sum, sums[i]) == 0 ? RCLONE_SAME : RCLONE_DIFFERS;
	}
	json_object_put(root);
	return match;
}

bool rclone_is_absent(const struct http_answer *a)
{
	struct json_object *root = a->status == 404 ? json_parse_object(a->body, a->len, NULL) : NULL;
	const char *words = "";
	bool absent;

	if (root != NULL)
		(void)json_get_string(root, "error", &words, NULL);
	absent = strstr(words, "not found") != NULL;
	json_object_put(root);
	return absent;
}

void rclone_fault(const struct http_answer *a, char *ret, size_t size)
{
	struct json_object *root = NULL;
	const char *words = NULL;
	struct err e;

	if (a->status != 0)
		root = json_parse_object(a->body, a->len, &e);
	if (root != NULL)
		(void)json_get_string(root, "error", &words, NULL);
	if (a->status == 0)
		snprintf(ret, size, "rclone: %s", a->fault);
	else
		snprintf(ret, size, "rclone: status %ld: %.400s", a->status, words != NULL ? words : "");
	json_object_put(root);
}
