/* SPDX-License-Identifier: Apache-2.0
 * Times as cameras, programs and people write them; and what is none. */
#include "common/iso_time.h"
#include "tests/unit/unit.h"

#include <string.h>

static void the_same_moment_in_many_forms(void **state)
{
	static const struct {
		const char *text;
		bool rfc; /* RFC 3339 has it, too */
		int us;
	} rows[] = {
	    {"2026-02-28T15:04:05Z", true, 0},
	    {"2026-02-28t15:04:05z", true, 0},
	    {"2026-03-01T00:04:05+09:00", true, 0},
	    {"2026-02-28T10:34:05-04:30", true, 0},
	    {"2026-02-28T15:04:05.5Z", true, 500000},
	    {"2026-02-28T15:04:05.123456789Z", true, 123456},
	    {"2026-02-28 15:04:05", false, 0},
	    {"2026-02-28T15:04:05", false, 0},
	    {"2026-02-28T15:04:05,25", false, 250000},
	    {"2026-03-01T00:04:05+0900", false, 0},
	    {"2026-03-01T00:04:05+09", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		time_t at = 0;
		int us = -1;

		assert_true(iso_time_parse(rows[i].text, ISO_8601, &at, &us));
		assert_int_equal(at, 1772291045);
		assert_int_equal(us, rows[i].us);
		at = 0;
		assert_int_equal(iso_time_parse(rows[i].text, RFC_3339, &at, &us), rows[i].rfc);
		assert_int_equal(at, rows[i].rfc ? 1772291045 : 0);
	}
}

static void what_is_no_time(void **state)
{
	static const char *const rows[] = {"", "2026", "2026-02-28", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
	    "2026-00-01T00:00:00Z", "2026-02-28T24:00:00Z", "2026-02-28T00:60:00Z", "2026-02-28T00:00:61Z",
	    "1969-12-31T23:59:59Z", "2026-02-28T00:00:00.Z", "2026-02-28T00:00:00.1234567890Z", "2026-02-28T00:00:00ZZ",
	    "2026-02-28T00:00:00+24:00", "2026-02-28T00:00:00+09:", "2026-02-28T00:00:00+09:60",
	    "2026-02-28T00:00:00 Z", " 2026-02-28T00:00:00Z", "2026-2-28T00:00:00Z", "+026-02-28T00:00:00Z", "now"};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		time_t at;
		int us;

		assert_false(iso_time_parse(rows[i], ISO_8601, &at, &us));
		assert_false(iso_time_parse(rows[i], RFC_3339, &at, &us));
	}
}

static void as_the_database_reads_it(void **state)
{
	char utc[RFC3339_UTC_LEN + 1] = "untouched";

	(void)state;
	assert_true(rfc3339_parse("2024-02-29T23:59:60.000001+09:00", utc));
	assert_string_equal(utc, "2024-02-29T15:00:00.000001Z");
	assert_true(rfc3339_parse("2026-01-01T00:30:00+01:00", utc));
	assert_string_equal(utc, "2025-12-31T23:30:00.000000Z");
	/* In range as it is written, and not so in UTC. */
	strcpy(utc, "untouched");
	assert_false(rfc3339_parse("1970-01-01T00:00:00+01:00", utc));
	assert_false(rfc3339_parse("9999-12-31T23:59:59-01:00", utc));
	assert_false(rfc3339_parse("2026-01-01 00:30:00", utc));
	assert_string_equal(utc, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_same_moment_in_many_forms),
	    cmocka_unit_test(what_is_no_time),
	    cmocka_unit_test(as_the_database_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
