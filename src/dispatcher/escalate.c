/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/escalate.h"

#include "common/crypto.h"
#include "common/file.h"
#include "common/http.h"
#include "common/json.h"
#include "common/log.h"
#include "dispatcher/followups.h"
#include "dispatcher/llm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 1024 * 1024, KEY_MAX = 4096, URL_MAX = 2048, TIMEOUT_SEC = 45 };

static const char data_prefix[] = "data:image/jpeg;base64,";

static void finish(struct job *j, struct json_object *answer)
{
	struct json_object *item = followup_done(j);

	json_object_object_foreach(answer, name, value) json_object_object_add(item, name, json_object_get(value));
	json_object_put(answer);
}

static enum call_end end_of(const struct http_answer *a)
{
	if (a->status == 0 || (a->status >= 500 && a->status != 503))
		return CALL_FAULTY;
	return a->status == 429 || a->status == 503 ? CALL_BUSY : CALL_WORKED;
}

static void answered(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	char error[JOB_ERROR_MAX];

	j->transfer = NULL;
	metrics_add(j->d->metrics, METRIC_LLM_REQUESTS);
	if (a->status == 200) {
		job_call_ended(j, CALL_WORKED, 0, "");
		finish(j, llm_answer(a->body, a->len));
		return;
	}
	if (a->status == 0)
		snprintf(error, sizeof error, "the language model does not answer: %s", a->fault);
	else
		snprintf(error, sizeof error, "the language model: status %ld: %.*s", a->status,
		    (int)(a->len < 300 ? a->len : 300), a->body);
	log_warning("%s", error);
	job_call_ended(j, end_of(a), 0, error);
	/* Our request is at fault, and will be the next time. */
	if (a->status >= 400 && a->status < 500 && a->status != 408 && a->status != 429)
		job_fail(j, error, 0, true, false);
	else
		job_fail_backoff(j, error, (int64_t)a->retry_after_sec * 1000);
}

static char *data_url(const struct job *j)
{
	char *text = crypto_base64(j->picture.data, j->picture.len), *url = NULL;

	if (text != NULL && asprintf(&url, "%s%s", data_prefix, text) < 0)
		url = NULL;
	free(text);
	return url;
}

/* Whom to ask: what this dispatcher was told, or else what the model's provider says. */
struct target {
	char url[URL_MAX];
	const char *model, *key_file;
	const char *pool; /* whose worker is asked instead; "": none */
};

static const char default_call_path[] = "/v1/analyze", chat_path[] = "/v1/chat/completions";

bool escalate_possible(const struct dispatcher *d)
{
	return *d->conf.llm_base_url != '\0' || d->followups.llm_known;
}

static void find_target(const struct job *j, struct target *ret)
{
	const struct conf *conf = &j->d->conf;
	struct json_object *llm = json_object_object_get(j->facts, "llm");
	const char *base = "";
	size_t len;

	ret->model = conf->llm_model;
	ret->key_file = conf->llm_key_file;
	ret->pool = "";
	ret->url[0] = '\0';
	if (conf->enable_container_pooling && llm != NULL)
		(void)json_get_string(llm, "pool", &ret->pool, NULL);
	if (*ret->pool != '\0') {
		(void)json_get_string(llm, "upstream_name", &ret->model, NULL);
		ret->key_file = "";
		return;
	}
	if (*conf->llm_base_url != '\0' || llm == NULL) {
		snprintf(ret->url, sizeof ret->url, "%s/chat/completions", conf->llm_base_url);
		return;
	}
	(void)json_get_string(llm, "base_url", &base, NULL);
	(void)json_get_string(llm, "upstream_name", &ret->model, NULL);
	(void)json_get_string(llm, "api_key_file", &ret->key_file, NULL);
	/* A provider's address is written with and without the /v1. */
	for (len = strlen(base); len > 0 && base[len - 1] == '/';)
		len--;
	if (len > 3 && strncmp(base + len - 3, "/v1", 3) == 0)
		len -= 3;
	snprintf(ret->url, sizeof ret->url, "%.*s%s", (int)len, base, chat_path);
}

/* "Authorization: Bearer ..."; NULL and *e if the file cannot be read. "" if there is no key. */
static char *authorization(const char *key_file, struct err *e)
{
	char *key, *line = NULL;
	size_t len;

	if (*key_file == '\0')
		return strdup("");
	key = file_read_named(key_file, KEY_MAX, &len, e);
	if (key == NULL)
		return NULL;
	key[strcspn(key, "\r\n")] = '\0';
	if (asprintf(&line, "Authorization: Bearer %s", key) < 0)
		line = NULL;
	free(key);
	return line;
}

static void ask(struct job *j, const struct target *target)
{
	struct json_object *question = NULL;
	struct err e = {"out of memory"};
	char *picture = data_url(j), *key;
	int64_t timeout = TIMEOUT_SEC;

	key = authorization(target->key_file, &e);
	(void)json_get_int64(j->facts, "timeout_sec", &timeout, NULL);
	if (picture == NULL || key == NULL) {
		log_error("the language model's key: %s", e.msg);
		job_fail_backoff(j, e.msg, 0);
		goto out;
	}
	question = llm_question(target->model, j->facts, j->captured_at, picture);
	j->transfer = http_start(j->d->http,
	    &(struct http_request){.method = "POST",
		.url = target->url,
		.timeout_ms = (long)timeout * 1000,
		.json = json_object_to_json_string_ext(question, JSON_C_TO_STRING_PLAIN),
		.headers = *key != '\0' ? (const char *[]){key, NULL} : NULL,
		.answer_max = ANSWER_MAX},
	    answered, j);
	if (j->transfer == NULL)
		job_fail_backoff(j, "out of memory", 0);
out:
	json_object_put(question);
	free(picture);
	free(key);
}

/* A pool whose call path nobody has set serves the API that every model does. */
static void worker_there(void *arg, const struct pool_answer *a)
{
	struct job *j = arg;
	struct target target;

	j->waiting = NULL;
	j->worker = a->lease;
	if (a->lease == NULL) {
		log_warning("the language model's pool: %s: %s", a->error_code, a->reason);
		job_fail_refused(j, a);
		return;
	}
	find_target(j, &target);
	if (strcmp(a->url + strlen(a->base_url), default_call_path) == 0)
		snprintf(target.url, sizeof target.url, "%s%s", a->base_url, chat_path);
	else
		snprintf(target.url, sizeof target.url, "%s", a->url);
	ask(j, &target);
}

static void picture_there(struct task *task)
{
	struct job *j = JOB_OF_PICTURE(task);
	struct target target;

	if (j->picture.fault != 0) {
		job_fail(j, "the image cannot be read", 0, j->picture.fault == ENOENT, false);
		return;
	}
	find_target(j, &target);
	if (*target.pool == '\0') {
		ask(j, &target);
		return;
	}
	j->waiting = pool_acquire(j->d->pools, target.pool, worker_there, j);
	if (j->waiting == NULL)
		job_fail_backoff(j, "out of memory", 0);
}

void escalate_begin(struct job *j)
{
	if (followup_picture(j, followup_fact(j, "archive_path", NULL)))
		picture_read(j->d->tasks, &j->picture, picture_there);
	else
		job_fail(j, "the job has no frame", 0, true, false);
}
