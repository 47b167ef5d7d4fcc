/* SPDX-License-Identifier: Apache-2.0
 * From measures to the answer's words: primary event, tags, severity. What a moving thing is, is guessed from the
 * shape of its outline only, and the confidence says so. Pure functions. */
#ifndef CAM_VERDICT_H
#define CAM_VERDICT_H

#include "analyzer/motion.h"
#include "analyzer/vision.h"

#include <stddef.h>

enum { VERDICT_TAGS_MAX = 4 };

/* Shape of the moving outline, in the picture's pixels. */
#define VERDICT_HUMAN_TALL 1.3    /* height / width at least: a person */
#define VERDICT_VEHICLE_WIDE 1.6  /* width / height at least ... */
#define VERDICT_VEHICLE_AREA 0.04 /* ... and this share of the picture: a vehicle */
#define VERDICT_ANIMAL_AREA 0.015 /* less than this share: an animal */

struct verdict_box {
	double x1, y1, x2, y2; /* 0..1 of the picture */
	const char *label;
	double confidence;
};

struct verdict {
	bool detected;
	const char *primary_event;
	const char *tags[VERDICT_TAGS_MAX];
	size_t n_tags;
	double confidence;
	int severity;
	bool unknown_flag;
	int count_hint;
	struct verdict_box boxes[MOTION_BLOBS_MAX];
	size_t n_boxes;
};

/* The primary events of the protocol, ending with NULL; and every tag that verdict_make() can give. */
extern const char *const verdict_primary_events[];
extern const char *const verdict_tags[];

/* motion is NULL when there was nothing to compare with. width and height are of the compared pictures. */
void verdict_make(struct vision_issues issues, const struct motion *motion, int width, int height, struct verdict *ret);

#endif
