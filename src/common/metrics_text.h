/* SPDX-License-Identifier: Apache-2.0
 * The text that Prometheus reads: the host's mapped numbers and what the database told, each metric with its help and
 * type once. */
#ifndef CAM_METRICS_TEXT_H
#define CAM_METRICS_TEXT_H

#include "common/buf.h"
#include "common/metrics.h"

enum { METRICS_SAMPLE_LABELS = 2, METRICS_TEXT_MAX = 32 * 1024 * 1024 };

/* A sample of metrics_snapshot(). All text is the caller's. */
struct metrics_sample {
	const char *name;
	size_t name_len;
	struct {
		const char *name, *value; /* NULL: no such label */
	} labels[METRICS_SAMPLE_LABELS];
	const char *value; /* as PostgreSQL writes a double precision */
};

/* Appends everything to out. m may be NULL. samples: of the database, in any order; those whose name is not known
 * are left out, since a metric without help and type is no use, and *ret_unknown names the first (NULL: none). */
void metrics_text(struct buf *out, const struct metrics *m, const char *version, const struct metrics_sample *samples,
    size_t n, const char **ret_unknown);

#endif
