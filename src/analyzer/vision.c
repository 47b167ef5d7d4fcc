/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/vision.h"

#include <math.h>
#include <stdlib.h>

static void measure_light(const struct gray *g, struct vision_metrics *m)
{
	double n = (double)g->width * g->height, sum = 0, squares = 0, mean;
	long glare = 0;

	for (long i = 0; i < (long)g->width * g->height; i++) {
		sum += g->px[i];
		squares += (double)g->px[i] * g->px[i];
		glare += g->px[i] >= VISION_GLARE_PIXEL;
	}
	mean = sum / n;
	m->brightness = mean;
	m->contrast = sqrt(fmax(0, squares / n - mean * mean));
	m->glare_ratio = (double)glare / n;
}

static void measure_detail(const struct gray *g, struct vision_metrics *m)
{
	double n = (double)(g->width - 2) * (g->height - 2), sum = 0, squares = 0, edges = 0;

	if (g->width < 3 || g->height < 3)
		return;
	for (int y = 1; y < g->height - 1; y++) {
		for (int x = 1; x < g->width - 1; x++) {
			int left = gray_at(g, x - 1, y), right = gray_at(g, x + 1, y);
			int up = gray_at(g, x, y - 1), down = gray_at(g, x, y + 1);
			int laplacian = left + right + up + down - 4 * gray_at(g, x, y);

			sum += laplacian;
			squares += (double)laplacian * laplacian;
			edges += (abs(right - left) + abs(down - up)) / 2.0;
		}
	}
	m->sharpness = fmax(0, squares / n - (sum / n) * (sum / n));
	m->edge_energy = edges / n;
}

void vision_measure(const struct gray *g, struct vision_metrics *ret)
{
	*ret = (struct vision_metrics){0};
	measure_light(g, ret);
	measure_detail(g, ret);
	/* One half at ten times the limit of blur: a picture that is called blurred scores above 0.9. */
	ret->blur_score = 1 / (1 + ret->sharpness / (10 * VISION_BLUR_SHARPNESS));
}

struct vision_issues vision_judge(const struct vision_metrics *m)
{
	struct vision_issues i = {0};

	i.dark = m->brightness < VISION_DARK_BRIGHTNESS && m->contrast < VISION_DARK_CONTRAST;
	i.glare = m->glare_ratio >= VISION_GLARE_RATIO;
	i.occluded =
	    !i.dark && !i.glare && m->contrast < VISION_OCCLUDED_CONTRAST && m->edge_energy < VISION_OCCLUDED_EDGES;
	i.blur = vision_usable(i) && m->sharpness < VISION_BLUR_SHARPNESS &&
		 m->sharpness < VISION_BLUR_RATIO * m->contrast * m->contrast;
	return i;
}

bool vision_usable(struct vision_issues i)
{
	return !i.dark && !i.glare && !i.occluded;
}
