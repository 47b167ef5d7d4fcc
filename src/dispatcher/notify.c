/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/notify.h"

#include "common/file.h"
#include "common/http.h"
#include "common/json.h"
#include "common/log.h"
#include "common/media.h"
#include "dispatcher/followups.h"
#include "dispatcher/mail.h"
#include "dispatcher/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 15000, ANSWER_MAX = 16 * 1024, SECRET_MAX = 4096, LINK_DEFAULT_SEC = 3600 };

static struct json_object *channel_of(const struct job *j)
{
	struct json_object *channel = NULL;

	(void)json_object_object_get_ex(j->facts, "channel", &channel);
	return channel;
}

static const char *channel_fact(const struct job *j, const char *name)
{
	const char *text = NULL;

	(void)json_get_string(channel_of(j), name, &text, NULL);
	return text;
}

/* The channel's secret; NULL and *ret_fault if it should have one and it cannot be read. "" if it has none. */
static char *secret_of(const struct job *j, struct err *ret_fault)
{
	const char *path = channel_fact(j, "secret_file");
	char *secret;
	size_t len;

	if (path == NULL)
		return strdup("");
	secret = file_read_named(path, SECRET_MAX, &len, ret_fault);
	if (secret != NULL)
		secret[strcspn(secret, "\r\n")] = '\0';
	return secret;
}

static void answered(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	char error[JOB_ERROR_MAX];

	j->transfer = NULL;
	if (a->status >= 200 && a->status < 300) { /* of SMTP 250 */
		metrics_add(j->d->metrics, METRIC_NOTIFIED);
		followup_done(j);
		return;
	}
	if (a->status == 0)
		snprintf(error, sizeof error, "%s: %s", channel_fact(j, "name"), a->fault);
	else
		snprintf(error, sizeof error, "%s: status %ld: %.*s", channel_fact(j, "name"), a->status,
		    (int)(a->len < 300 ? a->len : 300), a->body);
	log_warning("a notification is not delivered: %s", error);
	job_fail_backoff(j, error, (int64_t)a->retry_after_sec * 1000);
}

static void started(struct job *j, struct http_transfer *transfer)
{
	j->transfer = transfer;
	if (transfer == NULL)
		job_fail_backoff(j, "out of memory", 0);
}

/* A link to the picture, valid for a while; false if there is no picture or no key. */
static bool link_of(const struct job *j, char ret[MEDIA_LINK_MAX])
{
	struct media_keys keys = {.n = 0};
	int64_t seconds = LINK_DEFAULT_SEC;
	struct err e;

	if (*j->frame_uuid == '\0')
		return false;
	(void)json_get_int64(j->facts, "link_sec", &seconds, NULL);
	if (media_keys_load(&keys, j->d->conf.media_key_file, &e) == 0 &&
	    media_link(&keys, j->d->conf.public_url, j->frame_uuid, (int64_t)time(NULL) + seconds, ret, &e) == 0)
		return true;
	log_warning("a notification has no link to its picture: %s", e.msg);
	return false;
}

static void post_json(struct job *j, struct json_object *body, const char *const *headers)
{
	started(j, http_start(j->d->http,
		       &(struct http_request){.method = "POST",
			   .url = channel_fact(j, "url"),
			   .timeout_ms = TIMEOUT_MS,
			   .json = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN),
			   .headers = headers,
			   .answer_max = ANSWER_MAX},
		       answered, j));
}

/* Signed over time and body, so that a copy of an old message is not a new one. */
static void send_webhook(struct job *j, const struct message *m, const char *secret)
{
	struct json_object *body = message_webhook(m, j->facts);
	const char *text = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN);
	char signature[SHA256_HEX_LEN + 1] = "", stamp[64], sign[128], id[128];
	struct buf signed_text;

	buf_init(&signed_text, 4 * MESSAGE_TEXT_MAX);
	buf_printf(&signed_text, "%lld.%s", (long long)time(NULL), text);
	snprintf(
	    stamp, sizeof stamp, "X-Camserver-Timestamp: %.*s", (int)strcspn(signed_text.data, "."), signed_text.data);
	snprintf(id, sizeof id, "X-Camserver-Id: %s", followup_fact(j, "message_uuid", ""));
	if (signed_text.failed ||
	    crypto_hmac_sha256_hex(secret, strlen(secret), signed_text.data, signed_text.len, signature) < 0) {
		job_fail_backoff(j, "the message cannot be signed", 0);
	} else {
		snprintf(sign, sizeof sign, "X-Camserver-Signature: sha256=%s", signature);
		post_json(j, body, (const char *[]){stamp, sign, id, NULL});
	}
	buf_free(&signed_text);
	json_object_put(body);
}

static void send_slack(struct job *j, const struct message *m)
{
	struct json_object *body = message_slack(m);

	post_json(j, body, NULL);
	json_object_put(body);
}

static void send_mail(struct job *j, const struct message *m, const char *secret)
{
	char *html = message_html(m, j->picture.data != NULL);
	struct mail mail = {.from = channel_fact(j, "mail_from"),
	    .subject = m->title,
	    .text = m->text.len > 0 ? m->text.data : m->title,
	    .html = html,
	    .message_id = followup_fact(j, "message_uuid", ""),
	    .picture = j->picture.data,
	    .picture_len = j->picture.len};

	(void)json_object_object_get_ex(channel_of(j), "mail_to", &mail.to);
	if (html == NULL || mail.from == NULL || !json_object_is_type(mail.to, json_type_array))
		job_fail_backoff(j, "the mail cannot be made", 0);
	else
		started(j, http_start(j->d->http,
			       &(struct http_request){.url = channel_fact(j, "url"),
				   .timeout_ms = TIMEOUT_MS,
				   .user = channel_fact(j, "mail_user"),
				   .password = secret,
				   .setup = mail_setup,
				   .setup_arg = &mail,
				   .answer_max = ANSWER_MAX},
			       answered, j));
	free(html);
}

static void send_message(struct job *j)
{
	const char *kind = channel_fact(j, "kind");
	char link[MEDIA_LINK_MAX], *secret;
	struct err e = {""};
	struct message m;

	secret = secret_of(j, &e);
	if (kind == NULL || secret == NULL) {
		log_error("channel %s: %s", channel_fact(j, "name"), e.msg);
		job_fail_backoff(j, kind == NULL ? "the channel is gone" : e.msg, 0);
		free(secret);
		return;
	}
	message_make(&m, j->facts, link_of(j, link) ? link : NULL);
	if (strcmp(kind, "smtp") == 0)
		send_mail(j, &m, secret);
	else if (strcmp(kind, "slack") == 0)
		send_slack(j, &m);
	else
		send_webhook(j, &m, secret);
	message_free(&m);
	free(secret);
}

/* A mail without its picture is better than none. */
static void picture_there(struct task *task)
{
	send_message(JOB_OF_PICTURE(task));
}

void notify_begin(struct job *j)
{
	const char *kind = channel_fact(j, "kind");

	if (kind != NULL && strcmp(kind, "smtp") == 0 && followup_picture(j, followup_fact(j, "archive_path", NULL)))
		picture_read(j->d->tasks, &j->picture, picture_there);
	else
		send_message(j);
}
