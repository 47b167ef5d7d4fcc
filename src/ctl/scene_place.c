/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/scene_place.h"

#include "ctl/scene.h"

#include <math.h>

#define PAINT(...) (&(const struct paint){__VA_ARGS__})
#define PLAIN(rgb) PAINT(.top = (rgb), .bottom = (rgb))
#define FADE(rgb1, rgb2) PAINT(.top = (rgb1), .bottom = (rgb2))
#define GRAINY(rgb, amount, pixels) PAINT(.top = (rgb), .bottom = (rgb), .grain = (amount), .size = (pixels))
#define SHADOW(strength) PAINT(.alpha = (strength))
#define POLYGON(c, paint, ...) \
	canvas_polygon( \
	    (c), (struct point[]){__VA_ARGS__}, sizeof((struct point[]){__VA_ARGS__}) / sizeof(struct point), (paint))

/* A point on the floor, x to the right and z into the picture, as the camera sees it. */
static struct point on_floor(double horizon, double x, double z)
{
	return (struct point){SCENE_WIDTH / 2 + 200 * x / z, horizon + 150 / z};
}

static void floor_tiles(struct canvas *c, double horizon, double near, double far, uint32_t light, uint32_t dark)
{
	const double side = 0.33;

	for (int row = 0; near + row * side < far; row++) {
		double z1 = near + row * side, z2 = fmin(far, z1 + side);

		for (int col = -16; col < 16; col++) {
			struct point a = on_floor(horizon, col * side, z1), b = on_floor(horizon, (col + 1) * side, z1);
			struct point d = on_floor(horizon, col * side, z2), e = on_floor(horizon, (col + 1) * side, z2);

			POLYGON(c, GRAINY((row + col) % 2 == 0 ? light : dark, 7, 2), a, b, e, d);
		}
	}
}

static void frame(struct canvas *c, double x1, double y1, double x2, double y2, double width, const struct paint *p)
{
	canvas_rect(c, x1, y1, x2, y1 + width, p);
	canvas_rect(c, x1, y2 - width, x2, y2, p);
	canvas_rect(c, x1, y1, x1 + width, y2, p);
	canvas_rect(c, x2 - width, y1, x2, y2, p);
}

/* --- the entrance */

static void glass_door(struct canvas *c, double x1, double x2)
{
	const double top = 52, bottom = 224;
	double grip = x1 < SCENE_WIDTH / 2 ? x2 - 16 : x1 + 16;

	canvas_rect(c, x1, top, x2, bottom, FADE(0xcfdfe8, 0xa9bcae));
	POLYGON(c, PAINT(.top = 0xf0f6f8, .bottom = 0xe4eef0, .alpha = 0.5), {x1 + 10, bottom}, {x1 + 34, top},
	    {x1 + 50, top}, {x1 + 26, bottom});
	canvas_rect(
	    c, x1, 186, x2, bottom, PAINT(.top = 0x8da089, .bottom = 0x9c9f92, .grain = 10, .size = 4, .alpha = 0.8));
	frame(c, x1, top, x2, bottom, 6, FADE(0x4a4f54, 0x34383c));
	canvas_rect(c, x1, 132, x2, 137, PLAIN(0x4a4f54));
	canvas_rect(c, grip - 2, 116, grip + 2, 172, FADE(0xd8dcdf, 0x8c9296));
}

static void notice_board(struct canvas *c)
{
	static const uint32_t papers[] = {0xf2efe2, 0xe9d9a8, 0xcfe0ee, 0xf3f3f0, 0xeac4b4, 0xe2ecd0};

	canvas_rect(c, 66, 76, 176, 152, GRAINY(0x9a6f45, 12, 2));
	frame(c, 64, 74, 178, 154, 4, PLAIN(0x5d4028));
	for (int i = 0; i < 6; i++) {
		double x = 74 + i % 3 * 34, y = 82 + i / 3 * 34;

		canvas_rect(c, x, y, x + 24, y + 28, PLAIN(papers[i]));
		for (int line = 0; line < 5; line++)
			canvas_rect(
			    c, x + 3, y + 5 + line * 4, x + 21 - line * 3 % 7, y + 6.5 + line * 4, PLAIN(0x77787a));
	}
}

