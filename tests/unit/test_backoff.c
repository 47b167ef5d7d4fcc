/* SPDX-License-Identifier: Apache-2.0
 * How long to wait before trying again. */
#include "policy/backoff.h"
#include "tests/unit/unit.h"

#include <limits.h>

static void doubles_up_to_the_cap(void **state)
{
	static const int64_t full[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000};

	(void)state;
	for (unsigned i = 0; i < sizeof full / sizeof *full; i++) {
		assert_int_equal(backoff_ms(i + 1, 100, 5000, UINT32_MAX), full[i]);
		assert_int_equal(backoff_ms(i + 1, 100, 5000, 0), full[i] / 2);
	}
}

static void between_half_and_all(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		unsigned attempt = random % 40;
		int64_t full = 250, wait;

		for (unsigned n = 1; n < attempt && full < 30000; n++)
			full *= 2;
		full = full > 30000 ? 30000 : full;
		random = random * 1664525U + 1013904223U;
		wait = backoff_ms(attempt, 250, 30000, random);
		assert_true(wait >= full / 2 && wait <= full);
	}
}

static void more_random_is_never_less(void **state)
{
	int64_t before = 0;

	(void)state;
	for (uint64_t random = 0; random <= UINT32_MAX; random += UINT32_MAX / 1000) {
		int64_t wait = backoff_ms(5, 1000, 100000, (uint32_t)random);

		assert_true(wait >= before);
		before = wait;
	}
	assert_int_equal(backoff_ms(5, 1000, 100000, UINT32_MAX), 16000);
	assert_int_equal(backoff_ms(1, 1000, 5000, UINT32_MAX / 2), 749); /* the middle of 500 to 1000 */
}

static void attempt_zero_is_the_first(void **state)
{
	(void)state;
	assert_int_equal(backoff_ms(0, 100, 5000, UINT32_MAX), 100);
}

static void a_base_above_the_cap(void **state)
{
	(void)state;
	assert_int_equal(backoff_ms(1, 9000, 5000, UINT32_MAX), 5000);
	assert_int_equal(backoff_ms(7, 9000, 5000, 0), 2500);
	assert_int_equal(backoff_ms(1, 5000, 5000, UINT32_MAX), 5000);
}

static void small_numbers(void **state)
{
	(void)state;
	assert_int_equal(backoff_ms(1, 1, 1, 0), 0);
	assert_int_equal(backoff_ms(1, 1, 1, UINT32_MAX), 1);
	assert_int_equal(backoff_ms(3, 0, 5000, UINT32_MAX), 0);
	assert_int_equal(backoff_ms(4000000000U, 0, 5000, 7), 0);
}

static void does_not_overflow(void **state)
{
	static const uint32_t randoms[] = {0, 1, UINT32_MAX / 2, UINT32_MAX - 1, UINT32_MAX};

	(void)state;
	assert_int_equal(backoff_ms(UINT_MAX, 1, 60000, UINT32_MAX), 60000);
	assert_int_equal(backoff_ms(100, 59999, 60000, UINT32_MAX), 60000);
	for (unsigned i = 0; i < 5; i++) {
		int64_t wait = backoff_ms(UINT_MAX, 1, INT64_MAX, randoms[i]);

		assert_true(wait >= INT64_MAX / 2);
		wait = backoff_ms(64, INT64_MAX / 3, INT64_MAX, randoms[i]);
		assert_true(wait >= INT64_MAX / 2);
	}
	/* A month, far past what 32 bits of milliseconds hold. */
	assert_int_equal(backoff_ms(80, 1000, INT64_C(2592000000), UINT32_MAX), INT64_C(2592000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(doubles_up_to_the_cap),
	    cmocka_unit_test(between_half_and_all),
	    cmocka_unit_test(more_random_is_never_less),
	    cmocka_unit_test(attempt_zero_is_the_first),
	    cmocka_unit_test(a_base_above_the_cap),
	    cmocka_unit_test(small_numbers),
	    cmocka_unit_test(does_not_overflow),
	};

	return cmocka_run_group_tests_name("policy backoff", tests, NULL, NULL);
}
