/* SPDX-License-Identifier: Apache-2.0
 * The three stages: accept, accept late, refuse. */
#include "policy/backpressure.h"
#include "tests/unit/unit.h"

static struct backpressure judge(int64_t max, int64_t queued)
{
	struct backpressure_limits limits = backpressure_default_limits;

	limits.max = max;
	return backpressure_judge(&limits, queued);
}

static void the_line_of_the_specification(void **state)
{
	static const struct {
		int64_t queued;
		enum backpressure_stage stage;
		int64_t delay_ms;
	} steps[] = {
	    {0, BACKPRESSURE_NORMAL, 0},
	    {100, BACKPRESSURE_NORMAL, 0},
	    {499, BACKPRESSURE_NORMAL, 0},
	    {500, BACKPRESSURE_WARNING, 0},
	    {530, BACKPRESSURE_WARNING, 10},
	    {590, BACKPRESSURE_WARNING, 30},
	    {650, BACKPRESSURE_WARNING, 50},
	    {740, BACKPRESSURE_WARNING, 80},
	    {799, BACKPRESSURE_WARNING, 99},
	    {800, BACKPRESSURE_OVERLOADED, 0},
	    {1000, BACKPRESSURE_OVERLOADED, 0},
	    {5000, BACKPRESSURE_OVERLOADED, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct backpressure b = judge(1000, steps[i].queued);

		assert_int_equal(b.stage, steps[i].stage);
		/* Whole milliseconds: one less where the division is not exact. */
		assert_in_range(b.delay_ms, steps[i].delay_ms > 0 ? steps[i].delay_ms - 1 : 0, steps[i].delay_ms);
	}
}

static void the_delay_only_grows(void **state)
{
	int64_t last = 0;

	(void)state;
	for (int64_t queued = 0; queued < 8000; queued++) {
		struct backpressure b = judge(10000, queued);

		assert_true(b.delay_ms >= last && b.delay_ms < 100);
		assert_true(b.stage != BACKPRESSURE_OVERLOADED);
		last = b.delay_ms;
	}
	assert_int_equal(last, 99);
}

static void odd_limits(void **state)
{
	struct backpressure_limits limits = {.max = 10, .warning_percent = 80, .overload_percent = 80, .delay_ms = 100};

	(void)state;
	assert_int_equal(backpressure_judge(&limits, 7).stage, BACKPRESSURE_NORMAL); /* no room for a warning */
	assert_int_equal(backpressure_judge(&limits, 8).stage, BACKPRESSURE_OVERLOADED);
	limits.warning_percent = 90; /* the refusal wins */
	assert_int_equal(backpressure_judge(&limits, 8).stage, BACKPRESSURE_OVERLOADED);
	limits.warning_percent = 0;
	assert_int_equal(backpressure_judge(&limits, 0).stage, BACKPRESSURE_WARNING);
	assert_int_equal(backpressure_judge(&limits, 0).delay_ms, 0);
	assert_int_equal(backpressure_judge(&limits, 4).delay_ms, 50);
	limits.overload_percent = 0; /* closed */
	assert_int_equal(backpressure_judge(&limits, 0).stage, BACKPRESSURE_OVERLOADED);
	assert_int_equal(judge(0, 0).stage, BACKPRESSURE_OVERLOADED);
	assert_int_equal(judge(10, -3).stage, BACKPRESSURE_NORMAL);
	assert_int_equal(judge(INT64_MAX, INT64_MAX).stage, BACKPRESSURE_OVERLOADED);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(backpressure_stage_name(BACKPRESSURE_NORMAL), "normal");
	assert_string_equal(backpressure_stage_name(BACKPRESSURE_WARNING), "warning");
	assert_string_equal(backpressure_stage_name(BACKPRESSURE_OVERLOADED), "overloaded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_line_of_the_specification),
	    cmocka_unit_test(the_delay_only_grows),
	    cmocka_unit_test(odd_limits),
	    cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("backpressure", tests, NULL, NULL);
}
