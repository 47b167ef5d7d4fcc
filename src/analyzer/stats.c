/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/stats.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct stats {
	pthread_mutex_t lock;
	int64_t connections, total, analyze, put_schema, unanswered;
	int64_t concurrent, max_concurrent; /* analyze requests */
	int64_t by_status[STATS_STATUS_MAX];
};

struct stats *stats_new(void)
{
	struct stats *s = calloc(1, sizeof *s);

	if (s != NULL)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void stats_free(struct stats *s)
{
	if (s == NULL)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void stats_connection(struct stats *s)
{
	pthread_mutex_lock(&s->lock);
	s->connections++;
	pthread_mutex_unlock(&s->lock);
}

void stats_begin(struct stats *s, enum stats_kind kind)
{
	pthread_mutex_lock(&s->lock);
	s->total++;
	s->put_schema += kind == STATS_PUT_SCHEMA;
	if (kind == STATS_ANALYZE) {
		s->analyze++;
		s->concurrent++;
		if (s->concurrent > s->max_concurrent)
			s->max_concurrent = s->concurrent;
	}
	pthread_mutex_unlock(&s->lock);
}

void stats_end(struct stats *s, enum stats_kind kind, unsigned status)
{
	pthread_mutex_lock(&s->lock);
	if (kind == STATS_ANALYZE)
		s->concurrent--;
	if (status > 0 && status < STATS_STATUS_MAX)
		s->by_status[status]++;
	else
		s->unanswered++;
	pthread_mutex_unlock(&s->lock);
}

static void add(struct json_object *obj, const char *name, int64_t value)
{
	json_object_object_add(obj, name, json_object_new_int64(value));
}

static struct json_object *statuses(const struct stats *s)
{
	struct json_object *obj = json_object_new_object();
	char name[16];

	for (int i = 0; i < STATS_STATUS_MAX; i++) {
		if (s->by_status[i] == 0)
			continue;
		snprintf(name, sizeof name, "%d", i);
		add(obj, name, s->by_status[i]);
	}
	return obj;
}

struct json_object *stats_json(struct stats *s)
{
	struct json_object *obj = json_object_new_object();
	struct stats now;

	if (obj == NULL)
		return NULL;
	pthread_mutex_lock(&s->lock);
	now = *s;
	pthread_mutex_unlock(&s->lock);
	add(obj, "total", now.total);
	add(obj, "analyze", now.analyze);
	add(obj, "put_schema", now.put_schema);
	add(obj, "unanswered", now.unanswered);
	add(obj, "concurrent", now.concurrent);
	add(obj, "max_concurrent", now.max_concurrent);
	add(obj, "connections_opened", now.connections);
	json_object_object_add(obj, "by_status", statuses(&now));
	return obj;
}
