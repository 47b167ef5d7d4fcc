/* SPDX-License-Identifier: Apache-2.0
 * Callers of the gateway without HTTP: CALLERS threads ask for a permit and give it back, through the gateway's own
 * keeper, on bench1 ... benchM in turn.
 *   permit_load CALLERS SECONDS MODELS DATABASE_URL */
#include "common/log.h"
#include "fcgi/keeper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct keeper *keeper;
static long models;
static _Atomic long count, turn, refused;
static _Atomic bool stop;

static void *run(void *arg)
{
	int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct identity who = {0};
	char model[32];

	snprintf(who.session, sizeof who.session, "%032lx", (long)(intptr_t)arg);
	while (!stop) {
		struct permit_ask ask = {.who = &who, .model = model, .wait_sec = -1};
		struct permit permit;

		snprintf(model, sizeof model, "bench%ld", 1 + turn++ % models);
		permits_ask(keeper->permits, &ask, event_fd, -1, &permit);
		if (permit.granted)
			count++;
		else if (refused++ == 0 && !stop)
			fprintf(stderr, "permit_load: %s\n", json_object_to_json_string(permit.decision));
		permits_end(keeper->permits, &permit);
	}
	close(event_fd);
	return NULL;
}

int main(int argc, char **argv)
{
	long callers = argc == 5 ? atol(argv[1]) : 0;
	pthread_t *ids = calloc((size_t)callers, sizeof *ids);
	struct conf conf = {.db_timeout_ms = 5000, .ca_file = ""};
	double seconds;
	struct err e;

	if (callers <= 0) {
		fprintf(stderr, "usage: permit_load CALLERS SECONDS MODELS DATABASE_URL\n");
		return 2;
	}
	seconds = atof(argv[2]);
	models = atol(argv[3]);
	conf.database_url = argv[4];
	log_open("permit_load", LOG_LEVEL_WARNING);
	keeper = keeper_new(&conf, NULL, &e);
	if (keeper == NULL) {
		fprintf(stderr, "permit_load: %s\n", e.msg);
		return 1;
	}
	for (long i = 0; i < callers; i++)
		pthread_create(&ids[i], NULL, run, (void *)(intptr_t)i);
	usleep((useconds_t)(seconds * 2e5));
	count = 0;
	usleep((useconds_t)(seconds * 1e6));
	printf("{\"rate\": %.1f, \"refused\": %ld}\n", (double)count / seconds, refused);
	stop = true;
	for (long i = 0; i < callers; i++)
		pthread_join(ids[i], NULL);
	keeper_free(keeper);
	return 0;
}
