/* SPDX-License-Identifier: Apache-2.0
 * The question to a language model about an event that the inference node did not understand, and what to make of its
 * answer. OpenAI-compatible chat completions. No I/O. */
#ifndef CAM_LLM_H
#define CAM_LLM_H

#include <json-c/json.h>
#include <stddef.h>

/* The body of the request; data_url: the picture. The caller puts it back. */
struct json_object *llm_question(
    const char *model, struct json_object *facts, const char *captured_at, const char *data_url);

/* The answer as escalate_answered() takes it: outcome ok with summary and answer; refused or nonsense with the reason;
 * and what the model said. The caller puts it back. */
struct json_object *llm_answer(const char *body, size_t len);

#endif
