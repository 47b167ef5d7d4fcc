/* SPDX-License-Identifier: Apache-2.0
 * What is sent to a server of a model: address, credentials and the model's name there. */
#ifndef CAM_UPSTREAM_H
#define CAM_UPSTREAM_H

#include "common/err.h"
#include "fcgi/call_body.h"

#include <json-c/json.h>
#include <stdbool.h>

enum upstream_call {
	UPSTREAM_CHAT,
	UPSTREAM_EMBEDDINGS,
	UPSTREAM_OLLAMA_CHAT,
	UPSTREAM_OLLAMA_GENERATE,
	UPSTREAM_INFER
};

enum { UPSTREAM_URL_MAX = 640, UPSTREAM_KEY_MAX = 4096 };

struct upstream {
	enum upstream_call call;
	char url[UPSTREAM_URL_MAX];
	char key[UPSTREAM_KEY_MAX + 32]; /* the Authorization header line, or "" */
	const char *model;               /* its name there; points into the permit's answer */
};

/* What is asked for, the model's name there and the credentials. body decides what an UPSTREAM_INFER is: with
 * "messages" a chat, with "input" embeddings, with "prompt" a generation, in the provider's own API; otherwise it is
 * passed on as it is. NULL: no JSON object. -1 and *e if the key cannot be read. */
int upstream_prepare(struct upstream *u, struct json_object *permit, enum upstream_call call,
    const struct call_body *body, struct err *e);
/* The address of the call at this server, written with or without /v1: into u->url. -1 and *e if it is too long. */
int upstream_address(struct upstream *u, const char *base, struct err *e);
/* Asking twice does no harm: it is a question to a model and nothing else. */
bool upstream_is_question(const struct upstream *u);

#endif
