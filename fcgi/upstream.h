/* SPDX-License-Identifier: Apache-2.0
 * Where a model call goes: address, credentials and the model's name there, from what the permit's answer says. The
 * one place that chooses. */
#ifndef CAM_UPSTREAM_H
#define CAM_UPSTREAM_H

#include "common/err.h"

#include <json-c/json.h>

enum upstream_call {
	UPSTREAM_CHAT,
	UPSTREAM_EMBEDDINGS,
	UPSTREAM_OLLAMA_CHAT,
	UPSTREAM_OLLAMA_GENERATE,
	UPSTREAM_INFER
};

enum { UPSTREAM_URL_MAX = 640, UPSTREAM_KEY_MAX = 4096 };

struct upstream {
	char url[UPSTREAM_URL_MAX];
	char key[UPSTREAM_KEY_MAX + 32]; /* the Authorization header line, or "" */
	const char *model;               /* its name there; points into the permit's answer */
};

/* body decides what an UPSTREAM_INFER is: with "messages" a chat, with "input" embeddings, with "prompt" a generation,
 * in the provider's own API; otherwise the provider's address takes it as it is. NULL: no JSON object. -1 and *e if
 * there is nowhere to go, or the key cannot be read. */
int upstream_choose(
    struct upstream *u, struct json_object *permit, enum upstream_call call, struct json_object *body, struct err *e);

#endif
