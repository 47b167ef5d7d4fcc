/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/scenes.h"

#include "common/ident.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct picture {
	struct gray *gray;
	int64_t captured_ms;
};

struct scene {
	char camera_id[IDENT_MAX + 1]; /* empty: free */
	uint64_t used;
	struct picture newest, before;
};

struct scenes {
	pthread_mutex_t lock;
	uint64_t clock;
	struct scene all[SCENES_MAX];
};

struct scenes *scenes_new(void)
{
	struct scenes *s = calloc(1, sizeof *s);

	if (s != NULL)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void clear(struct scene *scene)
{
	gray_free(scene->newest.gray);
	gray_free(scene->before.gray);
	*scene = (struct scene){0};
}

void scenes_free(struct scenes *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < SCENES_MAX; i++)
		clear(&s->all[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The camera's place, or the one least recently used (free ones were never used), made empty for it. A walk over
 * all is microseconds, next to milliseconds for the picture. */
static struct scene *find(struct scenes *s, const char *camera_id)
{
	struct scene *oldest = &s->all[0];

	for (size_t i = 0; i < SCENES_MAX; i++) {
		if (strcmp(s->all[i].camera_id, camera_id) == 0)
			return &s->all[i];
		if (s->all[i].used < oldest->used)
			oldest = &s->all[i];
	}
	clear(oldest);
	strncpy(oldest->camera_id, camera_id, IDENT_MAX);
	return oldest;
}

struct gray *scenes_exchange(struct scenes *s, const char *camera_id, int64_t captured_ms, const struct gray *now)
{
	struct gray *kept = gray_copy(now), *before = NULL;
	struct scene *scene;

	if (kept == NULL)
		return NULL;
	pthread_mutex_lock(&s->lock);
	scene = find(s, camera_id);
	scene->used = ++s->clock;
	if (scene->newest.gray != NULL && scene->newest.captured_ms == captured_ms) {
		gray_free(scene->newest.gray);
	} else {
		gray_free(scene->before.gray);
		scene->before = scene->newest;
	}
	scene->newest = (struct picture){kept, captured_ms};
	if (scene->before.gray != NULL && llabs(captured_ms - scene->before.captured_ms) <= SCENES_AGE_MAX_MS)
		before = gray_copy(scene->before.gray);
	pthread_mutex_unlock(&s->lock);
	return before;
}
