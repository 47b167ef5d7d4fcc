/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/upstream.h"

#include "common/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *member(struct json_object *o, const char *name)
{
	struct json_object *m;

	return json_object_object_get_ex(o, name, &m) && m != NULL ? json_object_get_string(m) : NULL;
}

static enum upstream_call guess(const struct call_body *body, bool ollama)
{
	if (body != NULL && body->has_messages)
		return ollama ? UPSTREAM_OLLAMA_CHAT : UPSTREAM_CHAT;
	if (body != NULL && body->has_prompt && ollama)
		return UPSTREAM_OLLAMA_GENERATE;
	if (body != NULL && body->has_input)
		return UPSTREAM_EMBEDDINGS;
	return UPSTREAM_INFER;
}

int upstream_address(struct upstream *u, const char *base, struct err *e)
{
	static const char *const paths[] = {
	    [UPSTREAM_CHAT] = "/v1/chat/completions",
	    [UPSTREAM_EMBEDDINGS] = "/v1/embeddings",
	    [UPSTREAM_OLLAMA_CHAT] = "/api/chat",
	    [UPSTREAM_OLLAMA_GENERATE] = "/api/generate",
	    [UPSTREAM_INFER] = "",
	};
	size_t len = strlen(base);

	if (u->call != UPSTREAM_INFER) {
		while (len > 0 && base[len - 1] == '/')
			len--;
		if (len > 3 && strncmp(base + len - 3, "/v1", 3) == 0)
			len -= 3;
	}
	if (snprintf(u->url, sizeof u->url, "%.*s%s", (int)len, base, paths[u->call]) >= (int)sizeof u->url)
		return err_set(e, "the address is too long");
	return 0;
}

static int read_key(struct upstream *u, const char *path, struct err *e)
{
	size_t len;
	char *text = file_read_named(path, UPSTREAM_KEY_MAX, &len, e);

	if (text == NULL)
		return -1;
	text[strcspn(text, "\r\n")] = '\0';
	snprintf(u->key, sizeof u->key, "Authorization: Bearer %s", text);
	free(text);
	return 0;
}

int upstream_prepare(struct upstream *u, struct json_object *permit, enum upstream_call call,
    const struct call_body *body, struct err *e)
{
	const char *kind = member(permit, "kind"), *key = member(permit, "api_key_file");

	u->url[0] = u->key[0] = '\0';
	u->model = member(permit, "upstream_name");
	u->call = call == UPSTREAM_INFER ? guess(body, kind != NULL && strcmp(kind, "ollama") == 0) : call;
	return key != NULL ? read_key(u, key, e) : 0;
}

bool upstream_is_question(const struct upstream *u)
{
	return u->call != UPSTREAM_INFER;
}
