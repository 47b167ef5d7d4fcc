/* SPDX-License-Identifier: Apache-2.0
 * The drawn cameras: the same picture for the same time, things where the timetable says, and what the vision of
 * cam-analyzer makes of them at one frame a second. */
#include "analyzer/motion.h"
#include "analyzer/verdict.h"
#include "analyzer/vision.h"
#include "ctl/scene.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_ACT_SEC = 90 }; /* the rest of each cycle is quiet */

static uint8_t rgb[SCENE_BYTES], other[SCENE_BYTES];

static struct scene *scene(enum scene_kind kind)
{
	struct scene *s = scene_new(kind);

	assert_non_null(s);
	return s;
}

/* As a decoder would give it, half the size. */
static struct gray *look(struct scene *s, double at)
{
	struct gray *g = gray_new(SCENE_WIDTH, SCENE_HEIGHT), *small;

	assert_non_null(g);
	scene_draw(s, at, rgb);
	for (int i = 0; i < SCENE_WIDTH * SCENE_HEIGHT; i++)
		g->px[i] = (uint8_t)((77 * rgb[3 * i] + 151 * rgb[3 * i + 1] + 28 * rgb[3 * i + 2]) / 256);
	small = gray_shrink(g, VISION_SIDE);
	assert_non_null(small);
	gray_free(g);
	return small;
}

static struct vision_metrics measure(struct scene *s, double at)
{
	struct gray *g = look(s, at);
	struct vision_metrics m;

	vision_measure(g, &m);
	gray_free(g);
	return m;
}

/* What cam-analyzer keeps of a picture. */
struct memory {
	struct gray *coarse;
	bool usable;
};

/* What cam-analyzer says to a picture; the memory goes from the one before to this one. */
static struct verdict judge(struct scene *s, double at, struct memory *memory)
{
	struct gray *g = look(s, at), *coarse = gray_shrink(g, MOTION_SIDE);
	struct vision_metrics m;
	struct vision_issues issues;
	struct motion motion;
	struct verdict v;
	bool compared;

	vision_measure(g, &m);
	issues = vision_judge(&m);
	compared = memory->usable && vision_usable(issues) && motion_compare(memory->coarse, coarse, &motion);
	verdict_make(issues, compared ? &motion : NULL, coarse->width, coarse->height, &v);
	gray_free(g);
	gray_free(memory->coarse);
	*memory = (struct memory){coarse, vision_usable(issues)};
	return v;
}

/* Pixels that differ clearly between two times, as a share of all. */
static double changed(struct scene *s, double one, double two)
{
	long n = 0;

	scene_draw(s, one, rgb);
	scene_draw(s, two, other);
	for (int i = 0; i < SCENE_BYTES; i++)
		n += abs(rgb[i] - other[i]) > 20;
	return (double)n / SCENE_BYTES;
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < SCENE_KINDS; i++)
		assert_int_equal(scene_find(scene_name((enum scene_kind)i)), i);
	assert_int_equal(scene_find("attic"), -1);
	scene_free(NULL);
}

static void test_the_same_time_gives_the_same_picture(void **state)
{
	(void)state;
	for (int i = 0; i < SCENE_KINDS; i++) {
		struct scene *a = scene((enum scene_kind)i), *b = scene((enum scene_kind)i);

		for (double at = 0; at < scene_cycle_sec((enum scene_kind)i); at += 17.3) {
			scene_draw(a, at, rgb);
			scene_draw(b, at, other);
			assert_memory_equal(rgb, other, SCENE_BYTES);
		}
		scene_draw(a, 1, rgb);
		scene_draw(a, 2, other);
		assert_memory_not_equal(rgb, other, SCENE_BYTES); /* the noise of a live camera */
		scene_free(a);
		scene_free(b);
	}
}

