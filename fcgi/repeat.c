/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/repeat.h"

#include <stdio.h>
#include <string.h>

/* How long a caller may go on as known: whose sign-in can be taken back, for a second, and until something changes on
 * this host; the cookie of a viewer without a sign-in stands for nothing that could be. */
enum { SIGNED_IN_MS = 1000, SESSION_MS = 5000 };

struct caller_name {
	char text[ANSWER_CACHE_KEY_MAX + 1]; /* "": nobody to remember */
	int64_t good_ms;
};

static struct caller_name name_of(const struct api *api)
{
	const struct identity *id = &api->identity;
	unsigned long long changes = api->now.changes;
	struct caller_name name = {.text = "", .good_ms = SIGNED_IN_MS};

	if (id->token[0] != '\0') {
		snprintf(name.text, sizeof name.text, "%llu token:%s", changes, id->token);
	} else if (id->remote_user != NULL) {
		snprintf(name.text, sizeof name.text, "%llu user:%s", changes, id->remote_user);
	} else if (id->session[0] != '\0' && id->returning) {
		snprintf(name.text, sizeof name.text, "anon:%s", id->session);
		name.good_ms = SESSION_MS;
	}
	return name;
}

/* A browser that is given its cookie just now may look, and holds nothing yet; it counts as there when it comes back.
 */
static bool is_newcomer(const struct identity *id)
{
	return !id->returning && id->session[0] != '\0';
}

bool repeat_answer(struct api *api, struct answer *a, const char *key, const char **ret_code)
{
	const struct cached_answer *kept = answer_cache_find(api->cache, key, api->now);
	struct caller_name name;

	if (kept == NULL)
		return false;
	if (!is_newcomer(&api->identity)) {
		name = name_of(api);
		if (!answer_cache_knows(api->cache, name.text, kept->needs, api->now))
			return false;
	}
	metrics_add(api->metrics, METRIC_ANSWERS_REPEATED);
	answer_borrowed(a, kept->status, kept->bytes, kept->len);
	a->retry_after = kept->retry_after;
	*ret_code = kept->code; /* lives as long as the answer */
	return true;
}

void repeat_keep(struct api *api, const struct answer *a, const char *key, const char *code, enum caller_fact proves,
    int64_t good_ms)
{
	struct cached_answer kept = {.status = a->status, .retry_after = a->retry_after, .needs = proves};
	struct caller_name name = name_of(api);

	snprintf(kept.code, sizeof kept.code, "%s", code);
	kept.bytes = answer_json_text(a, &kept.len);
	answer_cache_keep(api->cache, key, &kept, api->now, good_ms);
	answer_cache_learn(api->cache, name.text, proves, api->now, name.good_ms);
	answer_cache_learn(api->cache, name.text, CALLER_MAY_VIEW, api->now, name.good_ms);
}
