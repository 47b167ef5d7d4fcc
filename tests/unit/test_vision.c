/* SPDX-License-Identifier: Apache-2.0
 * The vision of cam-analyzer on painted pictures. */
#include "analyzer/motion.h"
#include "analyzer/verdict.h"
#include "analyzer/vision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 160, HEIGHT = 90 };

static unsigned seed;

static int dice(int sides)
{
	seed = seed * 1103515245u + 12345u;
	return (int)(seed >> 16) % sides;
}

static uint8_t *pixel(struct gray *g, int x, int y)
{
	return &g->px[y * g->width + x];
}

static struct gray *plain(int value)
{
	struct gray *g = gray_new(WIDTH, HEIGHT);

	assert_non_null(g);
	memset(g->px, value, (size_t)WIDTH * HEIGHT);
	return g;
}

static void paint(struct gray *g, int x, int y, int w, int h, int value)
{
	for (int j = y; j < y + h && j < g->height; j++)
		for (int i = x; i < x + w && i < g->width; i++)
			*pixel(g, i, j) = (uint8_t)value;
}

/* A scene: rectangles of all sizes and shades, the same for the same number. */
static struct gray *scene(unsigned number)
{
	struct gray *g = plain(110);

	seed = number;
	for (int i = 0; i < 300; i++) {
		int x = dice(WIDTH), y = dice(HEIGHT), w = 3 + dice(22), h = 3 + dice(22);

		paint(g, x, y, w, h, 40 + dice(160));
	}
	return g;
}

