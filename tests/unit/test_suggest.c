/* SPDX-License-Identifier: Apache-2.0
 * What a detection scores: 20 a severity, and the bonus of its kind. */
#include "policy/suggest.h"
#include "tests/unit/unit.h"

static void score(int severity, const char *event, const char *tag, int points, bool hazard)
{
	struct suggest_score s = suggest_score(severity, event, &tag, tag != NULL ? 1 : 0);

	assert_int_equal(s.score, points);
	assert_int_equal(s.hazard, hazard);
}

static void each_bonus(void **state)
{
	(void)state;
	score(0, "hazard", NULL, 100, true);
	score(0, "camera_issue", NULL, 80, false);
	score(0, "unknown", NULL, 50, false);
	score(0, "human", NULL, 30, false);
	score(0, "animal", NULL, 20, false);
	score(0, "vehicle", NULL, 0, false);
	score(0, "object_missing", NULL, 0, false);
}

static void severity_counts_twenty(void **state)
{
	(void)state;
	for (int severity = 0; severity <= 3; severity++) {
		score(severity, "vehicle", NULL, 20 * severity, false);
		score(severity, "human", NULL, 20 * severity + 30, false);
		score(severity, "hazard", NULL, 20 * severity + 100, true);
	}
}

static void a_hazard_tag_adds_to_the_kind(void **state)
{
	(void)state;
	score(2, "human", "hazard.fire", 40 + 100 + 30, true);
	score(3, "camera_issue", "hazard.smoke", 60 + 100 + 80, true);
	score(1, "unknown", "hazard.x", 20 + 100 + 50, true);
	score(1, "vehicle", "hazard.crash", 20 + 100, true);
}

static void a_hazard_counts_once(void **state)
{
	static const char *const tags[] = {"hazard.fire", "hazard.smoke"};
	struct suggest_score s = suggest_score(3, "hazard", tags, 2);

	(void)state;
	assert_int_equal(s.score, 160);
	assert_true(s.hazard);
}

static void any_tag_may_be_the_hazard(void **state)
{
	static const char *const tags[] = {"person.adult", "light.dark", "hazard.fire"};

	(void)state;
	assert_true(suggest_score(0, "human", tags, 3).hazard);
	assert_false(suggest_score(0, "human", tags, 2).hazard);
}

static void only_the_group_hazard(void **state)
{
	(void)state;
	score(1, "human", "hazard", 50, false);
	score(1, "human", "hazardous.x", 50, false);
	score(1, "human", "not.hazard.fire", 50, false);
	score(1, "human", "Hazard.fire", 50, false);
	score(1, "human", "", 50, false);
}

static void nothing_detected_scores_nothing(void **state)
{
	(void)state;
	score(0, "none", NULL, 0, false);
	score(3, "none", NULL, 0, false);
	score(3, "none", "light.dark", 0, false);
	score(1, "none", "hazard.fire", 120, true);
}

static void words_must_be_whole(void **state)
{
	(void)state;
	score(0, "humanoid", NULL, 0, false);
	score(0, "hum", NULL, 0, false);
	score(0, "", NULL, 0, false);
	score(0, "hazardx", NULL, 0, false);
}

static void no_tags_at_all(void **state)
{
	(void)state;
	assert_int_equal(suggest_score(2, "human", NULL, 0).score, 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_bonus),
	    cmocka_unit_test(severity_counts_twenty),
	    cmocka_unit_test(a_hazard_tag_adds_to_the_kind),
	    cmocka_unit_test(a_hazard_counts_once),
	    cmocka_unit_test(any_tag_may_be_the_hazard),
	    cmocka_unit_test(only_the_group_hazard),
	    cmocka_unit_test(nothing_detected_scores_nothing),
	    cmocka_unit_test(words_must_be_whole),
	    cmocka_unit_test(no_tags_at_all),
	};

	return cmocka_run_group_tests_name("policy suggest", tests, NULL, NULL);
}
