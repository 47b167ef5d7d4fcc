/* SPDX-License-Identifier: Apache-2.0
 * Counts of requests since the start, which tests read at /debug/requests. Safe to use from several threads. */
#ifndef CAM_STATS_H
#define CAM_STATS_H

#include <json-c/json.h>
#include <stdbool.h>

enum { STATS_STATUS_MAX = 600 };

enum stats_kind { STATS_OTHER, STATS_ANALYZE, STATS_PUT_SCHEMA };

struct stats;

struct stats *stats_new(void);
void stats_free(struct stats *s);

void stats_connection(struct stats *s);
/* Every begin is followed by one end: before the answer leaves, so that a client which counts its own requests never
 * sees more of them here. Status 0: closed without an answer. */
void stats_begin(struct stats *s, enum stats_kind kind);
void stats_end(struct stats *s, enum stats_kind kind, unsigned status);
/* A new object for the caller; NULL: out of memory. */
struct json_object *stats_json(struct stats *s);

#endif