static void plant(struct canvas *c, double x, double y)
{
	for (int i = 0; i < 15; i++) {
		double angle = (i - 7) * 0.21, length = 62 + (double)(canvas_hash((uint32_t)i, 3, 5) % 26);
		struct point tip = {x + sin(angle) * length, y - 34 - cos(angle) * length};

		canvas_bar(c, (struct point){x, y - 30}, tip, 9, FADE(i % 2 == 0 ? 0x3f7a3a : 0x5a9a4c, 0x2c5a2c));
		canvas_ellipse(c, tip.x, tip.y, 7, 11, PLAIN(i % 3 == 0 ? 0x6fae58 : 0x478743));
	}
	canvas_ellipse(c, x, y, 34, 7, SHADOW(0.3));
	POLYGON(c, FADE(0xc9764a, 0x8d4a2c), {x - 26, y - 40}, {x + 26, y - 40}, {x + 19, y}, {x - 19, y});
	canvas_rect(c, x - 29, y - 46, x + 29, y - 36, PLAIN(0xb9683f));
}

void place_entrance(struct canvas *c)
{
	canvas_rect(c, 0, 0, SCENE_WIDTH, 30, FADE(0xd6d2c8, 0xe2dfd6));
	canvas_rect(c, 0, 30, SCENE_WIDTH, 224, PAINT(.top = 0xd9cdb4, .bottom = 0xc6b896, .grain = 6, .size = 3));
	canvas_rect(c, 0, 28, SCENE_WIDTH, 33, PLAIN(0xa89a7c));
	for (int i = 0; i < 4; i++)
		canvas_ellipse(c, 90 + i * 153, 14, 44, 6, PLAIN(0xf4f1e6));
	for (int x = 0; x < SCENE_WIDTH; x += 64) {
		canvas_rect(c, x, 170, x + 64, 216, GRAINY(0x9b8259, 8, 3));
		frame(c, x + 5, 176, x + 59, 210, 3, PLAIN(0x7d6642));
	}
	canvas_rect(c, 0, 165, SCENE_WIDTH, 171, PLAIN(0x6f5a3a));
	canvas_rect(c, 0, 214, SCENE_WIDTH, 224, PLAIN(0x5f4c31));
	floor_tiles(c, 130, 0.6, 1.6, 0xb3aca0, 0x8f887d);
	notice_board(c);
	canvas_rect(c, 236, 44, 404, 226, PLAIN(0x2f3235));
	glass_door(c, 242, 320);
	glass_door(c, 320, 398);
	canvas_rect(c, 290, 34, 350, 44, PLAIN(0x2a7a4b));
	canvas_rect(c, 296, 37, 344, 41, PLAIN(0xe8f4ea));
	POLYGON(c, GRAINY(0x5a4a42, 14, 2), {226, 240}, {414, 240}, {438, 274}, {202, 274});
	plant(c, 470, 244);
	frame(c, 520, 80, 596, 134, 5, PLAIN(0x3d2f22));
	canvas_rect(c, 525, 85, 591, 129, FADE(0x8fb7cf, 0x6f8f5c));
	POLYGON(c, PLAIN(0x54718a), {525, 118}, {552, 96}, {570, 108}, {591, 100}, {591, 122}, {525, 124});
}

/* --- the parking lot */

static void trees(struct canvas *c)
{
	static const uint32_t greens[] = {0x2f4f2d, 0x3c6237, 0x4d7443, 0x27422a};

	for (uint32_t i = 0; i < 110; i++) {
		uint32_t h = canvas_hash(i, 11, 2);
		double x = 190 + h % 470, y = 66 + (h >> 10) % 46, r = 9 + (h >> 18) % 13;

		canvas_ellipse(c, x, y, r * 1.15, r, GRAINY(greens[h >> 28 & 3], 22, 2));
	}
	canvas_rect(c, 180, 104, SCENE_WIDTH, 124, GRAINY(0x2d4a2b, 24, 2));
}

static void building(struct canvas *c)
{
	canvas_rect(c, 0, 18, 200, 132, GRAINY(0xa98f7a, 9, 2));
	for (int y = 22; y < 132; y += 6)
		canvas_rect(c, 0, y, 200, y + 1, PAINT(.top = 0x7d6757, .bottom = 0x7d6757, .alpha = 0.6));
	for (int i = 0; i < 8; i++) {
		double x = 14 + i % 4 * 46, y = 32 + i / 4 * 48;

		canvas_rect(c, x, y, x + 30, y + 32, FADE(0x5e7488, 0x33424f));
		frame(c, x - 2, y - 2, x + 32, y + 34, 3, PLAIN(0xd9d2c4));
		canvas_rect(c, x + 14, y, x + 16, y + 32, PLAIN(0xd9d2c4));
	}
	canvas_rect(c, 0, 12, 206, 20, PLAIN(0x5a4a40));
}

