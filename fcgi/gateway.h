/* SPDX-License-Identifier: Apache-2.0
 * What a thread of gateway.fcgi works with. */
#ifndef CAM_GATEWAY_H
#define CAM_GATEWAY_H

#include "fcgi/api.h"
#include "fcgi/keeper.h"
#include "fcgi/relay.h"

/* The handlers get the api and know that it is a worker's. */
struct worker {
	struct api api; /* first; without a database connection of its own */
	struct keeper *keeper;
	struct relay *relay;
	int event_fd;
};

void handle_infer(struct api *api, struct request *r, struct answer *a);
void handle_chat_completions(struct api *api, struct request *r, struct answer *a);
void handle_embeddings(struct api *api, struct request *r, struct answer *a);
void handle_openai_models(struct api *api, struct request *r, struct answer *a);
void handle_ollama_generate(struct api *api, struct request *r, struct answer *a);
void handle_ollama_chat(struct api *api, struct request *r, struct answer *a);
void handle_ollama_tags(struct api *api, struct request *r, struct answer *a);

#endif
