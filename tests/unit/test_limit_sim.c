/* SPDX-License-Identifier: Apache-2.0
 * The replay of calls against limits: tokens, places, order, deadlines. */
#include "policy/limit_sim.h"
#include "tests/unit/unit.h"

enum { SEC = 1000000 };

static void tokens_come_evenly(void **state)
{
	struct limit_sim *s = limit_sim_new(10, 60 * SEC, 100);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(limit_sim_call(&s, 1, 0, 0, 30 * SEC), 0);
	assert_int_equal(limit_sim_call(&s, 1, 0, 0, 30 * SEC), 6 * SEC);
	assert_int_equal(limit_sim_call(&s, 1, SEC, 0, 30 * SEC), 12 * SEC);
	/* Refused: 17 s is more than it waits, and nothing is charged. */
	assert_int_equal(limit_sim_call(&s, 1, SEC, 0, 16 * SEC), -1);
	assert_int_equal(limit_sim_call(&s, 1, SEC, 0, 17 * SEC), 18 * SEC);
	limit_sim_free(s);
}

static void a_long_pause_fills_it_and_no_more(void **state)
{
	struct limit_sim *s = limit_sim_new(2, SEC, 100);

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(limit_sim_call(&s, 1, 0, 0, 0), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(limit_sim_call(&s, 1, 1000 * (int64_t)SEC, 0, 0), 1000 * (int64_t)SEC);
	assert_int_equal(limit_sim_call(&s, 1, 1000 * (int64_t)SEC, 0, 0), -1);
	limit_sim_free(s);
}

static void places_are_waited_for(void **state)
{
	struct limit_sim *s = limit_sim_new(100, SEC, 2);

	(void)state;
	assert_int_equal(limit_sim_call(&s, 1, 0, 5 * SEC, 30 * SEC), 0);
	assert_int_equal(limit_sim_call(&s, 1, 0, 3 * SEC, 30 * SEC), 0);
	assert_int_equal(limit_sim_call(&s, 1, SEC, 9 * SEC, 30 * SEC), 3 * SEC);
	assert_int_equal(limit_sim_call(&s, 1, SEC, SEC, 30 * SEC), 5 * SEC);
	limit_sim_free(s);
}

static void shared_buckets_all_agree(void **state)
{
	struct limit_sim *shared = limit_sim_new(100, SEC, 1), *a = limit_sim_new(100, SEC, 5),
			 *b = limit_sim_new(1, 60 * SEC, 5);
	struct limit_sim *first[] = {shared, a}, *second[] = {shared, b};

	(void)state;
	assert_int_equal(limit_sim_call(first, 2, 0, 4 * SEC, 30 * SEC), 0);
	assert_int_equal(limit_sim_call(second, 2, 0, SEC, 30 * SEC), 4 * SEC);
	assert_int_equal(limit_sim_call(second, 2, 5 * SEC, SEC, 30 * SEC), -1);
	assert_int_equal(limit_sim_call(first, 2, 5 * SEC, SEC, 0), 5 * SEC);
	limit_sim_free(shared);
	limit_sim_free(a);
	limit_sim_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tokens_come_evenly),
	    cmocka_unit_test(a_long_pause_fills_it_and_no_more),
	    cmocka_unit_test(places_are_waited_for),
	    cmocka_unit_test(shared_buckets_all_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
