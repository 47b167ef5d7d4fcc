/* SPDX-License-Identifier: Apache-2.0
 * The overload valve: every threshold from both sides, and the way back. */
#include "policy/health.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct health_state well = {false, -1};

static struct health_verdict judge(struct health_state before, double cpu, double memory, double swap)
{
	struct health_sample now = {cpu, memory, swap};

	return health_judge(&before, &now, &health_default_limits);
}

static struct health_state tripped_before(double sec)
{
	return (struct health_state){true, sec};
}

static void expect(struct health_verdict v, enum health_level level, bool tripped, const char *reason)
{
	assert_string_equal(health_level_name(v.level), health_level_name(level));
	assert_int_equal(v.overloaded, level == HEALTH_OVERLOAD);
	assert_int_equal(v.tripped, tripped);
	if (reason == NULL)
		assert_string_equal(v.reason, "");
	else
		assert_contains(v.reason, reason);
}

static void the_specified_numbers(void **state)
{
	const struct health_limits *l = &health_default_limits;

	(void)state;
	assert_true(l->overload.cpu_percent == 85 && l->overload.memory_percent == 90 && l->overload.swap_mb == 100);
	assert_true(l->recover.cpu_percent == 60 && l->recover.memory_percent == 70 && l->recover.swap_mb == 50);
	assert_true(l->warning.cpu_percent == 70 && l->warning.memory_percent == 75 && l->warning.swap_mb == 50);
	assert_true(l->recover_hold_sec == 60);
}

static void idle_is_normal(void **state)
{
	(void)state;
	expect(judge(well, 0, 0, 0), HEALTH_NORMAL, false, NULL);
	expect(judge(well, 45.2, 62.1, 10), HEALTH_NORMAL, false, NULL);
}

static void each_measure_trips(void **state)
{
	(void)state;
	expect(judge(well, 85.01, 0, 0), HEALTH_OVERLOAD, true, "cpu 85.0 % > 85 %");
	expect(judge(well, 0, 90.01, 0), HEALTH_OVERLOAD, true, "memory 90.0 % > 90 %");
	expect(judge(well, 0, 0, 100.1), HEALTH_OVERLOAD, true, "swap 100 MB > 100 MB");
	expect(judge(well, 100, 100, 5000), HEALTH_OVERLOAD, true, "cpu 100.0 %");
	expect(judge(well, 10, 95, 5000), HEALTH_OVERLOAD, true, "memory 95.0 %");
}

static void equal_is_not_above(void **state)
{
	(void)state;
	expect(judge(well, 85, 0, 0), HEALTH_WARNING, false, "cpu");
	expect(judge(well, 0, 90, 0), HEALTH_WARNING, false, "memory");
	expect(judge(well, 0, 0, 100), HEALTH_WARNING, false, "swap");
	expect(judge(well, 85, 90, 100), HEALTH_WARNING, false, "cpu");
}

static void warning_level(void **state)
{
	(void)state;
	expect(judge(well, 70.1, 0, 0), HEALTH_WARNING, false, "cpu 70.1 % > 70 %");
	expect(judge(well, 0, 75.1, 0), HEALTH_WARNING, false, "memory 75.1 % > 75 %");
	expect(judge(well, 0, 0, 50.1), HEALTH_WARNING, false, "swap 50 MB > 50 MB");
	expect(judge(well, 70, 75, 50), HEALTH_NORMAL, false, NULL);
}

static void sixty_seconds_must_pass(void **state)
{
	(void)state;
	expect(judge(tripped_before(0), 10, 10, 0), HEALTH_OVERLOAD, false, "too soon");
	expect(judge(tripped_before(59.9), 10, 10, 0), HEALTH_OVERLOAD, false, "too soon");
	expect(judge(tripped_before(60), 10, 10, 0), HEALTH_OVERLOAD, false, "too soon");
	expect(judge(tripped_before(60.1), 10, 10, 0), HEALTH_NORMAL, false, NULL);
}