static void parked_car(struct canvas *c, double x, double y, uint32_t body)
{
	canvas_ellipse(c, x + 32, y + 1, 38, 5, SHADOW(0.5));
	POLYGON(c, FADE(0xd8dde0, body), {x + 8, y - 18}, {x + 17, y - 31}, {x + 48, y - 31}, {x + 58, y - 18});
	POLYGON(c, PLAIN(0x2a333b), {x + 13, y - 18}, {x + 19, y - 28}, {x + 31, y - 28}, {x + 31, y - 18});
	POLYGON(c, PLAIN(0x2a333b), {x + 34, y - 18}, {x + 34, y - 28}, {x + 46, y - 28}, {x + 53, y - 18});
	canvas_rect(c, x, y - 19, x + 65, y - 4, PLAIN(body));
	canvas_rect(c, x, y - 9, x + 65, y - 7, SHADOW(0.35));
	canvas_ellipse(c, x + 14, y - 3, 7, 7, PLAIN(0x17181a));
	canvas_ellipse(c, x + 51, y - 3, 7, 7, PLAIN(0x17181a));
}

void place_parking(struct canvas *c)
{
	static const uint32_t cars[] = {0x8f2b2b, 0xd9dbdc, 0x2f4668, 0x5b5f63, 0xb8a13c};

	canvas_rect(c, 0, 0, SCENE_WIDTH, 110, FADE(0x9db7d0, 0xd4dee6));
	canvas_ellipse(c, 330, 26, 70, 9, PAINT(.top = 0xeef2f5, .bottom = 0xdfe7ec, .alpha = 0.8));
	canvas_ellipse(c, 520, 40, 60, 7, PAINT(.top = 0xeef2f5, .bottom = 0xdfe7ec, .alpha = 0.7));
	trees(c);
	building(c);
	canvas_rect(c, 0, 124, SCENE_WIDTH, 136, GRAINY(0x8f8d86, 10, 2));
	canvas_rect(
	    c, 0, 136, SCENE_WIDTH, SCENE_HEIGHT, PAINT(.top = 0x54565a, .bottom = 0x46484b, .grain = 15, .size = 1.5));
	canvas_rect(c, 0, 136, SCENE_WIDTH, 139, PLAIN(0xb9b7ae));
	for (int i = -3; i <= 10; i++) {
		POLYGON(c, GRAINY(0xd6d6cd, 12, 1.5), {i * 80 + 40, 142}, {i * 80 + 44, 142}, {i * 92 - 3, 202},
		    {i * 92 - 10, 202});
		POLYGON(c, GRAINY(0xd6d6cd, 14, 1.5), {i * 128 - 70, 318}, {i * 128 - 58, 318}, {i * 138 - 104, 360},
		    {i * 138 - 120, 360});
	}
	for (int i = 0; i < 8; i++)
		canvas_rect(c, i * 90 - 20, 256, i * 90 + 28, 260, GRAINY(0xcfc9a8, 14, 1.5));
	for (int i = 0; i < 5; i++)
		parked_car(c, (double[]){52, 222, 306, 470, 556}[i], 180, cars[i]);
	canvas_rect(c, 612, 8, 617, 150, FADE(0x8a8f93, 0x55595c));
	canvas_rect(c, 578, 6, 620, 11, PLAIN(0x8a8f93));
	canvas_ellipse(c, 580, 12, 11, 4, PLAIN(0xe6e3d0));
	POLYGON(c, GRAINY(0x5c7a45, 26, 2), {0, 330}, {46, 336}, {66, 360}, {0, 360});
}

/* --- the corridor */

static const struct point vanishing = {320, 138};

/* A point between the picture's rim (depth 0) and the vanishing point (depth 1). */
static struct point inwards(double x, double y, double depth)
{
	return (struct point){x + (vanishing.x - x) * depth, y + (vanishing.y - y) * depth};
}

/* A flat thing on a side wall, between two depths and two heights at the picture's rim. */
static void on_wall(struct canvas *c, double rim, double y1, double y2, double near, double far, const struct paint *p)
{
	POLYGON(c, p, inwards(rim, y1, near), inwards(rim, y1, far), inwards(rim, y2, far), inwards(rim, y2, near));
}

