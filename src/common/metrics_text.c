/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct line {
	const char *name, *labels, *help;
};

static const struct line counters[METRIC_COUNT] = {
#define X(id, key, name, labels, help) [METRIC_##id] = {(name), (labels), (help)},
    METRICS(X)
#undef X
};

static const struct line histograms[HISTOGRAM_COUNT] = {
#define X(id, key, name, labels, help) [HISTOGRAM_##id] = {(name), (labels), (help)},
    METRIC_HISTOGRAMS(X)
#undef X
};

static const struct line gauges[GAUGE_COUNT] = {
#define X(id, name, labels, help) [GAUGE_##id] = {(name), (labels), (help)},
    METRIC_GAUGES(X)
#undef X
};

static const char *const routes[ROUTE_COUNT] = {
#define X(id, name) [ROUTE_##id] = (name),
    METRIC_ROUTES(X)
#undef X
};

/* What metrics_snapshot() tells besides more of the gauges above. */
static const struct {
	const char *name, *type, *help;
} told[] = {
    {"camserver_schema_version", "gauge", "The newest migration that the database has had."},
    {"camserver_stream_units", "gauge", "Units of a stream server in all."},
    {"camserver_stream_units_budget", "gauge", "Units of a stream server that leases may use now."},
    {"camserver_stream_units_used", "gauge", "Units of a stream server that leases use."},
    {"camserver_leases_active", "gauge", "Stream leases, by stream server."},
    {"camserver_host_level", "gauge", "Health of a host: 0 normal, 1 warning, 2 overload, 3 no fresh sample."},
    {"camserver_host_cpu_ratio", "gauge", "CPU use of a host."},
    {"camserver_host_memory_ratio", "gauge", "Memory use of a host."},
    {"camserver_host_swap_bytes", "gauge", "Swap use of a host."},
    {"camserver_host_sample_age_seconds", "gauge", "Age of a host's last sample."},
    {"camserver_ui_users", "gauge", "People who look at the console."},
    {"camserver_suggest_active", "gauge", "Whether a camera is suggested to everybody."},
    {"camserver_backpressure_threshold_ratio", "gauge", "Load from which a stage of backpressure begins."},
    {"camserver_dispatchers", "gauge", "Dispatchers that live."},
    {"camserver_managers", "gauge", "Managers of worker hosts that live."},
    {"camserver_events_open", "gauge", "Events that go on."},
    {"camserver_jobs", "gauge", "Jobs by kind and state, counted to 100000 of a state at most."},
    {"camserver_job_oldest_age_seconds", "gauge",
	"Age of the oldest job by kind and state: since it was made, running since it was claimed, dead since its "
	"end."},
    {"camserver_permits_held", "gauge", "Permits for model calls that are held."},
    {"camserver_permit_oldest_wait_seconds", "gauge", "How long the first of those who wait for a permit has waited."},
    {"camserver_model_running", "gauge", "Calls of a model that run."},
    {"camserver_model_waiting", "gauge", "Calls of a model that wait for a permit."},
    {"camserver_model_tokens", "gauge", "Tokens that a model's bucket has."},
    {"camserver_model_tokens_limit", "gauge", "Tokens that a model's bucket holds."},
    {"camserver_pool_workers", "gauge", "Workers of a pool, by state."},
    {"camserver_pool_capacity", "gauge", "Workers that a pool may have."},
    {"camserver_pool_waiting", "gauge", "Calls that wait for a worker of a pool."},
    {"camserver_pool_starts_total", "counter", "Starts of a pool's workers, by outcome."},
    {"camserver_pool_cold_starts_total", "counter", "Calls that were given a worker nobody had used before."},
    {"camserver_pool_evictions_total", "counter", "Workers of a pool that were lost while in use."},
    {"camserver_pool_failed_starts_streak", "gauge", "Starts of a pool's workers that failed in a row."},
    {"camserver_node_state", "gauge", "State of an inference node: 0 up, 1 unknown, 2 draining, 3 ejected."},
    {"camserver_node_inflight", "gauge", "Calls that an inference node has under way."},
    {"camserver_node_inflight_limit", "gauge", "Calls that an inference node may have under way."},
    {"camserver_node_latency_seconds", "gauge", "Smoothed duration of an inference node's calls."},
    {"camserver_sweep_late_seconds", "gauge", "How long periodic work is overdue."},
    {"camserver_sweep_failing", "gauge", "Whether the last run of periodic work failed."},
    {"camserver_notifications", "gauge",
	"Notifications that wait, and those that were decided in the last hour, by state."},
    {"camserver_llm_reviews", "gauge", "Questions to the language model of the last day, by outcome."},
    {"camserver_camera_frame_age_seconds", "gauge", "Age of a camera's newest frame."},
};

