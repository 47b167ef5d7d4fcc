/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/sampler.h"

#include "common/json.h"
#include "common/log.h"
#include "dispatcher/procfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { INTERVAL_MS = 2000 };

static void read_limits(struct json_object *thresholds, struct health_limits *ret)
{
	const struct {
		const char *name;
		double *at;
	} map[] = {
	    {"overload_cpu_percent", &ret->overload.cpu_percent},
	    {"overload_memory_percent", &ret->overload.memory_percent},
	    {"overload_swap_mb", &ret->overload.swap_mb},
	    {"recover_cpu_percent", &ret->recover.cpu_percent},
	    {"recover_memory_percent", &ret->recover.memory_percent},
	    {"recover_swap_mb", &ret->recover.swap_mb},
	    {"recover_hold_sec", &ret->recover_hold_sec},
	    {"warning_cpu_percent", &ret->warning.cpu_percent},
	    {"warning_memory_percent", &ret->warning.memory_percent},
	    {"warning_swap_mb", &ret->warning.swap_mb},
	};

	for (size_t i = 0; i < sizeof map / sizeof *map; i++)
		(void)json_get_double(thresholds, map[i].name, map[i].at, NULL);
}

/* The database's state is the one to go on from, whoever of this host's dispatchers wrote it. */
static void answered(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct json_object *json, *thresholds;
	bool before = d->sampler.state.overloaded;

	d->sampler.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("no health report: %s", error);
		d->sampler.known = false;
		return;
	}
	json = json_tokener_parse(PQgetvalue(result, 0, 0));
	d->sampler.known = json != NULL;
	if (json == NULL)
		return;
	d->sampler.state = (struct health_state){.since_overload_sec = -1};
	(void)json_get_int64(json, "seq", &d->sampler.seq, NULL);
	(void)json_get_bool(json, "overloaded", &d->sampler.state.overloaded, NULL);
	(void)json_get_double(json, "since_overload_sec", &d->sampler.state.since_overload_sec, NULL);
	if (json_object_object_get_ex(json, "thresholds", &thresholds))
		read_limits(thresholds, &d->sampler.limits);
	json_object_put(json);
	if (before != d->sampler.state.overloaded) {
		metrics_add(d->metrics, METRIC_CHANGES);
		log_warning(
		    "host %s is %s", d->conf.host_name, d->sampler.state.overloaded ? "overloaded" : "well again");
	}
}

static int measure(struct dispatcher *d, struct health_sample *ret)
{
	struct procfs_load load;
	struct err e;

	if (procfs_read(d->conf.proc_dir, &load, &e) < 0) {
		log_error("cannot sample the host's load: %s", e.msg);
		return -1;
	}
	if (load.cpu_total > d->sampler.cpu_total && d->sampler.cpu_total > 0)
		d->sampler.cpu_percent = 100.0 * (double)(load.cpu_busy - d->sampler.cpu_busy) /
					 (double)(load.cpu_total - d->sampler.cpu_total);
	d->sampler.cpu_busy = load.cpu_busy;
	d->sampler.cpu_total = load.cpu_total;
	*ret = (struct health_sample){d->sampler.cpu_percent, load.memory_percent, load.swap_mb};
	return 0;
}

static void report(struct dispatcher *d, const struct health_sample *s)
{
	struct health_verdict v = health_judge(&d->sampler.state, s, &d->sampler.limits);
	char seq[24], cpu[32], memory[32], swap[32];

	snprintf(seq, sizeof seq, "%" PRId64, d->sampler.seq);
	snprintf(cpu, sizeof cpu, "%.2f", s->cpu_percent);
	snprintf(memory, sizeof memory, "%.2f", s->memory_percent);
	snprintf(swap, sizeof swap, "%.1f", s->swap_mb);
	d->sampler.asking =
	    dbq_submit(d->db, "SELECT camserver.health_report($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", 10,
		(const char *[]){d->id, d->conf.host_name, seq, cpu, memory, swap, health_level_name(v.level),
		    v.overloaded ? "t" : "f", v.tripped ? "t" : "f", v.reason[0] != '\0' ? v.reason : NULL},
		answered, d) == 0;
}

int64_t sampler_tick(struct dispatcher *d, int64_t now)
{
	struct health_sample s;

	if (now < d->sampler.due)
		return d->sampler.due;
	d->sampler.due = now + INTERVAL_MS;
	if (measure(d, &s) < 0 || d->sampler.asking || !dbq_connected(d->db))
		return d->sampler.due;
	if (d->sampler.known)
		report(d, &s);
	else /* learn the state before judging anything by it; the next sample is soon */
		d->sampler.asking = dbq_submit(d->db, "SELECT camserver.health_report($1, $2)", 2,
					(const char *[]){d->id, d->conf.host_name}, answered, d) == 0;
	return d->sampler.due;
}
