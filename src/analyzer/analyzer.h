/* SPDX-License-Identifier: Apache-2.0
 * What all requests of the program share. */
#ifndef CAM_ANALYZER_H
#define CAM_ANALYZER_H

#include "analyzer/scenes.h"
#include "analyzer/schema.h"
#include "analyzer/script.h"
#include "analyzer/stats.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

struct analyzer {
	int max_inflight;
	atomic_int inflight; /* analyses that hold a slot */
	sem_t decoders;      /* pictures decoded at a time; they need memory and a processor */
	int stop_fd;         /* readable once the program is to stop */
	int64_t started_ms;
	struct schema_store *schema;
	struct scenes *scenes;
	struct script_book *script; /* NULL without --script */
	struct stats *stats;
};

#endif
