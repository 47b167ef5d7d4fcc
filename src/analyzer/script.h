/* SPDX-License-Identifier: Apache-2.0
 * Rules by which tests make this node slow, wrong or silent. The first rule that matches a request and is not used up
 * decides; without one the request is served as always. Safe to use from several threads. */
#ifndef CAM_SCRIPT_H
#define CAM_SCRIPT_H

#include "common/err.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	SCRIPT_FILE_MAX = 1000 * 1000,
	SCRIPT_RULES_MAX = 256,
	SCRIPT_HEADERS_MAX = 8,
	SCRIPT_DELAY_MAX_MS = 10 * 60 * 1000,
	SCRIPT_BODY_BYTES_MAX = 1000 * 1000 * 1000,
};

struct script_header {
	const char *name, *value;
};

/* All strings and objects belong to the rule's script and are only read. */
struct script_rule {
	struct script *script;
	const char *method, *path, *camera_id; /* globs; NULL matches all */
	long times;                            /* 0: without end */
	long after, delay_ms;
	unsigned status; /* 0: the request is served as always, after the delay */
	struct script_header headers[SCRIPT_HEADERS_MAX];
	size_t n_headers;
	const char *body, *content_type; /* body may be NULL */
	size_t body_len;
	long body_bytes; /* instead of body: that much filler; -1: not given */
	bool hang, close;
	struct json_object *result; /* members that replace those of the normal answer; NULL: none */
	long seen, used;            /* guarded by the book's lock */
};

struct script_book;

/* path stays the caller's and must live on. NULL, with *e naming the rule, when the file is no good. */
struct script_book *script_open(const char *path, struct err *e);
void script_close(struct script_book *b);
/* Reads the file again and begins all counters anew. On -1 the old rules stay, with their counters. */
int script_reload(struct script_book *b, struct err *e);

/* The rule for this request, counted as used, or NULL. It stays valid, even over a reload, until script_drop(), which
 * accepts NULL. b may be NULL. */
const struct script_rule *script_take(
    struct script_book *b, const char *method, const char *path, const char *camera_id);
void script_drop(struct script_book *b, const struct script_rule *rule);
/* Whether the rule takes the place of the normal answer. */
bool script_replaces(const struct script_rule *rule);

#endif
