/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/mail.h"

#include "common/buf.h"
#include "common/crypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 50 addresses of 254 bytes at most. */
enum { HEADER_MAX = 16384, RECIPIENTS_MAX = 14000, SUBJECT_MAX = 2048, WORD_BYTES = 42 };

/* An encoded word may have 75 characters and must not end within a character of the text. */
char *mail_encode_subject(const char *subject)
{
	struct buf out;
	char *result = NULL;

	buf_init(&out, SUBJECT_MAX);
	for (size_t len = strlen(subject); len > 0;) {
		size_t n = len < WORD_BYTES ? len : WORD_BYTES;
		char *word;

		while (n < len && n > 1 && ((unsigned char)subject[n] & 0xC0) == 0x80)
			n--;
		word = crypto_base64(subject, n);
		if (word == NULL)
			goto out;
		buf_printf(&out, "%s=?UTF-8?B?%s?=", out.len > 0 ? "\r\n " : "", word);
		free(word);
		subject += n;
		len -= n;
	}
	if (!out.failed)
		result = strdup(out.data);
out:
	buf_free(&out);
	return result;
}

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[HEADER_MAX];
	struct curl_slist *longer;

	if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
		return -1;
	longer = curl_slist_append(*list, line);
	if (longer == NULL)
		return -1;
	*list = longer;
	return 0;
}

/* All recipients in one line, folded: a mail has one To. NULL: too many. */
static char *recipients_of(const struct mail *m)
{
	struct buf out;
	char *result = NULL;

	buf_init(&out, RECIPIENTS_MAX);
	for (size_t i = 0; i < json_object_array_length(m->to); i++)
		buf_printf(
		    &out, "%s%s", i > 0 ? ",\r\n " : "", json_object_get_string(json_object_array_get_idx(m->to, i)));
	if (!out.failed && out.len > 0)
		result = strdup(out.data);
	buf_free(&out);
	return result;
}

/* The list becomes the property of the part that it is put on. */
static struct curl_slist *headers_of(const struct mail *m)
{
	struct curl_slist *list = NULL;
	char *subject = mail_encode_subject(m->subject), *to = recipients_of(m), id[128], date[64];
	time_t now = time(NULL);
	struct tm tm;

	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", gmtime_r(&now, &tm));
	snprintf(id, sizeof id, "<%s@camserver>", m->message_id);
	if (subject == NULL || to == NULL || add_header(&list, "To", to) < 0 ||
	    add_header(&list, "From", m->from) < 0 || add_header(&list, "Date", date) < 0 ||
	    add_header(&list, "Message-ID", id) < 0 || add_header(&list, "Subject", subject) < 0 ||
	    add_header(&list, "Auto-Submitted", "auto-generated") < 0) {
		curl_slist_free_all(list);
		list = NULL;
	}
	free(subject);
	free(to);
	return list;
}

static int add_part(curl_mime *mime, const void *data, size_t len, const char *type)
{
	curl_mimepart *part = curl_mime_addpart(mime);

	return part != NULL && curl_mime_data(part, data, len) == CURLE_OK && curl_mime_type(part, type) == CURLE_OK &&
		       curl_mime_encoder(part, "base64") == CURLE_OK
		   ? 0
		   : -1;
}

static int add_subparts(curl_mime *mime, curl_mime *inner, const char *type)
{
	curl_mimepart *part = curl_mime_addpart(mime);

	if (part == NULL || curl_mime_subparts(part, inner) != CURLE_OK) {
		curl_mime_free(inner);
		return -1;
	}
	return curl_mime_type(part, type) == CURLE_OK ? 0 : -1;
}

static int add_picture(curl_mime *mime, const struct mail *m)
{
	curl_mimepart *part = curl_mime_addpart(mime);
	struct curl_slist *headers = curl_slist_append(NULL, "Content-ID: <frame>");

	if (part == NULL || headers == NULL || curl_mime_headers(part, headers, 1) != CURLE_OK)
		return -1;
	return curl_mime_data(part, m->picture, m->picture_len) == CURLE_OK &&
		       curl_mime_type(part, "image/jpeg") == CURLE_OK &&
		       curl_mime_encoder(part, "base64") == CURLE_OK &&
		       curl_mime_filename(part, "frame.jpg") == CURLE_OK
		   ? 0
		   : -1;
}

/* related(alternative(text, html), picture) */
static int add_body(CURL *easy, const struct mail *m, curl_mime *top)
{
	curl_mime *related = curl_mime_init(easy), *alternative = curl_mime_init(easy);

	if (related == NULL || alternative == NULL ||
	    add_part(alternative, m->text, strlen(m->text), "text/plain; charset=utf-8") < 0 ||
	    add_part(alternative, m->html, strlen(m->html), "text/html; charset=utf-8") < 0) {
		curl_mime_free(alternative);
		curl_mime_free(related);
		return -1;
	}
	if (add_subparts(related, alternative, "multipart/alternative") < 0 ||
	    (m->picture != NULL && add_picture(related, m) < 0)) {
		curl_mime_free(related);
		return -1;
	}
	return add_subparts(top, related, "multipart/related");
}

static int add_recipients(const struct mail *m, struct curl_slist **list)
{
	for (size_t i = 0; i < json_object_array_length(m->to); i++) {
		struct curl_slist *longer =
		    curl_slist_append(*list, json_object_get_string(json_object_array_get_idx(m->to, i)));

		if (longer == NULL)
			return -1;
		*list = longer;
	}
	return 0;
}

int mail_setup(CURL *easy, void *arg, struct http_owned *owned)
{
	const struct mail *m = arg;

	owned->headers = headers_of(m);
	owned->form = curl_mime_init(easy);
	if (owned->headers == NULL || owned->form == NULL || add_recipients(m, &owned->recipients) < 0 ||
	    add_body(easy, m, owned->form) < 0)
		return -1;
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(easy, CURLOPT_USE_SSL, (long)CURLUSESSL_TRY);
	curl_easy_setopt(easy, CURLOPT_MAIL_FROM, m->from);
	curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, owned->recipients);
	/* One address that is not taken keeps nobody else from being told. */
	curl_easy_setopt(easy, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, owned->headers);
	curl_easy_setopt(easy, CURLOPT_MIMEPOST, owned->form);
	return 0;
}
