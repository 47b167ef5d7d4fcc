/* SPDX-License-Identifier: Apache-2.0
 * The last pictures of each camera, to compare the next one with. Bounded: the cameras least recently seen are
 * forgotten. Safe to use from several threads. */
#ifndef CAM_SCENES_H
#define CAM_SCENES_H

#include "analyzer/gray.h"

#include <stdint.h>

enum {
	SCENES_MAX = 1024,
	SCENES_AGE_MAX_MS = 15 * 60 * 1000, /* older pictures tell about the hour of the day, not about motion */
};

struct scenes;

struct scenes *scenes_new(void);
void scenes_free(struct scenes *s);

/* Remembers a copy of now as the camera's newest picture and returns a copy of the one before, which the caller
 * frees, or NULL if there is none that can be compared. The same captured_ms again gets the same answer, so that a
 * repeated request is judged as the first one was. camera_id is at most IDENT_MAX long. */
struct gray *scenes_exchange(struct scenes *s, const char *camera_id, int64_t captured_ms, const struct gray *now);

#endif
