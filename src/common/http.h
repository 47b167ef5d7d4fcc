/* SPDX-License-Identifier: Apache-2.0
 * HTTP transfers (and, with setup(), others of curl's) that run side by side in the loop, on connections that are kept
 * and used again. */
#ifndef CAM_HTTP_H
#define CAM_HTTP_H

#include "common/err.h"
#include "common/metrics.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

struct http;
struct http_transfer;

/* A part of a multipart form: text, or bytes that stay the caller's until the transfer is done. */
struct http_part {
	const char *name; /* NULL ends the list */
	const char *text;
	const void *data;
	size_t len;
	const char *file_name, *type; /* of data */
};

/* What a request's setup() made and the transfer keeps until it has ended. */
struct http_owned {
	curl_mime *form;
	struct curl_slist *headers, *recipients;
};

struct http_request {
	const char *method; /* NULL: what the scheme does */
	const char *url;
	long timeout_ms;              /* 0: none */
	const struct http_part *form; /* or NULL */
	const char *json;             /* or NULL; copied */
	const char *const *headers;   /* further header lines, NULL-terminated, or NULL */
	const char *user, *password;  /* or NULL */
	/* For what is not HTTP: further options of the handle; -1: no memory. Or NULL. */
	int (*setup)(CURL *easy, void *arg, struct http_owned *owned);
	void *setup_arg;
	const char *unix_socket; /* or NULL */
	bool http2;              /* HTTP/2 from the first byte; the server is known to speak it */
	size_t answer_max;
	/* Takes the body piece by piece instead of answer_max and answer.body, with the same arg; or NULL. */
	void (*piece)(void *arg, const char *data, size_t len);
};

struct http_answer {
	long status; /* 0: there was none, fault says why */
	const char *body;
	size_t len;
	long retry_after_sec; /* what the other side asked for, an hour at most; 0: nothing */
	char fault[256];
	int connected;        /* 0 if nobody could be reached at all */
	long new_connections; /* that this transfer had to open */
};

/* Called once, from http_step(); the answer is valid during the call only. Not called after http_cancel(). */
typedef void http_done(void *arg, const struct http_answer *answer);

struct http *http_new(struct err *e);
/* Certificates that are trusted instead of the system's; NULL or "": those. ca_file must live on. */
void http_trust(struct http *h, const char *ca_file);
/* Connections are counted from now on; m must live on. */
void http_meter(struct http *h, struct metrics *m);
/* Transfers under way are cancelled. */
void http_free(struct http *h);
/* For curl_multi_poll(). */
CURLM *http_multi(struct http *h);
/* NULL: out of memory. */
struct http_transfer *http_start(struct http *h, const struct http_request *r, http_done *done, void *arg);
void http_cancel(struct http_transfer *t);
/* Moves what can be moved and reports what has ended. */
void http_step(struct http *h);

#endif