static void test_things_are_there_when_due_and_not_otherwise(void **state)
{
	struct scene *entrance = scene(SCENE_ENTRANCE), *parking = scene(SCENE_PARKING);

	(void)state;
	assert_int_equal(scene_sight(SCENE_ENTRANCE, 5.9), SCENE_QUIET);
	assert_int_equal(scene_sight(SCENE_ENTRANCE, 6), SCENE_PERSON);
	assert_int_equal(scene_sight(SCENE_ENTRANCE, 16), SCENE_QUIET);
	assert_int_equal(scene_sight(SCENE_ENTRANCE, 6 + scene_cycle_sec(SCENE_ENTRANCE)), SCENE_PERSON);
	assert_int_equal(scene_sight(SCENE_PARKING, 20), SCENE_CAR);
	assert_int_equal(scene_sight(SCENE_PARKING, 50), SCENE_DARK);
	assert_int_equal(scene_sight(SCENE_CORRIDOR, 40), SCENE_COVERED);
	assert_true(changed(entrance, 1, 11) > 0.02);
	assert_true(changed(entrance, 1, 20) == 0);
	assert_true(changed(entrance, 1, 150) == 0);
	assert_true(changed(parking, 1, 20) > 0.05);
	assert_true(changed(parking, 1, 30) == 0);
	scene_free(entrance);
	scene_free(parking);
}

static void test_dark_and_covered(void **state)
{
	struct scene *parking = scene(SCENE_PARKING), *corridor = scene(SCENE_CORRIDOR);

	(void)state;
	assert_true(measure(parking, 10).brightness > 80);
	assert_true(measure(parking, 50).brightness < 0.7 * VISION_DARK_BRIGHTNESS);
	assert_true(measure(parking, 70).brightness > 80);
	assert_true(measure(corridor, 10).contrast > 2 * VISION_OCCLUDED_CONTRAST);
	assert_true(measure(corridor, 40).contrast < 0.7 * VISION_OCCLUDED_CONTRAST);
	assert_true(measure(corridor, 40).brightness > 2 * VISION_DARK_BRIGHTNESS);
	scene_free(parking);
	scene_free(corridor);
}

/* Never anything but what is there, and each act is recognised. */
static void test_the_analyzer_sees_what_is_drawn(void **state)
{
	static const char *const events[] = {
	    [SCENE_QUIET] = "none",
	    [SCENE_PERSON] = "human",
	    [SCENE_CAR] = "vehicle",
	    [SCENE_DARK] = "camera_issue",
	    [SCENE_COVERED] = "camera_issue",
	};
	int seen[SCENE_COVERED + 1] = {0};

	(void)state;
	for (int i = 0; i < SCENE_KINDS; i++) {
		enum scene_kind kind = (enum scene_kind)i;
		struct scene *s = scene(kind);
		struct memory memory = {NULL, false};

		(void)judge(s, 0, &memory);
		for (int at = 1; at < LAST_ACT_SEC; at++) {
			/* What went away between two pictures is seen in the second one. */
			enum scene_sight now = scene_sight(kind, at), before = scene_sight(kind, at - 1);
			enum scene_sight sight =
			    now == SCENE_QUIET && (before == SCENE_PERSON || before == SCENE_CAR) ? before : now;
			struct verdict v = judge(s, at, &memory);
			bool issue = sight == SCENE_DARK || sight == SCENE_COVERED;

			if (issue || v.detected)
				assert_string_equal(v.primary_event, events[sight]);
			if (issue)
				assert_string_equal(v.tags[0], sight == SCENE_DARK ? "camera.dark" : "camera.occluded");
			seen[sight] += v.detected;
		}
		gray_free(memory.coarse);
		scene_free(s);
	}
	assert_int_equal(seen[SCENE_QUIET], 0);
	assert_true(seen[SCENE_PERSON] >= 24 && seen[SCENE_CAR] >= 12);
	assert_true(seen[SCENE_DARK] == 15 && seen[SCENE_COVERED] == 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_the_same_time_gives_the_same_picture),
	    cmocka_unit_test(test_things_are_there_when_due_and_not_otherwise),
	    cmocka_unit_test(test_dark_and_covered),
	    cmocka_unit_test(test_the_analyzer_sees_what_is_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
