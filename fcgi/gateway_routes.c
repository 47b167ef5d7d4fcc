/* SPDX-License-Identifier: Apache-2.0
 * What gateway.fcgi serves. */
#include "fcgi/gateway.h"
#include "fcgi/routes.h"

enum { CALL_BODY = 16 * 1024 * 1024 };

/* "token": whoever has signed in or carries a token, whatever the role; viewer: anonymous viewers too. */
static const struct route routes[] = {
    {"POST", "/api/infer/{model}", "viewer", CALL_BODY, handle_infer},
    {"POST", "/v1/chat/completions", "token", CALL_BODY, handle_chat_completions},
    {"POST", "/v1/embeddings", "token", CALL_BODY, handle_embeddings},
    {"GET", "/v1/models", "token", 0, handle_openai_models},
    {"POST", "/api/generate", "token", CALL_BODY, handle_ollama_generate},
    {"POST", "/api/chat", "token", CALL_BODY, handle_ollama_chat},
    {"GET", "/api/tags", "token", 0, handle_ollama_tags},
};

const struct route *route_find(struct request *r, char *ret_allow, size_t allow_size)
{
	return route_match(routes, sizeof routes / sizeof *routes, r, ret_allow, allow_size);
}