static void relight(struct gray *g, double gain, int offset)
{
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		double v = g->px[i] * gain + offset;

		g->px[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

static void add_noise(struct gray *g, int amplitude)
{
	seed = 77;
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		int v = g->px[i] + dice(2 * amplitude + 1) - amplitude;

		g->px[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

static struct gray *shifted(const struct gray *g, int dx, int dy)
{
	struct gray *s = gray_copy(g);

	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			*pixel(s, x, y) = (uint8_t)gray_at(g, (x + dx + WIDTH) % WIDTH, (y + dy + HEIGHT) % HEIGHT);
	return s;
}

static uint8_t mean_around(const struct gray *g, int x, int y, int radius)
{
	int sum = 0, n = 0;

	for (int j = y - radius; j <= y + radius; j++)
		for (int i = x - radius; i <= x + radius; i++)
			if (i >= 0 && j >= 0 && i < g->width && j < g->height) {
				sum += gray_at(g, i, j);
				n++;
			}
	return (uint8_t)(sum / n);
}

static void defocus(struct gray *g, int radius)
{
	for (int pass = 0; pass < 3; pass++) {
		struct gray *sharp = gray_copy(g);

		for (int y = 0; y < HEIGHT; y++)
			for (int x = 0; x < WIDTH; x++)
				*pixel(g, x, y) = mean_around(sharp, x, y, radius);
		gray_free(sharp);
	}
}

/* Measures, judges and frees. */
static struct vision_issues judge(struct gray *g)
{
	struct vision_metrics m;

	vision_measure(g, &m);
	gray_free(g);
	return vision_judge(&m);
}

static void assert_only(struct vision_issues i, bool dark, bool glare, bool occluded, bool blur)
{
	assert_int_equal(i.dark, dark);
	assert_int_equal(i.glare, glare);
	assert_int_equal(i.occluded, occluded);
	assert_int_equal(i.blur, blur);
}

/* Compares and frees both. */
static struct motion compare(struct gray *before, struct gray *now)
{
	struct motion m;

	assert_true(motion_compare(before, now, &m));
	gray_free(before);
	gray_free(now);
	return m;
}

static void assert_nothing(const struct motion *m)
{
	assert_false(m->moved);
	assert_int_equal(m->n_blobs, 0);
}

static void test_metrics_of_plain(void **state)
{
	struct gray *g = plain(100);
	struct vision_metrics m;

	(void)state;
	paint(g, 0, 0, WIDTH / 4, HEIGHT, 255);
	vision_measure(g, &m);
	assert_float_equal(m.brightness, 100 + 155 / 4.0, 0.01);
	assert_float_equal(m.glare_ratio, 0.25, 0.001);
	assert_true(m.contrast > 60 && m.contrast < 70);
	gray_free(g);
	g = plain(100);
	vision_measure(g, &m);
	assert_float_equal(m.contrast, 0, 0.001);
	assert_float_equal(m.sharpness, 0, 0.001);
	assert_float_equal(m.blur_score, 1, 0.001);
	gray_free(g);
}

static void test_tiny_pictures(void **state)
{
	struct gray *g = gray_new(1, 1);
	struct vision_metrics m;
	struct motion motion;

	(void)state;
	vision_measure(g, &m);
	assert_true(vision_judge(&m).dark);
	assert_false(motion_compare(g, g, &motion));
	assert_int_equal(motion.n_blobs, 0);
	gray_free(g);
	assert_null(gray_new(0, 5));
	gray_free(NULL);
}

static void test_issues(void **state)
{
	struct gray *g;

	(void)state;
	assert_only(judge(scene(1)), false, false, false, false);
	assert_only(judge(plain(5)), true, false, false, false);
	assert_only(judge(plain(128)), false, false, true, false);
	assert_only(judge(plain(255)), false, true, false, false);
	g = plain(3); /* a night street with a lamp can be seen */
	paint(g, 60, 20, 30, 30, 220);
	assert_only(judge(g), false, false, false, false);
	g = scene(2);
	paint(g, 0, 0, WIDTH, HEIGHT / 2, 253);
	assert_only(judge(g), false, true, false, false);
	g = scene(3);
	defocus(g, 4);
	assert_only(judge(g), false, false, false, true);
	g = plain(90); /* a hand on the lens: soft, noisy, no edge */
	for (int x = 0; x < WIDTH; x++)
		paint(g, x, 0, 1, HEIGHT, 80 + x / 8);
	add_noise(g, 1);
	assert_only(judge(g), false, false, true, false);
}

static void test_blur_score_grows(void **state)
{
	struct vision_metrics sharp, soft;
	struct gray *g = scene(4);

	(void)state;
	vision_measure(g, &sharp);
	defocus(g, 2);
	vision_measure(g, &soft);
	gray_free(g);
	assert_true(sharp.blur_score < 0.3);
	assert_true(soft.blur_score > sharp.blur_score + 0.2);
}

static void test_shrink(void **state)
{
	struct gray *g = gray_new(1000, 500), *s;

	(void)state;
	memset(g->px, 77, 1000 * 500);
	s = gray_shrink(g, 160);
	assert_int_equal(s->width, 160);
	assert_int_equal(s->height, 80);
	for (int i = 0; i < 160 * 80; i++)
		assert_int_equal(s->px[i], 77);
	gray_free(g);
	g = gray_shrink(s, 320);
	assert_int_equal(g->width, 160);
	gray_free(g);
	gray_free(s);
	g = gray_new(5000, 1);
	s = gray_shrink(g, 160);
	assert_int_equal(s->height, 1);
	gray_free(g);
	gray_free(s);
}

static void test_no_motion(void **state)
{
	struct gray *noisy = scene(5);
	struct motion m = compare(scene(5), scene(5));

	(void)state;
	assert_nothing(&m);
	assert_float_equal(m.motion_ratio, 0, 0.001);
	add_noise(noisy, 8);
	m = compare(scene(5), noisy);
	assert_nothing(&m);
}

static void test_light_is_no_motion(void **state)
{
	static const struct {
		double gain;
		int offset;
	} lights[] = {{1, 35}, {1, -30}, {1.25, 0}, {0.7, 0}, {0.6, 30}};

	(void)state;
	for (size_t i = 0; i < sizeof lights / sizeof *lights; i++) {
		struct gray *g = scene(6);
		struct motion m;

		relight(g, lights[i].gain, lights[i].offset);
		m = compare(scene(6), g);
		assert_nothing(&m);
	}
}

static void test_shake_is_no_motion(void **state)
{
	struct gray *g = scene(7);
	struct motion m = compare(gray_copy(g), shifted(g, 2, -1));

	(void)state;
	gray_free(g);
	assert_false(m.moved);
	assert_true(m.motion_ratio < 0.1); /* the rim, where new things come into view */
}

static void test_moved(void **state)
{
	struct gray *g = scene(8);
	struct motion m = compare(gray_copy(g), shifted(g, 40, 20));

	(void)state;
	gray_free(g);
	assert_true(m.moved);
	assert_int_equal(m.n_blobs, 0);
	m = compare(scene(9), scene(10));
	assert_true(m.moved);
	/* From a plain wall to a scene: something came before the lens or went away, not a move. */
	m = compare(plain(100), scene(10));
	assert_false(m.moved);
}

static void test_motion_in_changed_light(void **state)
{
	struct gray *g = scene(11);
	struct motion m;

	(void)state;
	relight(g, 1, 25);
	paint(g, 40, 20, 16, 40, 5);
	m = compare(scene(11), g);
	assert_false(m.moved);
	assert_int_equal(m.n_blobs, 1);
	assert_in_range(m.blobs[0].x1, 38, 44);
	assert_in_range(m.blobs[0].x2, 52, 58);
	assert_in_range(m.blobs[0].y1, 18, 24);
	assert_in_range(m.blobs[0].y2, 56, 62);
}

static void test_many_blobs_are_bounded(void **state)
{
	static const int rows[] = {1, 25, 50, 74}; /* inside of blocks, which are a little taller than 8 */
	struct gray *g = plain(60);
	struct motion m;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int x = 0; x + 16 <= WIDTH; x += 24)
			paint(g, x, rows[i], 8, 14, 200);
	paint(g, 120, 0, 40, 40, 200);
	m = compare(plain(60), g);
	assert_int_equal(m.n_blobs, MOTION_BLOBS_MAX);
	for (int i = 1; i < m.n_blobs; i++)
		assert_true(m.blobs[i - 1].blocks >= m.blobs[i].blocks);
	assert_true(m.blobs[0].x1 >= 112);
}

/* The verdict on a thing of this size that came into a scene. */
static struct verdict thing(int w, int h)
{
	struct gray *before = plain(100), *now;
	struct motion m;
	struct verdict v;

	add_noise(before, 40);
	now = gray_copy(before);
	paint(now, 32, 16, w, h, 240);
	m = compare(before, now);
	assert_true(m.n_blobs > 0);
	verdict_make((struct vision_issues){0}, &m, WIDTH, HEIGHT, &v);
	assert_true(v.detected);
	assert_int_equal(v.severity, 1);
	assert_string_equal(v.tags[0], "motion.detected");
	assert_int_equal(v.count_hint, v.n_boxes);
	assert_string_equal(v.boxes[0].label, v.primary_event);
	assert_true(v.boxes[0].x1 >= 0 && v.boxes[0].x1 < v.boxes[0].x2 && v.boxes[0].x2 <= 1);
	return v;
}

static void test_shapes(void **state)
{
	struct verdict v = thing(16, 48);

	(void)state;
	assert_string_equal(v.primary_event, "human");
	assert_string_equal(v.tags[1], "human.presence");
	assert_true(v.confidence <= 0.6);
	v = thing(64, 24);
	assert_string_equal(v.primary_event, "vehicle");
	assert_string_equal(v.tags[1], "vehicle.presence");
	v = thing(16, 8);
	assert_string_equal(v.primary_event, "animal");
	assert_string_equal(v.tags[1], "animal.presence");
	assert_false(v.unknown_flag);
	v = thing(32, 32);
	assert_string_equal(v.primary_event, "unknown");
	assert_true(v.unknown_flag);
	assert_int_equal(v.n_tags, 1);
}

static void test_verdict_order(void **state)
{
	struct motion moved = {.moved = true}, motion = {.n_blobs = 1, .blobs = {{0, 0, 10, 40, 5}}};
	struct verdict v;

	(void)state;
	verdict_make((struct vision_issues){0}, NULL, 1, 1, &v);
	assert_string_equal(v.primary_event, "none");
	assert_false(v.detected);
	assert_int_equal(v.n_tags, 0);
	assert_int_equal(v.severity, 0);
	verdict_make((struct vision_issues){.occluded = true}, NULL, 1, 1, &v);
	assert_string_equal(v.primary_event, "camera_issue");
	assert_string_equal(v.tags[0], "camera.occluded");
	assert_int_equal(v.severity, 2);
	verdict_make((struct vision_issues){.blur = true}, &moved, WIDTH, HEIGHT, &v);
	assert_string_equal(v.tags[0], "camera.moved");
	assert_string_equal(v.tags[1], "camera.blur");
	assert_int_equal(v.severity, 2);
	verdict_make((struct vision_issues){.blur = true}, &motion, WIDTH, HEIGHT, &v);
	assert_string_equal(v.primary_event, "camera_issue");
	assert_int_equal(v.n_tags, 1);
	assert_int_equal(v.n_boxes, 0);
}

static void test_sizes_must_agree(void **state)
{
	struct gray *a = gray_new(160, 90), *b = gray_new(90, 160), *c = gray_new(400, 300);
	struct motion m;

	(void)state;
	assert_false(motion_compare(a, b, &m));
	assert_false(motion_compare(c, c, &m));
	gray_free(a);
	gray_free(b);
	gray_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_metrics_of_plain),
	    cmocka_unit_test(test_tiny_pictures),
	    cmocka_unit_test(test_issues),
	    cmocka_unit_test(test_blur_score_grows),
	    cmocka_unit_test(test_shrink),
	    cmocka_unit_test(test_no_motion),
	    cmocka_unit_test(test_light_is_no_motion),
	    cmocka_unit_test(test_shake_is_no_motion),
	    cmocka_unit_test(test_moved),
	    cmocka_unit_test(test_motion_in_changed_light),
	    cmocka_unit_test(test_many_blobs_are_bounded),
	    cmocka_unit_test(test_shapes),
	    cmocka_unit_test(test_verdict_order),
	    cmocka_unit_test(test_sizes_must_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
