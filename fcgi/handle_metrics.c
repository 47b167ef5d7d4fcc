/* SPDX-License-Identifier: Apache-2.0
 * GET /metrics: this host's mapped numbers and the database's state, for Prometheus. The web server says who may ask.
 * The host's numbers are there also while the database is not: that is when they are wanted. */
#include "config.h"
#include "common/log.h"
#include "common/metrics_text.h"
#include "fcgi/handlers.h"
#include "fcgi/pressure.h"

#include <stdlib.h>
#include <string.h>

enum { NAME, LABEL, LABEL_VALUE, LABEL2, LABEL2_VALUE, VALUE };

static const char *field(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

/* NULL and *ret_n 0 if the database is away. The samples are the result's text. */
static struct metrics_sample *ask(struct api *api, PGresult **ret_result, size_t *ret_n)
{
	struct metrics_sample *samples;
	struct err e;

	*ret_n = 0;
	api->db_status = db_query(api->db, "SELECT * FROM camserver.metrics_snapshot()", 0, NULL, ret_result, &e);
	if (api->db_status != DB_OK) {
		log_warning("/metrics without the database: %s", e.msg);
		return NULL;
	}
	samples = calloc((size_t)PQntuples(*ret_result) + 1, sizeof *samples);
	for (int i = 0; samples != NULL && i < PQntuples(*ret_result); i++)
		samples[(*ret_n)++] = (struct metrics_sample){.name = PQgetvalue(*ret_result, i, NAME),
		    .name_len = (size_t)PQgetlength(*ret_result, i, NAME),
		    .labels = {{field(*ret_result, i, LABEL), field(*ret_result, i, LABEL_VALUE)},
			{field(*ret_result, i, LABEL2), field(*ret_result, i, LABEL2_VALUE)}},
		    .value = PQgetvalue(*ret_result, i, VALUE)};
	return samples;
}

/* The value of a sample with this first label; fallback without one. */
static double told(
    const struct metrics_sample *samples, size_t n, const char *name, const char *label_value, double fallback)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(samples[i].name, name) == 0 && samples[i].labels[0].value != NULL &&
		    strcmp(samples[i].labels[0].value, label_value) == 0)
			return strtod(samples[i].value, NULL);
	return fallback;
}

static void add_stage(struct buf *out, const char *queue, const struct backpressure_limits *limits, int64_t queued)
{
	buf_printf(out, "camserver_backpressure_stage{queue=\"%s\"} %d\n", queue,
	    (int)backpressure_judge(limits, queued).stage);
}

/* What the numbers of the queues mean is policy, which neither the file nor the database knows. */
static void add_stages(struct buf *out, const struct metrics *m, const struct metrics_sample *samples, size_t n)
{
	static const char threshold[] = "camserver_backpressure_threshold_ratio";
	struct backpressure_limits limits = backpressure_default_limits;
	int64_t queued;

	limits.warning_percent = 100 * told(samples, n, threshold, "warning", limits.warning_percent / 100);
	limits.overload_percent = 100 * told(samples, n, threshold, "overloaded", limits.overload_percent / 100);
	buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", "camserver_backpressure_stage",
	    "Stage of backpressure, by queue: 0 normal, 1 delays, 2 refusals.", "camserver_backpressure_stage");
	queued = pressure_gateways(m, &limits);
	if (limits.max > 0)
		add_stage(out, "gateway", &limits, queued);
	limits.max = (int64_t)told(samples, n, "camserver_queue_limit", "ingest", 0);
	if (limits.max > 0)
		add_stage(out, "ingest", &limits, (int64_t)told(samples, n, "camserver_queue_size", "ingest", 0));
}

void handle_metrics(struct api *api, struct request *r, struct answer *a)
{
	PGresult *result = NULL;
	struct metrics_sample *samples;
	const char *unknown;
	struct buf text;
	size_t n;

	(void)r;
	samples = ask(api, &result, &n);
	buf_init(&text, METRICS_TEXT_MAX);
	metrics_text(&text, api->metrics, PACKAGE_VERSION, samples, n, &unknown);
	add_stages(&text, api->metrics, samples, n);
	if (unknown != NULL)
		log_warning("the database tells of %s, which this program does not know", unknown);
	if (text.failed) {
		buf_free(&text);
		answer_error(a, "INTERNAL_ERROR");
	} else {
		answer_bytes(a, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
	}
	free(samples);
	PQclear(result);
}
