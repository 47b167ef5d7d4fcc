/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/verdict.h"

const char *const verdict_primary_events[] = {
    "none", "human", "animal", "vehicle", "hazard", "camera_issue", "object_missing", "unknown", NULL};
const char *const verdict_tags[] = {"camera.dark", "camera.glare", "camera.occluded", "camera.moved", "camera.blur",
    "motion.detected", "human.presence", "animal.presence", "vehicle.presence", NULL};

enum { SEVERITY_MOTION = 1, SEVERITY_MINOR_ISSUE = 1, SEVERITY_ISSUE = 2 };

/* How sure an answer without a model can be. */
#define CONFIDENCE_NONE 0.7
#define CONFIDENCE_NOTHING_TO_COMPARE 0.4

struct shape {
	const char *label, *tag;
	double confidence;
};
static const struct shape human = {"human", "human.presence", 0.5};
static const struct shape vehicle = {"vehicle", "vehicle.presence", 0.45};
static const struct shape animal = {"animal", "animal.presence", 0.35};
static const struct shape unknown = {"unknown", NULL, 0.3};

static const struct shape *guess(const struct motion_blob *b, int width, int height)
{
	double w = b->x2 - b->x1, h = b->y2 - b->y1, area = w * h / ((double)width * height);

	if (h >= VERDICT_HUMAN_TALL * w)
		return &human;
	if (w >= VERDICT_VEHICLE_WIDE * h && area >= VERDICT_VEHICLE_AREA)
		return &vehicle;
	return area < VERDICT_ANIMAL_AREA ? &animal : &unknown;
}

static void add_tag(struct verdict *v, const char *tag)
{
	if (v->n_tags < VERDICT_TAGS_MAX)
		v->tags[v->n_tags++] = tag;
}

/* Several may hold; the first that holds gives the confidence, the worst the severity. */
static void report_issues(struct verdict *v, struct vision_issues issues, bool moved)
{
	const struct {
		bool holds;
		const char *tag;
		int severity;
		double confidence;
	} table[] = {
	    {issues.dark, "camera.dark", SEVERITY_MINOR_ISSUE, 0.9},
	    {issues.glare, "camera.glare", SEVERITY_MINOR_ISSUE, 0.8},
	    {issues.occluded, "camera.occluded", SEVERITY_ISSUE, 0.85},
	    {moved, "camera.moved", SEVERITY_ISSUE, 0.7},
	    {issues.blur, "camera.blur", SEVERITY_MINOR_ISSUE, 0.7},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (!table[i].holds)
			continue;
		if (v->n_tags == 0)
			v->confidence = table[i].confidence;
		add_tag(v, table[i].tag);
		v->severity = table[i].severity > v->severity ? table[i].severity : v->severity;
	}
	if (v->n_tags > 0) {
		v->detected = true;
		v->primary_event = "camera_issue";
	}
}

/* The largest blob names the event; every blob has its own box. */
static void report_motion(struct verdict *v, const struct motion *motion, int width, int height)
{
	const struct shape *shape = guess(&motion->blobs[0], width, height);

	v->detected = true;
	v->primary_event = shape->label;
	v->confidence = shape->confidence;
	v->severity = SEVERITY_MOTION;
	v->unknown_flag = shape == &unknown;
	v->count_hint = motion->n_blobs;
	add_tag(v, "motion.detected");
	if (shape->tag != NULL)
		add_tag(v, shape->tag);
	for (int i = 0; i < motion->n_blobs; i++) {
		const struct motion_blob *b = &motion->blobs[i];

		shape = guess(b, width, height);
		v->boxes[v->n_boxes++] = (struct verdict_box){(double)b->x1 / width, (double)b->y1 / height,
		    (double)b->x2 / width, (double)b->y2 / height, shape->label, shape->confidence};
	}
}

void verdict_make(struct vision_issues issues, const struct motion *motion, int width, int height, struct verdict *ret)
{
	*ret = (struct verdict){.primary_event = "none"};
	report_issues(ret, issues, motion != NULL && motion->moved);
	if (ret->detected)
		return;
	if (motion != NULL && motion->n_blobs > 0)
		report_motion(ret, motion, width, height);
	else
		ret->confidence = motion != NULL ? CONFIDENCE_NONE : CONFIDENCE_NOTHING_TO_COMPARE;
}
