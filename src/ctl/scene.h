/* SPDX-License-Identifier: Apache-2.0
 * Drawn cameras for demonstrations and tests: what a camera of a kind sees at a time in seconds. The same question
 * always gets the same picture. Things happen in a cycle with a calm end that is longer than events are merged over,
 * so that each cycle makes events of its own; all things begin and end between whole seconds, so that one frame a
 * second sees them whole. Pure: no clock, no I/O. */
#ifndef CAM_SCENE_H
#define CAM_SCENE_H

#include <stddef.h>
#include <stdint.h>

enum { SCENE_WIDTH = 640, SCENE_HEIGHT = 360, SCENE_BYTES = SCENE_WIDTH * SCENE_HEIGHT * 3 };

enum scene_kind { SCENE_ENTRANCE, SCENE_PARKING, SCENE_CORRIDOR, SCENE_KINDS };

enum scene_sight {
	SCENE_QUIET,   /* nothing but the place */
	SCENE_PERSON,  /* somebody walks through */
	SCENE_CAR,     /* a van drives in, waits, and drives on */
	SCENE_DARK,    /* the light is gone */
	SCENE_COVERED, /* something lies on the lens */
};

struct scene;

/* "entrance", "parking", "2f". */
const char *scene_name(enum scene_kind kind);
/* -1 if no kind has that name. */
int scene_find(const char *name);

/* Draws the unmoving part once. NULL: out of memory. scene_free() accepts NULL. */
struct scene *scene_new(enum scene_kind kind);
void scene_free(struct scene *s);
/* RGB, row by row. at is not negative. */
void scene_draw(struct scene *s, double at, uint8_t ret_rgb[SCENE_BYTES]);

enum scene_sight scene_sight(enum scene_kind kind, double at);
/* Length of the kind's cycle in seconds. */
double scene_cycle_sec(enum scene_kind kind);

#endif
