/* SPDX-License-Identifier: Apache-2.0
 * Stream leases: acquire, heartbeat, release. */
#include "common/ident.h"
#include "common/json.h"
#include "fcgi/handlers.h"
#include "fcgi/repeat.h"

#include <stdio.h>
#include <string.h>

struct lease_request {
	const char *camera_id;
	const char *quality;
	const char *lease_id; /* or NULL */
	bool allow_downgrade;
};

static int check(struct json_object *body, struct lease_request *ret, struct err *e)
{
	*ret = (struct lease_request){.quality = "sub"};
	if (json_get_string(body, "camera_id", &ret->camera_id, e) < 0 ||
	    json_get_string(body, "quality", &ret->quality, e) < 0 ||
	    json_get_string(body, "lease_id", &ret->lease_id, e) < 0 ||
	    json_get_bool(body, "allow_downgrade", &ret->allow_downgrade, e) < 0)
		return -1;
	if (ret->camera_id == NULL)
		return err_set(e, "\"camera_id\" is missing");
	if (!ident_valid(ret->camera_id))
		return err_set(e, "\"camera_id\" must be 1 to %d letters, digits, '_', '.' or '-'", IDENT_MAX);
	if (strcmp(ret->quality, "sub") != 0 && strcmp(ret->quality, "main") != 0)
		return err_set(e, "\"quality\" must be \"sub\" or \"main\"");
	if (ret->lease_id != NULL && !ident_is_uuid(ret->lease_id))
		return err_set(e, "\"lease_id\" must be a UUID");
	return 0;
}

static void count_outcome(struct api *api, const char *outcome)
{
	static const struct {
		const char *outcome;
		enum metric metric;
	} counted[] = {
	    {"GRANTED", METRIC_LEASE_GRANTED},
	    {"OVER_CAPACITY", METRIC_LEASE_REFUSED_OVER_CAPACITY},
	    {"SYSTEM_OVERLOAD", METRIC_LEASE_REFUSED_SYSTEM_OVERLOAD},
	    {"USER_ALREADY_HAS_MODAL", METRIC_LEASE_REFUSED_USER_ALREADY_HAS_MODAL},
	};

	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (strcmp(counted[i].outcome, outcome) == 0)
			metrics_add(api->metrics, counted[i].metric);
}

/* Who asks for the same in the same words is refused in the same words. "" is no key: the body is too long for one. */
static void refusal_key(const struct request *r, bool english, char ret[ANSWER_CACHE_KEY_MAX + 1])
{
	int len = snprintf(ret, ANSWER_CACHE_KEY_MAX + 1, "lease %s %s", english ? "en" : "ja", r->body.data);

	if (len > ANSWER_CACHE_KEY_MAX || strlen(r->body.data) != r->body.len)
		ret[0] = '\0';
}

/* Takes out of a refusal how long it cannot turn into a grant by the passing of time. */
static int64_t take_good_ms(struct json_object *result)
{
	int64_t good_ms = 0;

	(void)json_get_int64(result, "good_ms", &good_ms, NULL);
	json_object_object_del(result, "good_ms");
	return good_ms;
}

/* Refused for want of room is only who holds nothing; for the load, anybody. */
static void keep_refusal(struct api *api, const struct answer *a, const char *key, const char *outcome, int64_t good_ms)
{
	bool for_want_of_room = strcmp(outcome, "OVER_CAPACITY") == 0;

	if (good_ms > 0 && (for_want_of_room || strcmp(outcome, "SYSTEM_OVERLOAD") == 0))
		repeat_keep(api, a, key, outcome, for_want_of_room ? CALLER_HAS_NO_LEASE : CALLER_MAY_VIEW, good_ms);
}

/* Takes over result. key: to keep a refusal under. */
static void answer_acquire(struct api *api, struct answer *a, const char *key, struct json_object *result)
{
	const char *outcome = api_outcome(result);
	int64_t good_ms = take_good_ms(result);

	count_outcome(api, outcome);
	if (strcmp(outcome, "GRANTED") == 0) {
		api_changed(api);
		api_answer(a, result, "GRANTED", 201);
		return;
	}
	answer_error_with(a, outcome, NULL, result);
	keep_refusal(api, a, key, outcome, good_ms);
	json_object_put(result);
}

void handle_lease_acquire(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *body, *result;
	char key[ANSWER_CACHE_KEY_MAX + 1];
	struct lease_request want;
	const char *code;
	struct err e;

	if (!request_is_type(r, "application/json")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send application/json", NULL);
		return;
	}
	refusal_key(r, a->english, key);
	if (repeat_answer(api, a, key, &code)) {
		count_outcome(api, code);
		return;
	}
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL || check(body, &want, &e) < 0) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		goto out;
	}
	result = api_call(api, a,
	    API_SQL("lease_acquire(who.user_id, $5, $6::camserver.stream_quality, $7::boolean, $8::uuid)"), 4,
	    (const char *[]){want.camera_id, want.quality, want.allow_downgrade ? "t" : "f", want.lease_id});
	/* One who names a lease may have it by the next time: never kept. */
	if (result != NULL)
		answer_acquire(api, a, want.lease_id == NULL ? key : "", result);
out:
	json_object_put(body);
}

/* Both calls below take a lease id from the path and answer {"ok": true, ...}. */
static void lease_call(struct api *api, struct request *r, struct answer *a, const char *sql, enum metric counted)
{
	struct json_object *result, *answer;

	if (!ident_is_uuid(r->args[0])) {
		answer_error(a, "UNKNOWN_LEASE");
		return;
	}
	result = api_call(api, a, sql, 1, (const char *[]){r->args[0]});
	if (result == NULL)
		return;
	if (strcmp(api_outcome(result), "OK") == 0) {
		metrics_add(api->metrics, counted);
		if (counted == METRIC_LEASE_RELEASED)
			api_changed(api);
		answer = json_object_new_object();
		json_object_object_add(answer, "ok", json_object_new_boolean(1));
		json_object_object_foreach(result, name, value)
		{
			if (strcmp(name, "outcome") != 0)
				json_object_object_add(answer, name, json_object_get(value));
		}
		answer_json(a, 200, answer);
	} else {
		if (strcmp(api_outcome(result), "LEASE_EXPIRED") == 0)
			metrics_add(api->metrics, METRIC_HEARTBEAT_EXPIRED);
		answer_error_with(a, api_outcome(result), NULL, result);
	}
	json_object_put(result);
}

void handle_lease_heartbeat(struct api *api, struct request *r, struct answer *a)
{
	lease_call(api, r, a, API_SQL("lease_heartbeat(who.user_id, $5::uuid)"), METRIC_HEARTBEAT_OK);
}

void handle_lease_release(struct api *api, struct request *r, struct answer *a)
{
	lease_call(api, r, a, API_SQL("lease_release(who.user_id, $5::uuid)"), METRIC_LEASE_RELEASED);
}