enum { TOLD = sizeof told / sizeof *told };

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add(struct buf *out, const char *text)
{
	buf_append(out, text, strlen(text));
}

static void label(struct buf *out, const char *name, const char *value)
{
	add(out, name);
	add(out, "=\"");
	for (;;) {
		size_t plain = strcspn(value, "\n\"\\");

		buf_append(out, value, plain);
		value += plain;
		if (*value == '\0')
			break;
		add(out, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
		value++;
	}
	add(out, "\"");
}

static void one_told(struct buf *out, const struct metrics_sample *s)
{
	bool labelled = s->labels[0].name != NULL || s->labels[1].name != NULL;

	add(out, s->name);
	add(out, labelled ? "{" : "");
	for (int i = 0; i < METRICS_SAMPLE_LABELS; i++) {
		if (s->labels[i].name == NULL || s->labels[i].value == NULL)
			continue;
		if (i > 0 && s->labels[0].name != NULL)
			add(out, ",");
		label(out, s->labels[i].name, s->labels[i].value);
	}
	add(out, labelled ? "} " : " ");
	add(out, s->value);
	add(out, "\n");
}

/* There are thousands of samples of a few dozen names that begin alike, so most comparisons end with the length. */
static bool is_of(const struct metrics_sample *s, const char *name, size_t len)
{
	return s->name_len == len && memcmp(s->name, name, len) == 0;
}

static void all_told(struct buf *out, const char *name, const struct metrics_sample *samples, size_t n)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (is_of(&samples[i], name, len))
			one_told(out, &samples[i]);
}

static void print_counters(struct buf *out, const struct metrics *m)
{
	for (int i = 0; i < METRIC_COUNT; i++) {
		const struct line *c = &counters[i];

		if (i == 0 || strcmp(c->name, counters[i - 1].name) != 0)
			head(out, c->name, "counter", c->help);
		buf_printf(out, *c->labels != '\0' ? "%s{%s} %" PRIu64 "\n" : "%s%s %" PRIu64 "\n", c->name, c->labels,
		    metrics_get(m, (enum metric)i));
	}
}

static void print_histogram(struct buf *out, const char *name, const char *labels, const struct metrics_histogram *h)
{
	const char *comma = *labels != '\0' ? "," : "";
	uint64_t count = 0;

	for (int i = 0; i < METRICS_BUCKETS; i++) {
		count += h->counts[i];
		buf_printf(out, "%s_bucket{%s%sle=\"%.10g\"} %" PRIu64 "\n", name, labels, comma,
		    (double)metrics_bounds_us[i] / 1e6, count);
	}
	count += h->counts[METRICS_BUCKETS];
	buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, count);
	buf_printf(
	    out, *labels != '\0' ? "%s_sum{%s} %.6f\n" : "%s_sum%s %.6f\n", name, labels, (double)h->sum_us / 1e6);
	buf_printf(
	    out, *labels != '\0' ? "%s_count{%s} %" PRIu64 "\n" : "%s_count%s %" PRIu64 "\n", name, labels, count);
}

static bool is_empty(const struct metrics_histogram *h)
{
	for (int i = 0; i <= METRICS_BUCKETS; i++)
		if (h->counts[i] > 0)
			return false;
	return true;
}

