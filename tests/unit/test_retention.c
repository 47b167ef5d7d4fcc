/* SPDX-License-Identifier: Apache-2.0
 * Retention (the specification's table 8.1), the best frame's score (7.1), and when a node is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/best_frame.h"
#include "policy/node.h"
#include "policy/retention.h"

static void each_row_of_the_table(void **state)
{
	static const struct {
		const char *tag;
		int severity;
		bool unknown, detected;
		const char *class, *reason;
	} rows[] = {
	    {"hazard.fire", 0, false, true, "quarantine", "hazard.fire"},
	    {"hazard.anything", 0, false, true, "quarantine", "hazard.anything"},
	    {"camera.offline", 0, false, true, "quarantine", "camera.offline"},
	    {"camera.moved", 0, false, true, "quarantine", "camera.moved"},
	    {"camera.occluded", 0, false, true, "quarantine", "camera.occluded"},
	    {"camera.dark", 0, false, true, "normal", "detected"},
	    {"behavior.loitering", 0, false, true, "quarantine", "behavior.loitering"},
	    {"behavior.running", 0, false, true, "normal", "detected"},
	    {"object_missing.suspected", 0, false, true, "quarantine", "object_missing.suspected"},
	    {"animal.deer", 0, false, true, "quarantine", "animal.deer"},
	    {"animal.boar", 0, false, true, "quarantine", "animal.boar"},
	    {"animal.cat", 0, false, true, "normal", "detected"},
	    {"hazardous", 0, false, true, "normal", "detected"},
	    {"x", 0, true, true, "quarantine", "unknown_flag"},
	    {"x", 2, false, true, "quarantine", "severity"},
	    {"x", 3, false, true, "quarantine", "severity"},
	    {"x", 1, false, true, "normal", "detected"},
	    {"x", 0, false, false, "normal", "not detected"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *tags[] = {"human.presence", rows[i].tag};
		struct retention r = retention_classify(
		    &retention_default_rules, tags, 2, rows[i].severity, rows[i].unknown, rows[i].detected);

		assert_string_equal(r.class, rows[i].class);
		assert_string_equal(r.reason, rows[i].reason);
	}
	assert_string_equal(retention_classify(&retention_default_rules, NULL, 0, 0, false, true).class, "normal");
}

static void severity_then_confidence_then_sharpness(void **state)
{
	(void)state;
	assert_true(best_frame_score(2, 0, 0) > best_frame_score(1, 1, 0));
	assert_true(best_frame_score(1, 0.6, 0) > best_frame_score(1, 0.5, 0));
	assert_true(best_frame_score(1, 0.5, 0) > best_frame_score(1, 0.5, 10));
	assert_true(best_frame_score(2, 0.5, 30) == 2000 + 50 - 3);
}

static void an_unreachable_node_needs_a_probe(void **state)
{
	struct node_state n = {0};

	(void)state;
	assert_true(node_open(&n, 1000));
	node_failed(&n, NODE_UNREACHABLE, 0, 1000, UINT32_MAX);
	assert_false(node_open(&n, 1001) || node_wants_probe(&n, 1001));
	assert_int_equal(n.resume_at, 1500);
	assert_true(node_wants_probe(&n, 1500));
	assert_false(node_open(&n, 1500));
	node_failed(&n, NODE_UNREACHABLE, 0, 1500, UINT32_MAX);
	assert_int_equal(n.resume_at, 2500); /* twice as long */
	node_worked(&n);
	assert_true(node_open(&n, 1501));
}

static void failures_together_are_one_pause(void **state)
{
	struct node_state n = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		node_failed(&n, NODE_UNREACHABLE, 0, 1000 + i, UINT32_MAX);
	assert_int_equal(n.failures, 1);
	assert_int_equal(n.resume_at, 1500);
}

static void a_busy_node_is_believed_up_to_a_minute(void **state)
{
	struct node_state n = {0};

	(void)state;
	node_failed(&n, NODE_BUSY, 2000, 0, 0);
	assert_int_equal(n.resume_at, 2000);
	assert_true(node_open(&n, 2000)); /* no probe: it is there */
	node_failed(&n, NODE_BUSY, 3600000, 2000, 0);
	assert_int_equal(n.resume_at, 62000);
}

static void single_faults_are_forgiven(void **state)
{
	struct node_state n = {0};

	(void)state;
	for (int i = 0; i < 4; i++)
		node_failed(&n, NODE_FAULTY, 0, 10 + i, 0);
	assert_true(node_open(&n, 20));
	node_failed(&n, NODE_FAULTY, 0, 20, 0);
	assert_false(node_open(&n, 21));
}

static void rules_are_tried_in_order(void **state)
{
	static const struct retention_rules rules = {
	    .rules = {{"animal.cat", false}, {"animal.*", true}, {"severity>=3", true}}, .n = 3};
	const char *cat[] = {"animal.cat"}, *dog[] = {"animal.dog"}, *group[] = {"animal"};

	(void)state;
	assert_string_equal(retention_classify(&rules, cat, 1, 3, false, true).class, "normal");
	assert_string_equal(retention_classify(&rules, cat, 1, 3, false, true).reason, "animal.cat");
	assert_string_equal(retention_classify(&rules, dog, 1, 0, false, true).class, "quarantine");
	assert_string_equal(retention_classify(&rules, group, 1, 2, true, true).class, "normal");
	assert_string_equal(retention_classify(&rules, group, 1, 3, true, true).reason, "severity");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_row_of_the_table),
	    cmocka_unit_test(rules_are_tried_in_order),
	    cmocka_unit_test(severity_then_confidence_then_sharpness),
	    cmocka_unit_test(an_unreachable_node_needs_a_probe),
	    cmocka_unit_test(failures_together_are_one_pause),
	    cmocka_unit_test(a_busy_node_is_believed_up_to_a_minute),
	    cmocka_unit_test(single_faults_are_forgiven),
	};

	return cmocka_run_group_tests_name("policy retention, best frame, node", tests, NULL, NULL);
}
