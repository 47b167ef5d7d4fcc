/* SPDX-License-Identifier: Apache-2.0
 * camctl limits simulate: the recorded calls of the last hours against a proposed configuration. */
#include "common/json.h"
#include "ctl/ctl.h"
#include "policy/limit_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 256 };

struct bucket {
	struct bucket *next;
	char key[KEY_MAX];
	struct limit_sim *sim;
};

struct tally {
	struct tally *next;
	char model[KEY_MAX];
	long calls, refused, delayed, refused_then, delayed_then;
	double wait_sum_ms, wait_max_ms;
};

static struct bucket *find_bucket(struct bucket **list, struct json_object *limit)
{
	const char *key = json_object_get_string(json_object_array_get_idx(limit, 0));
	struct bucket *b;

	for (b = *list; b != NULL; b = b->next)
		if (strcmp(b->key, key) == 0)
			return b;
	b = calloc(1, sizeof *b);
	if (b == NULL)
		return NULL;
	snprintf(b->key, sizeof b->key, "%s", key);
	b->sim = limit_sim_new(json_object_get_int64(json_object_array_get_idx(limit, 1)),
	    json_object_get_int64(json_object_array_get_idx(limit, 2)) * 1000,
	    json_object_get_int64(json_object_array_get_idx(limit, 3)));
	b->next = *list;
	*list = b;
	return b->sim != NULL ? b : NULL;
}

static struct tally *find_tally(struct tally **list, const char *model)
{
	for (; *list != NULL; list = &(*list)->next)
		if (strcmp((*list)->model, model) == 0)
			return *list;
	*list = calloc(1, sizeof **list);
	if (*list != NULL)
		snprintf((*list)->model, KEY_MAX, "%s", model);
	return *list;
}

static int replay_row(PGresult *rows, int i, int64_t wait_us, struct bucket **buckets, struct tally *t)
{
	struct json_object *limits = json_tokener_parse(PQgetvalue(rows, i, 5));
	struct limit_sim *sims[LIMIT_SIM_LEVELS];
	int64_t asked = strtoll(PQgetvalue(rows, i, 1), NULL, 10), at;
	const char *was = PQgetvalue(rows, i, 3);
	int n = 0;

	for (; n < LIMIT_SIM_LEVELS && n < (int)json_object_array_length(limits); n++) {
		struct bucket *b = find_bucket(buckets, json_object_array_get_idx(limits, (size_t)n));

		if (b == NULL)
			return -1;
		sims[n] = b->sim;
	}
	json_object_put(limits);
	at = limit_sim_call(sims, n, asked, strtoll(PQgetvalue(rows, i, 2), NULL, 10), wait_us);
	t->calls++;
	t->refused_then += strcmp(was, "refused") == 0 || strcmp(was, "deadline") == 0;
	t->delayed_then += strcmp(was, "released") == 0 && atoll(PQgetvalue(rows, i, 4)) > 0;
	t->refused += at < 0;
	t->delayed += at > asked;
	if (at > asked) {
		double ms = (double)(at - asked) / 1000;

		t->wait_sum_ms += ms;
		t->wait_max_ms = ms > t->wait_max_ms ? ms : t->wait_max_ms;
	}
	return 0;
}

static void print_tally(const struct tally *list, bool json)
{
	const char *comma = "";

	if (json)
		printf("[");
	else
		printf("%-32s %8s  %-22s %-22s %12s %12s\n", "model", "calls", "refused (it was)", "delayed (it was)",
		    "mean wait ms", "max wait ms");
	for (const struct tally *t = list; t != NULL; t = t->next) {
		double mean = t->delayed > 0 ? t->wait_sum_ms / (double)t->delayed : 0;

		if (json)
			printf("%s{\"model\":\"%s\",\"calls\":%ld,\"refused\":%ld,\"refused_then\":%ld,\"delayed\":%ld,"
			       "\"delayed_then\":%ld,\"mean_wait_ms\":%.0f,\"max_wait_ms\":%.0f}",
			    comma, t->model, t->calls, t->refused, t->refused_then, t->delayed, t->delayed_then, mean,
			    t->wait_max_ms);
		else
			printf("%-32s %8ld  %8ld (%8ld)    %8ld (%8ld)    %12.0f %12.0f\n", t->model, t->calls,
			    t->refused, t->refused_then, t->delayed, t->delayed_then, mean, t->wait_max_ms);
		comma = ",";
	}
	printf(json ? "]\n" : "");
}

static int replay(struct ctl *ctl, const char *config, double hours)
{
	char hours_text[32];
	PGresult *rows = NULL, *wait = NULL;
	struct bucket *buckets = NULL;
	struct tally *tallies = NULL;
	int status = EXIT_FAILURE;

	snprintf(hours_text, sizeof hours_text, "%g", hours);
	if (ctl_query(ctl, "SELECT * FROM camserver.limits_replay($1::jsonb, $2::numeric)", 2,
		(const char *[]){config, hours_text}, &rows) < 0 ||
	    ctl_query(ctl, "SELECT camserver.setting_number('permit_wait_sec')", 0, NULL, &wait) < 0)
		goto out;
	for (int i = 0; i < PQntuples(rows); i++) {
		struct tally *t = find_tally(&tallies, PQgetvalue(rows, i, 0));

		if (t == NULL || replay_row(rows, i, atoll(PQgetvalue(wait, 0, 0)) * 1000000, &buckets, t) < 0) {
			fprintf(stderr, "camctl: out of memory\n");
			goto out;
		}
	}
	print_tally(tallies, ctl->json);
	status = EXIT_SUCCESS;
out:
	for (struct bucket *b = buckets, *next; b != NULL; b = next) {
		next = b->next;
		limit_sim_free(b->sim);
		free(b);
	}
	for (struct tally *t = tallies, *next; t != NULL; t = next) {
		next = t->next;
		free(t);
	}
	PQclear(rows);
	PQclear(wait);
	return status;
}

int ctl_limits_simulate(struct ctl *ctl)
{
	double hours;
	char *config;
	int status;

	if (ctl_number(ctl, "--hours", 1, 0.001, 8760, &hours) < 0 || ctl_left(ctl, 1) < 0)
		return EXIT_FAILURE;
	config = ctl_limits_read(ctl->argv[0]);
	status = config != NULL ? replay(ctl, config, hours) : EXIT_FAILURE;
	free(config);
	return status;
}
