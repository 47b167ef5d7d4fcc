/* SPDX-License-Identifier: Apache-2.0
 * The state of one cam-dispatcher process. Each kind of work is a module with a tick: called on every turn of the
 * loop with the time, it does what is due, never waits, and returns when it wants to be called again. */
#ifndef CAM_DISPATCHER_H
#define CAM_DISPATCHER_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/ident.h"
#include "common/metrics.h"
#include "policy/health.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

struct dispatcher {
	struct conf conf;
	struct dbq *db;
	struct metrics *metrics;
	CURLM *http;
	int signal_fd;
	char id[UUID_TEXT_LEN + 1]; /* of this process start */

	struct {
		bool registered, asking, stopping, stopped;
		int64_t due;
	} membership;
	struct {
		struct health_state state;
		struct health_limits limits;
		int64_t seq;
		bool known, asking; /* known: seq and state are the database's */
		int64_t due;
		uint64_t cpu_busy, cpu_total; /* of the last sample */
		double cpu_percent;
	} sampler;
	struct {
		bool asking;
		int64_t due;
	} sweeper, counters;
};

#endif
