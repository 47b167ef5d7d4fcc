/* SPDX-License-Identifier: Apache-2.0
 * The thread of gateway.fcgi that speaks with the database for all others: it keeps their permits and the workers that
 * they use, and probes nodes. The others wait on their own event descriptors and hold no connection. */
#ifndef CAM_KEEPER_H
#define CAM_KEEPER_H

#include "common/conf.h"
#include "common/err.h"
#include "common/metrics.h"
#include "common/router.h"
#include "fcgi/permits.h"
#include "fcgi/pools.h"

struct keeper {
	struct permits *permits;
	struct pools *pools; /* NULL: ENABLE_CONTAINER_POOLING is off */
	struct router *router;
	struct keeper_private *private;
};

/* Starts the thread. conf and metrics must live on. NULL and *e on failure. */
struct keeper *keeper_new(const struct conf *conf, struct metrics *metrics, struct err *e);
/* From now on nobody waits any more: what is asked for is refused with SHUTTING_DOWN. */
void keeper_stop(struct keeper *k);
/* Gives back what is left, waits a moment for that, and ends the thread. NULL is allowed. */
void keeper_free(struct keeper *k);

#endif
