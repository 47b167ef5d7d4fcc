/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/rclone.h"

#include "common/buf.h"
#include "common/ident.h"
#include "common/rclone_site.h"
#include "common/spool.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 2000, TOTAL_MS = 10000 };

struct rclone {
	CURL *easy;
};

struct rclone *rclone_new(void)
{
	struct rclone *rc = calloc(1, sizeof *rc);

	if (rc != NULL && (rc->easy = curl_easy_init()) == NULL) {
		free(rc);
		rc = NULL;
	}
	return rc;
}

void rclone_free(struct rclone *rc)
{
	if (rc == NULL)
		return;
	curl_easy_cleanup(rc->easy);
	free(rc);
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	return buf_append(arg, data, size * n) == 0 ? size * n : 0;
}

static int sign_in(struct rclone *rc, const struct conf *conf, struct err *e)
{
	char *password;

	if (*conf->rclone_user == '\0')
		return 0;
	password = rclone_password(conf, e);
	if (password == NULL)
		return -1;
	curl_easy_setopt(rc->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(rc->easy, CURLOPT_USERNAME, conf->rclone_user);
	curl_easy_setopt(rc->easy, CURLOPT_PASSWORD, password);
	explicit_bzero(password, strlen(password));
	free(password);
	return 0;
}

/* The status of the answer, or -1. */
static long fetch(struct rclone *rc, const char *url, struct buf *body, struct err *e)
{
	char error[CURL_ERROR_SIZE] = "";
	CURLcode code;
	long status = 0;

	curl_easy_setopt(rc->easy, CURLOPT_URL, url);
	curl_easy_setopt(rc->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* As every transfer here: what is configured is reached directly. */
	curl_easy_setopt(rc->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(rc->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(rc->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(rc->easy, CURLOPT_TIMEOUT_MS, (long)TOTAL_MS);
	curl_easy_setopt(rc->easy, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(rc->easy, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(rc->easy, CURLOPT_WRITEDATA, body);
	code = curl_easy_perform(rc->easy);
	if (code != CURLE_OK)
		return err_set(e, "rclone: %s",
		    body->failed       ? "the object is larger than any image"
		    : error[0] != '\0' ? error
				       : curl_easy_strerror(code));
	curl_easy_getinfo(rc->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

int rclone_get(struct rclone *rc, const struct conf *conf, const char *path, char **ret, size_t *ret_len, struct err *e)
{
	struct buf url, body;
	long status;
	int result = -1;

	buf_init(&url, RCLONE_URL_MAX);
	buf_init(&body, FRAME_BYTES_MAX);
	if (!ident_is_path(path) || rclone_file_url(conf, path, &url) < 0) {
		err_set(e, "rclone: RCLONE_REMOTE is not set, or this is no path in it: %.64s", path);
		goto out;
	}
	if (sign_in(rc, conf, e) < 0)
		goto out;
	status = fetch(rc, url.data, &body, e);
	if (status == 404) {
		result = 0;
	} else if (status == 200 && body.len > 0) {
		/* The buffer's memory goes to the caller. */
		*ret = body.data;
		*ret_len = body.len;
		buf_init(&body, 0);
		result = 1;
	} else if (status >= 0) {
		err_set(e, "rclone: answered %ld for %s", status, path);
	}
out:
	curl_easy_reset(rc->easy); /* the connection stays; the password does not */
	buf_free(&body);
	buf_free(&url);
	return result;
}
