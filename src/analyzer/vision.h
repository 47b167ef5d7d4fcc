/* SPDX-License-Identifier: Apache-2.0
 * What can honestly be said about a picture without a trained model: how bright, how sharp, how uniform it is.
 * Pure functions, no I/O, no memory between calls. Values are on the scale of 8-bit pixels. */
#ifndef CAM_VISION_H
#define CAM_VISION_H

#include "analyzer/gray.h"

#include <stdbool.h>

/* The longer side of the picture that is measured, so that the limits below mean the same for every camera. */
enum { VISION_SIDE = 320 };

/* Limits of vision_judge(). */
#define VISION_DARK_BRIGHTNESS 22.0   /* mean below this ... */
#define VISION_DARK_CONTRAST 25.0     /* ... and no lamp or window that stands out: dark */
#define VISION_GLARE_RATIO 0.40       /* more burnt-out pixels than an overcast sky has: glare */
#define VISION_OCCLUDED_CONTRAST 14.0 /* spread below this ... */
#define VISION_OCCLUDED_EDGES 1.6     /* ... and hardly a gradient: something lies on the lens */
#define VISION_BLUR_SHARPNESS 15.0    /* variance of the Laplacian below this ... */
#define VISION_BLUR_RATIO 0.010       /* ... and small against the contrast too: out of focus */
enum { VISION_GLARE_PIXEL = 250 };

struct vision_metrics {
	double brightness;  /* mean, 0..255 */
	double contrast;    /* standard deviation */
	double sharpness;   /* variance of the Laplacian */
	double edge_energy; /* mean absolute gradient */
	double glare_ratio; /* share of pixels >= VISION_GLARE_PIXEL, 0..1 */
	double blur_score;  /* 0 sharp .. 1 without any detail */
};

/* What is wrong with the picture itself. A dark, glaring or covered picture says nothing about blur. */
struct vision_issues {
	bool dark, glare, occluded, blur;
};

void vision_measure(const struct gray *g, struct vision_metrics *ret);
struct vision_issues vision_judge(const struct vision_metrics *m);
/* Whether another picture can be compared with this one. */
bool vision_usable(struct vision_issues i);

#endif