static void print_requests(struct buf *out, const struct metrics *m)
{
	static const char name[] = "camserver_request_duration_seconds";
	struct metrics_histogram h;
	char labels[64];

	head(out, name, "histogram", "Duration of HTTP requests, by what they were about and class of status.");
	for (int route = 0; route < ROUTE_COUNT; route++)
		for (unsigned class = 0; class < METRICS_STATUS_CLASSES; class ++) {
			snprintf(labels, sizeof labels, "route=\"%s\",status=\"%uxx\"", routes[route], class + 2);
			metrics_read_requests(m, (enum metric_route)route, class, &h);
			if (!is_empty(&h)) /* most of them are, and would be most of the text */
				print_histogram(out, name, labels, &h);
		}
}

static void print_histograms(struct buf *out, const struct metrics *m)
{
	struct metrics_histogram h;

	for (int i = 0; i < HISTOGRAM_COUNT; i++) {
		const struct line *c = &histograms[i];

		if (i == 0 || strcmp(c->name, histograms[i - 1].name) != 0)
			head(out, c->name, "histogram", c->help);
		metrics_read(m, (enum metric_histogram)i, &h);
		print_histogram(out, c->name, c->labels, &h);
	}
}

/* --- processes and their gauges */

enum { PROGRAMS_MAX = 16 };

struct processes {
	struct {
		char name[METRICS_PROGRAM_MAX];
		unsigned count;
	} programs[PROGRAMS_MAX];
	int64_t sums[GAUGE_COUNT];
};

static void visit(void *arg, const char *program, const int64_t values[GAUGE_COUNT])
{
	struct processes *p = arg;
	int i = 0;

	for (int g = 0; g < GAUGE_COUNT; g++)
		p->sums[g] += values[g];
	while (i < PROGRAMS_MAX - 1 && p->programs[i].count > 0 && strcmp(p->programs[i].name, program) != 0)
		i++;
	if (p->programs[i].count++ == 0)
		snprintf(p->programs[i].name, METRICS_PROGRAM_MAX, "%s", program);
}

static void print_processes(struct buf *out, const struct metrics *m, const struct metrics_sample *samples, size_t n)
{
	struct processes p = {0};

	metrics_processes(m, visit, &p);
	head(out, "camserver_processes", "gauge", "Processes of this host that live, by program.");
	for (int i = 0; i < PROGRAMS_MAX && p.programs[i].count > 0; i++)
		buf_printf(out, "camserver_processes{program=\"%s\"} %u\n", p.programs[i].name, p.programs[i].count);
	for (int g = 0; g < GAUGE_COUNT; g++) {
		const struct line *c = &gauges[g];

		head(out, c->name, "gauge", c->help);
		buf_printf(out, *c->labels != '\0' ? "%s{%s} %" PRId64 "\n" : "%s%s %" PRId64 "\n", c->name, c->labels,
		    p.sums[g]);
		all_told(out, c->name, samples, n);
	}
}

/* --- */

static bool is_known(const struct metrics_sample *s)
{
	for (int g = 0; g < GAUGE_COUNT; g++)
		if (is_of(s, gauges[g].name, strlen(gauges[g].name)))
			return true;
	for (size_t i = 0; i < TOLD; i++)
		if (is_of(s, told[i].name, strlen(told[i].name)))
			return true;
	return false;
}

void metrics_text(struct buf *out, const struct metrics *m, const char *version, const struct metrics_sample *samples,
    size_t n, const char **ret_unknown)
{
	head(out, "camserver_build_info", "gauge", "The version that answers.");
	buf_printf(out, "camserver_build_info{version=\"%s\"} 1\n", version);
	head(out, "camserver_database_up", "gauge", "Whether the database answered this very request.");
	buf_printf(out, "camserver_database_up %d\n", n > 0 ? 1 : 0);
	print_counters(out, m);
	print_requests(out, m);
	print_histograms(out, m);
	print_processes(out, m, samples, n);
	for (size_t i = 0; i < TOLD; i++) {
		size_t before = out->len, first;

		head(out, told[i].name, told[i].type, told[i].help);
		first = out->len;
		all_told(out, told[i].name, samples, n);
		if (out->len == first) { /* nothing to tell, nothing to explain */
			out->len = before;
			out->data[before] = '\0';
		}
	}
	*ret_unknown = NULL;
	for (size_t i = 0; i < n && *ret_unknown == NULL; i++)
		if (!is_known(&samples[i]))
			*ret_unknown = samples[i].name;
}