static void corridor_door(struct canvas *c, double rim, double near, double far)
{
	double wide = far - near;

	on_wall(c, rim, -20, 372, near, far, PLAIN(0x4d4136));
	on_wall(c, rim, 2, 372, near + wide * 0.1, far - wide * 0.08, GRAINY(0x8a6a4a, 12, 3));
	on_wall(c, rim, 50, 150, near + wide * 0.34, far - wide * 0.36, FADE(0xb9cdd6, 0x8fa5ad));
	on_wall(c, rim, 206, 224, near + wide * 0.18, near + wide * 0.3, PLAIN(0xd8d3c2));
	on_wall(c, rim, -12, -2, near + wide * 0.3, far - wide * 0.3, PLAIN(0xe8e6dc));
}

static void corridor_shell(struct canvas *c, double end)
{
	struct point tl = inwards(0, -60, end), tr = inwards(SCENE_WIDTH, -60, end);
	struct point bl = inwards(0, 372, end), br = inwards(SCENE_WIDTH, 372, end);

	canvas_rect(c, 0, 0, SCENE_WIDTH, SCENE_HEIGHT, FADE(0xc9c9c2, 0xa7a79f));
	POLYGON(c, GRAINY(0xbfc3b8, 7, 3), {0, -60}, tl, bl, {0, 372});
	POLYGON(c, GRAINY(0xaeb2a7, 7, 3), {SCENE_WIDTH, -60}, tr, br, {SCENE_WIDTH, 372});
	POLYGON(c, FADE(0xd2d2ca, 0xe6e6df), {0, -60}, {SCENE_WIDTH, -60}, tr, tl);
	POLYGON(c, PAINT(.top = 0x7f8a86, .bottom = 0x66706c, .grain = 12, .size = 2), {0, 372}, bl, br,
	    {SCENE_WIDTH, 372});
	canvas_rect(c, tl.x, tl.y, br.x, br.y, FADE(0xd9dad2, 0xb5b7ae));
	canvas_rect(c, tl.x + 14, tl.y + 10, br.x - 14, br.y - 22, FADE(0xdfe9ee, 0xb4c4b4));
	frame(c, tl.x + 12, tl.y + 8, br.x - 12, br.y - 20, 3, PLAIN(0x5a5f61));
	canvas_rect(c, 318.5, tl.y + 10, 321.5, br.y - 22, PLAIN(0x5a5f61));
}

void place_corridor(struct canvas *c)
{
	static const double depths[] = {0.06, 0.34, 0.54, 0.68};

	corridor_shell(c, 0.82);
	for (int i = 0; i < 12; i++) {
		double near = 1 - pow(0.86, i), far = 1 - pow(0.86, i + 0.5);

		if (far < 0.82)
			POLYGON(c, PAINT(.top = 0x4f5955, .bottom = 0x4f5955, .alpha = 0.55), inwards(0, 372, near),
			    inwards(0, 372, far), inwards(SCENE_WIDTH, 372, far), inwards(SCENE_WIDTH, 372, near));
	}
	on_wall(c, 0, 236, 250, 0, 0.82, PLAIN(0x6d7a6f));
	on_wall(c, SCENE_WIDTH, 236, 250, 0, 0.82, PLAIN(0x5f6b61));
	for (int i = 0; i < 4; i++) {
		corridor_door(c, 0, depths[i], depths[i] + 0.11 * (1 - depths[i]) + 0.03);
		corridor_door(c, SCENE_WIDTH, depths[i] + 0.05, depths[i] + 0.05 + 0.11 * (1 - depths[i]) + 0.03);
		POLYGON(c, PLAIN(0xf3f3ec), inwards(230, -60, depths[i] + 0.1), inwards(410, -60, depths[i] + 0.1),
		    inwards(410, -60, depths[i] + 0.16), inwards(230, -60, depths[i] + 0.16));
	}
	on_wall(c, 0, 262, 330, 0.26, 0.285, FADE(0xc23a30, 0x8f231c));
	canvas_rect(c, 300, 62, 340, 72, PLAIN(0x2a7a4b));
	canvas_rect(c, 305, 65, 335, 69, PLAIN(0xe8f4ea));
}

/* --- what moves */

static void leg(struct canvas *c, double x, double hip, double feet, double swing, int direction)
{
	struct point knee = {x + swing * 0.6 + direction * 2, (hip + feet) / 2}, foot = {x + swing, feet};

	canvas_bar(c, (struct point){x, hip - 4}, knee, 21, FADE(0x3a3d44, 0x30333a));
	canvas_bar(c, knee, foot, 17, FADE(0x30333a, 0x282a30));
	canvas_ellipse(c, foot.x + direction * 6, feet + 1, 13, 6, PLAIN(0x191614));
}