static void the_load_must_be_low(void **state)
{
	(void)state;
	expect(judge(tripped_before(1000), 60, 10, 0), HEALTH_OVERLOAD, false, "not yet low enough");
	expect(judge(tripped_before(1000), 59.9, 10, 0), HEALTH_NORMAL, false, NULL);
	expect(judge(tripped_before(1000), 10, 70, 0), HEALTH_OVERLOAD, false, "not yet low enough");
	expect(judge(tripped_before(1000), 10, 69.9, 0), HEALTH_NORMAL, false, NULL);
	expect(judge(tripped_before(1000), 10, 10, 50), HEALTH_OVERLOAD, false, "not yet low enough");
	expect(judge(tripped_before(1000), 10, 10, 49.9), HEALTH_NORMAL, false, NULL);
	expect(judge(tripped_before(1000), 59.9, 69.9, 49.9), HEALTH_NORMAL, false, NULL);
	expect(judge(tripped_before(1000), 72, 69, 0), HEALTH_OVERLOAD, false, "not yet low enough");
}

static void a_new_trip_starts_again(void **state)
{
	(void)state;
	expect(judge(tripped_before(1000), 85.1, 0, 0), HEALTH_OVERLOAD, true, "cpu");
	expect(judge(tripped_before(30), 0, 0, 101), HEALTH_OVERLOAD, true, "swap 101 MB");
}

/* Overloaded, but nobody knows since when: the load alone decides, or it would never end. */
static void unknown_time_of_the_trip(void **state)
{
	(void)state;
	expect(judge(tripped_before(-1), 10, 10, 0), HEALTH_NORMAL, false, NULL);
	expect(judge(tripped_before(-1), 65, 10, 0), HEALTH_OVERLOAD, false, "not yet low enough");
}

static void the_past_does_not_trip(void **state)
{
	struct health_state before = {false, 5};

	(void)state;
	expect(judge(before, 65, 72, 20), HEALTH_NORMAL, false, NULL);
	expect(judge(before, 84, 10, 0), HEALTH_WARNING, false, "cpu");
}

/* Load swinging around the trip limit every 2 s: one overload, not many. */
static void does_not_flap(void **state)
{
	struct health_state before = well;
	int changes = 0;

	(void)state;
	for (int sec = 0; sec < 300; sec += 2) {
		struct health_verdict v = judge(before, sec < 150 && sec / 2 % 2 == 0 ? 90 : 50, 10, 0);

		changes += v.overloaded != before.overloaded;
		before.since_overload_sec = v.tripped ? 2 : before.since_overload_sec + 2;
		before.overloaded = v.overloaded;
	}
	assert_int_equal(changes, 2);
	assert_false(before.overloaded);
}

static void limits_are_the_callers(void **state)
{
	struct health_limits l = {{50, 50, 0}, {40, 40, 1}, 5, {30, 30, 0}};
	struct health_sample now = {51, 0, 0};

	(void)state;
	expect(health_judge(&well, &now, &l), HEALTH_OVERLOAD, true, "cpu 51.0 % > 50 %");
	now.cpu_percent = 35;
	expect(health_judge(&(struct health_state){true, 5.1}, &now, &l), HEALTH_WARNING, false, "cpu 35.0 % > 30 %");
	expect(health_judge(&(struct health_state){true, 4.9}, &now, &l), HEALTH_OVERLOAD, false, "too soon");
}

static void level_names(void **state)
{
	(void)state;
	assert_string_equal(health_level_name(HEALTH_NORMAL), "normal");
	assert_string_equal(health_level_name(HEALTH_WARNING), "warning");
	assert_string_equal(health_level_name(HEALTH_OVERLOAD), "overload");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_specified_numbers),
	    cmocka_unit_test(idle_is_normal),
	    cmocka_unit_test(each_measure_trips),
	    cmocka_unit_test(equal_is_not_above),
	    cmocka_unit_test(warning_level),
	    cmocka_unit_test(sixty_seconds_must_pass),
	    cmocka_unit_test(the_load_must_be_low),
	    cmocka_unit_test(a_new_trip_starts_again),
	    cmocka_unit_test(unknown_time_of_the_trip),
	    cmocka_unit_test(the_past_does_not_trip),
	    cmocka_unit_test(does_not_flap),
	    cmocka_unit_test(limits_are_the_callers),
	    cmocka_unit_test(level_names),
	};

	return cmocka_run_group_tests_name("policy health", tests, NULL, NULL);
}
