/* SPDX-License-Identifier: Apache-2.0
 * What a Range header asks for. */
#include "fcgi/range.h"
#include "tests/unit/unit.h"

static void expect(const char *header, size_t len, enum range_kind kind, size_t first, size_t last)
{
	size_t f = 4711, l = 4711;

	if (range_parse(header, len, &f, &l) != kind)
		fail_msg("\"%s\" of %zu: not %d", header, len, kind);
	assert_int_equal(f, kind == RANGE_PART ? first : 4711);
	assert_int_equal(l, kind == RANGE_PART ? last : 4711);
}

static void parts(void **state)
{
	(void)state;
	expect("bytes=0-0", 10, RANGE_PART, 0, 0);
	expect("bytes=0-9", 10, RANGE_PART, 0, 9);
	expect("bytes=2-5", 10, RANGE_PART, 2, 5);
	expect("Bytes=2-5", 10, RANGE_PART, 2, 5);
	expect("bytes=9-", 10, RANGE_PART, 9, 9);
	expect("bytes=5-99", 10, RANGE_PART, 5, 9);
	expect("bytes=-3", 10, RANGE_PART, 7, 9);
	expect("bytes=-10", 10, RANGE_PART, 0, 9);
	expect("bytes=-11", 10, RANGE_PART, 0, 9);
	expect("bytes=1-99999999999999999999999999999", 10, RANGE_PART, 1, 9);
	expect("bytes=-99999999999999999999999999999", 10, RANGE_PART, 0, 9);
}

static void none(void **state)
{
	(void)state;
	expect("bytes=10-", 10, RANGE_NONE, 0, 0);
	expect("bytes=10-20", 10, RANGE_NONE, 0, 0);
	expect("bytes=-0", 10, RANGE_NONE, 0, 0);
	expect("bytes=0-", 0, RANGE_NONE, 0, 0);
	expect("bytes=-1", 0, RANGE_NONE, 0, 0);
	expect("bytes=99999999999999999999999999999-", 10, RANGE_NONE, 0, 0);
}

static void everything(void **state)
{
	static const char *const headers[] = {NULL, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2",
	    "bytes=1-2,4-5", "bytes=1-2 ", "bytes= 1-2", "lines=1-2", "bytes=1--2", "bytes=0x1-2", "bytes=+1-2"};

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		expect(headers[i], 10, RANGE_ALL, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parts),
	    cmocka_unit_test(none),
	    cmocka_unit_test(everything),
	};

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
