/* SPDX-License-Identifier: Apache-2.0
 * The painted places of the drawn cameras, and what moves in them. */
#ifndef CAM_SCENE_PLACE_H
#define CAM_SCENE_PLACE_H

#include "ctl/canvas.h"

#include <stdbool.h>

#define PLACE_VAN_LENGTH 300.0

void place_entrance(struct canvas *c);
void place_parking(struct canvas *c);
void place_corridor(struct canvas *c);

/* Somebody at x who walks to the right (1) or the left (-1) for t seconds now. */
void place_person(struct canvas *c, double x, int direction, double t, uint32_t coat);
/* A delivery van with its middle at x. */
void place_van(struct canvas *c, double x);
/* A cloth over the lens. */
void place_cover(struct canvas *c);

#endif
