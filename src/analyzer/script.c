/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/script.h"

#include "analyzer/script_parse.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>

struct script_book {
	const char *path;
	pthread_mutex_t lock;
	struct script *current;
};

struct script_book *script_open(const char *path, struct err *e)
{
	struct script_book *b = calloc(1, sizeof *b);

	if (b == NULL) {
		err_set(e, "out of memory");
		return NULL;
	}
	b->path = path;
	b->current = script_parse_file(path, e);
	if (b->current == NULL) {
		free(b);
		return NULL;
	}
	b->current->refs = 1;
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

/* Called with the lock. A script lives as long as a request uses one of its rules. */
static void unref(struct script *s)
{
	if (--s->refs == 0)
		script_parse_free(s);
}

void script_close(struct script_book *b)
{
	if (b == NULL)
		return;
	unref(b->current);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

int script_reload(struct script_book *b, struct err *e)
{
	struct script *s = script_parse_file(b->path, e);

	if (s == NULL)
		return -1;
	s->refs = 1;
	pthread_mutex_lock(&b->lock);
	unref(b->current);
	b->current = s;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static bool glob_matches(const char *glob, const char *text)
{
	return glob == NULL || fnmatch(glob, text, 0) == 0;
}

/* Counts the request for this rule; true if the rule is to be used. */
static bool use(struct script_rule *r, const char *method, const char *path, const char *camera_id)
{
	if (!glob_matches(r->method, method) || !glob_matches(r->path, path) || !glob_matches(r->camera_id, camera_id))
		return false;
	if (r->seen++ < r->after || (r->times > 0 && r->used >= r->times))
		return false;
	r->used++;
	return true;
}

const struct script_rule *script_take(
    struct script_book *b, const char *method, const char *path, const char *camera_id)
{
	const struct script_rule *found = NULL;

	if (b == NULL)
		return NULL;
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->current->n && found == NULL; i++)
		if (use(&b->current->rules[i], method, path, camera_id))
			found = &b->current->rules[i];
	if (found != NULL)
		b->current->refs++;
	pthread_mutex_unlock(&b->lock);
	return found;
}

void script_drop(struct script_book *b, const struct script_rule *rule)
{
	if (rule == NULL)
		return;
	pthread_mutex_lock(&b->lock);
	unref(rule->script);
	pthread_mutex_unlock(&b->lock);
}

bool script_replaces(const struct script_rule *rule)
{
	return rule->hang || rule->close || rule->status != 0;
}
