/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/scene.h"

#include "ctl/canvas.h"
#include "ctl/scene_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 2, ACTS_MAX = 4 };
#define DARK_LIGHT 0.07

/* From one second of the cycle to another something is to be seen. */
struct act {
	double from, to;
	enum scene_sight sight;
};

static const struct {
	const char *name;
	void (*draw)(struct canvas *c);
	double cycle_sec;
	struct act acts[ACTS_MAX];
} kinds[SCENE_KINDS] = {
    [SCENE_ENTRANCE] = {"entrance", place_entrance, 200,
	{{6, 16, SCENE_PERSON}, {28, 38, SCENE_PERSON}, {52, 62, SCENE_PERSON}}},
    [SCENE_PARKING] = {"parking", place_parking, 210, {{14, 27, SCENE_CAR}, {44, 59, SCENE_DARK}, {74, 87, SCENE_CAR}}},
    [SCENE_CORRIDOR] = {"2f", place_corridor, 180, {{30, 45, SCENE_COVERED}}},
};

struct scene {
	enum scene_kind kind;
	struct canvas *place, *picture;
};

const char *scene_name(enum scene_kind kind)
{
	return kinds[kind].name;
}

int scene_find(const char *name)
{
	for (int i = 0; i < SCENE_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return -1;
}

double scene_cycle_sec(enum scene_kind kind)
{
	return kinds[kind].cycle_sec;
}

/* The act at that time, or NULL; ret_index tells which of the cycle it is. */
static const struct act *act_at(enum scene_kind kind, double second, int *ret_index)
{
	for (int i = 0; i < ACTS_MAX; i++) {
		const struct act *a = &kinds[kind].acts[i];

		if (second >= a->from && second < a->to) {
			*ret_index = i;
			return a;
		}
	}
	return NULL;
}

enum scene_sight scene_sight(enum scene_kind kind, double at)
{
	int index;
	const struct act *a = act_at(kind, fmod(at, kinds[kind].cycle_sec), &index);

	return a != NULL ? a->sight : SCENE_QUIET;
}

struct scene *scene_new(enum scene_kind kind)
{
	struct scene *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->kind = kind;
	s->place = canvas_new(SCENE_WIDTH, SCENE_HEIGHT);
	s->picture = canvas_new(SCENE_WIDTH, SCENE_HEIGHT);
	if (s->place == NULL || s->picture == NULL) {
		scene_free(s);
		return NULL;
	}
	kinds[kind].draw(s->place);
	return s;
}

void scene_free(struct scene *s)
{
	if (s == NULL)
		return;
	canvas_free(s->place);
	canvas_free(s->picture);
	free(s);
}

/* Dusk: half of the light goes slowly, as clouds would take it, the rest at once; and back. */
static double light_at(enum scene_kind kind, double second)
{
	const double slow = 5, half = 0.5;
	double light = 1;

	for (int i = 0; i < ACTS_MAX; i++) {
		const struct act *a = &kinds[kind].acts[i];

		if (a->sight != SCENE_DARK)
			continue;
		if (second >= a->from && second < a->to)
			return DARK_LIGHT;
		if (second >= a->from - slow && second < a->from)
			light = 1 - (1 - half) * (second - a->from + slow) / slow;
		if (second >= a->to && second < a->to + slow)
			light = half + (1 - half) * (second - a->to) / slow;
	}
	return light;
}

/* Every other visitor comes from the other side, in another coat. */
static void draw_person(struct canvas *c, const struct act *a, int index, double second)
{
	static const uint32_t coats[] = {0x27324a, 0x6b2226, 0x2b4a35};
	const double margin = 45;
	double way = (second - a->from) / (a->to - a->from) * (SCENE_WIDTH + 2 * margin) - margin;

	place_person(
	    c, index % 2 == 0 ? way : SCENE_WIDTH - way, index % 2 == 0 ? 1 : -1, second - a->from, coats[index % 3]);
}

/* Where the van's middle is, seconds after it came: in quickly, a stop, and out. */
static double van_x(double t)
{
	static const struct {
		double t, x;
	} way[] = {{0, -170}, {1, 150}, {2, 205}, {3, 262}, {4, 320}, {8, 320}, {9, 378}, {10, 440}, {11, 490},
	    {12, 660}, {13, 900}};
	size_t i = 1;

	while (i + 1 < sizeof way / sizeof *way && t > way[i].t)
		i++;
	return way[i - 1].x + (way[i].x - way[i - 1].x) * (t - way[i - 1].t) / (way[i].t - way[i - 1].t);
}

/* A sliver of a van at the rim is as tall as a person and would be taken for one. */
static bool van_in_view(double x)
{
	double left = fmax(0, x - PLACE_VAN_LENGTH / 2), right = fmin(SCENE_WIDTH, x + PLACE_VAN_LENGTH / 2);

	return right - left >= 0.72 * PLACE_VAN_LENGTH;
}

static void draw_act(struct canvas *c, const struct act *a, int index, double second)
{
	double x = van_x(second - a->from);

	if (a->sight == SCENE_PERSON)
		draw_person(c, a, index, second);
	else if (a->sight == SCENE_CAR && van_in_view(x))
		place_van(c, x);
	else if (a->sight == SCENE_COVERED)
		place_cover(c);
}

void scene_draw(struct scene *s, double at, uint8_t ret_rgb[SCENE_BYTES])
{
	double second = fmod(at, kinds[s->kind].cycle_sec);
	int index = 0;
	const struct act *a = act_at(s->kind, second, &index);

	canvas_copy(s->picture, s->place);
	if (a != NULL)
		draw_act(s->picture, a, index, second);
	canvas_render(s->picture, light_at(s->kind, second), NOISE,
	    canvas_hash((uint32_t)s->kind, (uint32_t)(at * 1000), 7), ret_rgb);
}
