/* SPDX-License-Identifier: Apache-2.0
 * The words of the Engine API: requests, and what its answers mean. */
#ifndef CAM_DOCKER_API_H
#define CAM_DOCKER_API_H

#include "manager/manager.h"

/* Sends a request to the engine. NULL: out of memory; done is not called then. timeout_ms 0: none. */
struct http_transfer *docker_call(struct manager *m, const char *method, const char *path, const char *json,
    long timeout_ms, http_done *done, void *arg);
/* The body of POST /containers/create for a worker; the caller puts it back. */
struct json_object *docker_create_body(const struct manager *m, const struct worker *w);
/* Path of the containers of this manager, or of their events; the caller frees it. NULL: out of memory. */
char *docker_path_list(const struct manager *m);
char *docker_path_events(const struct manager *m);
/* What went wrong, from an answer that is not the one wanted. */
void docker_fault(const struct http_answer *a, char *ret, size_t size);
/* Text of a log answer: the stream's frames taken off, clean. ret has size bytes. */
void docker_log_text(const struct http_answer *a, char *ret, size_t size);
/* How a container ended, from the answer of its inspection; oom: an event told that it ran out of memory. */
void docker_describe_end(const struct http_answer *a, bool oom, char *ret, size_t size);

#endif