static void arm(struct canvas *c, double x, double shoulder, double swing, int direction, uint32_t coat)
{
	struct point elbow = {x + swing * 0.5, shoulder + 40}, hand = {x + swing + direction * 5, shoulder + 76};

	canvas_bar(c, (struct point){x, shoulder}, elbow, 17, PLAIN(coat));
	canvas_bar(c, elbow, hand, 14, PLAIN(coat));
	canvas_ellipse(c, hand.x, hand.y, 7, 7, PLAIN(0xc99a7c));
}

void place_person(struct canvas *c, double x, int direction, double t, uint32_t coat)
{
	const double feet = 344, hip = 232, shoulder = 148;
	double swing = 19 * sin(t * 4.4), bob = 2 * fabs(cos(t * 4.4)), y = shoulder - bob;

	canvas_ellipse(c, x, feet + 3, 42, 8, SHADOW(0.35));
	arm(c, x + 2 * direction, y + 8, swing, direction, coat);
	leg(c, x + 4, hip, feet, -swing, direction);
	leg(c, x - 4, hip, feet, swing, direction);
	POLYGON(c, FADE(coat, coat - (coat >> 2 & 0x3f3f3f)), {x - 25, y + 10}, {x - 17, y - 2}, {x + 17, y - 2},
	    {x + 25, y + 10}, {x + 22, hip + 20}, {x - 22, hip + 20});
	canvas_rect(c, x - 22, hip - 18, x + 22, hip - 13, SHADOW(0.4));
	arm(c, x - 2 * direction, y + 8, -swing, direction, coat - (coat >> 3 & 0x1f1f1f));
	canvas_rect(c, x - 7, y - 14, x + 7, y + 2, PLAIN(0xb98a6c));
	canvas_ellipse(c, x, y - 28, 16, 20, PLAIN(0xcfa283));
	canvas_ellipse(c, x - 3 * direction, y - 36, 18, 15, PLAIN(0x2a201a));
	canvas_ellipse(c, x + 11 * direction, y - 25, 2, 2.5, PLAIN(0x20201f));
}

/* Bold slanting stripes: the whole side differs from one picture to the next, not only its ends. Their distances are
 * uneven, or a van that went on by just one of them would seem to stand. */
static void van_stripes(struct canvas *c, double left, double top, double bottom)
{
	static const double at[] = {8, 37, 84, 113, 166};

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		double x = left + at[i];

		POLYGON(c, PLAIN(i % 2 == 0 ? 0x1d4f91 : 0xd06a1f), {x + 14, top}, {x + 34, top}, {x + 20, bottom},
		    {x, bottom});
	}
}

static void wheel(struct canvas *c, double x, double y)
{
	canvas_ellipse(c, x, y, 21, 21, PLAIN(0x151617));
	canvas_ellipse(c, x, y, 10, 10, PLAIN(0xa9adb0));
	canvas_ellipse(c, x, y, 4, 4, PLAIN(0x3a3c3e));
}

void place_van(struct canvas *c, double x)
{
	const double base = 322, top = base - 116;
	double left = x - PLACE_VAN_LENGTH / 2, right = x + PLACE_VAN_LENGTH / 2;

	canvas_ellipse(c, x, base + 2, PLACE_VAN_LENGTH / 2 + 6, 9, SHADOW(0.5));
	POLYGON(c, FADE(0xf1f2f2, 0xc2c5c7), {left + 4, top}, {right - 78, top}, {right - 44, base - 66},
	    {right - 6, base - 54}, {right, base - 14}, {left, base - 14}, {left, top + 6});
	van_stripes(c, left, top + 16, base - 34);
	POLYGON(c, FADE(0x50606d, 0x202a32), {right - 88, top + 12}, {right - 80, top + 12}, {right - 54, base - 62},
	    {right - 88, base - 62});
	canvas_rect(c, right - 96, top + 6, right - 94, base - 20, PLAIN(0x85898c));
	canvas_rect(c, left, base - 20, right, base - 12, PLAIN(0x2c2e30));
	canvas_rect(c, right - 12, base - 46, right - 2, base - 36, PLAIN(0xf6efc4));
	canvas_rect(c, left, base - 60, left + 6, base - 40, PLAIN(0xb3241c));
	wheel(c, left + 58, base - 16);
	wheel(c, right - 52, base - 16);
}

void place_cover(struct canvas *c)
{
	canvas_rect(
	    c, 0, 0, SCENE_WIDTH, SCENE_HEIGHT, PAINT(.top = 0x74716c, .bottom = 0x66635f, .grain = 3, .size = 40));
}
