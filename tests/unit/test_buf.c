/* SPDX-License-Identifier: Apache-2.0
 * The bounded buffer. */
#include "common/buf.h"
#include "tests/unit/unit.h"

#include <string.h>

static void starts_as_an_empty_string(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	assert_false(b.failed);
	buf_free(&b);
	assert_string_equal(b.data, "");
	buf_free(&b);
}

static void appends_bytes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	assert_int_equal(buf_append(&b, "ab", 2), 0);
	assert_int_equal(buf_append(&b, "\0c", 2), 0);
	assert_int_equal(buf_append(&b, "", 0), 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "ab\0c", 5); /* and the NUL after it */
	buf_free(&b);
}

static void exactly_max_fits(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	assert_int_equal(buf_append(&b, "abcd", 4), 0);
	assert_string_equal(b.data, "abcd");
	assert_int_equal(buf_append(&b, "e", 1), -1);
	assert_true(b.failed);
	assert_string_equal(b.data, "abcd");
	assert_int_equal(b.len, 4);
	buf_free(&b);
}

static void one_more_than_max_does_not(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 3);
	assert_int_equal(buf_append(&b, "abcd", 4), -1);
	assert_string_equal(b.data, "");
	assert_true(b.failed);
	buf_free(&b);
}

/* A caller may look at the result once, at the end. */
static void a_failure_stays(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 3);
	assert_int_equal(buf_append(&b, "abcd", 4), -1);
	assert_int_equal(buf_append(&b, "a", 1), -1);
	assert_int_equal(buf_printf(&b, "a"), -1);
	assert_int_equal(b.len, 0);
	buf_reset(&b);
	assert_false(b.failed);
	assert_int_equal(buf_append(&b, "a", 1), 0);
	buf_free(&b);
}

static void huge_lengths_do_not_wrap(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	assert_int_equal(buf_append(&b, "abc", 3), 0);
	assert_int_equal(buf_append(&b, "x", SIZE_MAX), -1);
	assert_int_equal(buf_append(&b, "x", SIZE_MAX - 2), -1);
	assert_string_equal(b.data, "abc");
	buf_free(&b);
}

static void prints(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(buf_printf(&b, "%d-%s", 12, "x"), 0);
	assert_int_equal(buf_printf(&b, "%s", "abcdef"), 0);
	assert_string_equal(b.data, "12-xabcdef");
	assert_int_equal(b.len, 10);
	assert_int_equal(buf_printf(&b, "%s", ""), 0);
	assert_int_equal(buf_printf(&b, "!"), -1);
	assert_string_equal(b.data, "12-xabcdef");
	buf_free(&b);
}

static void grows_by_many_small_steps(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 200000);
	for (int i = 0; i < 50000; i++)
		assert_int_equal(buf_printf(&b, "%04d", i % 10000), 0);
	assert_int_equal(b.len, 200000);
	assert_memory_equal(b.data + 4 * 49999, "9999", 5);
	assert_int_equal(buf_append(&b, "x", 1), -1);
	buf_free(&b);
}

static void reset_keeps_small_memory_only(void **state)
{
	static char block[100 * 1024];
	struct buf b;

	(void)state;
	buf_init(&b, sizeof block);
	assert_int_equal(buf_append(&b, "abc", 3), 0);
	buf_reset(&b);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	assert_true(b.cap > 0);
	memset(block, 'x', sizeof block);
	assert_int_equal(buf_append(&b, block, sizeof block), 0);
	buf_reset(&b);
	assert_int_equal(b.cap, 0);
	assert_string_equal(b.data, "");
	assert_int_equal(b.max, sizeof block);
	assert_int_equal(buf_append(&b, "z", 1), 0);
	assert_string_equal(b.data, "z");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(starts_as_an_empty_string),
	    cmocka_unit_test(appends_bytes),
	    cmocka_unit_test(exactly_max_fits),
	    cmocka_unit_test(one_more_than_max_does_not),
	    cmocka_unit_test(a_failure_stays),
	    cmocka_unit_test(huge_lengths_do_not_wrap),
	    cmocka_unit_test(prints),
	    cmocka_unit_test(grows_by_many_small_steps),
	    cmocka_unit_test(reset_keeps_small_memory_only),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
