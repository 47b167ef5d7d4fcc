/* SPDX-License-Identifier: Apache-2.0
 * The grammar of identifiers and of text from outside. */
#include "common/ident.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <string.h>

static void identifiers(void **state)
{
	static const char *const good[] = {"a", "0", "Z", "cam_2f_19", "a.b-c_d", "9..", "a--", "A1"};
	static const char *const bad[] = {"", "_a", ".a", "-a", "..", "a b", "a/b", "a\\b", "a\n", "\na", "a%", "a\x7f",
	    "caf\xc3\xa9", "a:b", "a'b", "a\"b"};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!ident_valid(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ident_valid(bad[i]))
			fail_msg("accepted: %s", bad[i]);
}

static void identifier_length(void **state)
{
	char s[80];

	(void)state;
	memset(s, 'a', sizeof s);
	s[IDENT_MAX] = '\0';
	assert_true(ident_valid(s));
	s[IDENT_MAX] = 'a';
	s[IDENT_MAX + 1] = '\0';
	assert_false(ident_valid(s));
}

/* Only what the grammar names, byte by byte. */
static void every_byte_in_an_identifier(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char inside[] = {'a', (char)c, '\0'}, first[] = {(char)c, '\0'};
		int alnum = c < 128 && isalnum(c);

		assert_int_equal(ident_valid(first), alnum);
		assert_int_equal(ident_valid(inside), alnum || c == '_' || c == '.' || c == '-');
	}
}

static void uuids(void **state)
{
	static const char *const good[] = {"550e8400-e29b-41d4-a716-446655440000",
	    "550E8400-E29B-41D4-A716-446655440000", "00000000-0000-0000-0000-000000000000",
	    "ffffffff-FFFF-ffff-FFFF-ffffffffffff"};
	static const char *const bad[] = {"", "550e8400-e29b-41d4-a716-44665544000",
	    "550e8400-e29b-41d4-a716-4466554400000", "550e8400e29b41d4a716446655440000",
	    "{550e8400-e29b-41d4-a716-446655440000}", "550e8400-e29b-41d4-a716-44665544000g",
	    "550e8400-e29b-41d4-a716_446655440000", "550e8400-e29b-41d4-a71-6446655440000",
	    " 50e8400-e29b-41d4-a716-446655440000", "-50e8400-e29b-41d4-a716-446655440000",
	    "550e8400-e29b-41d4-a716-4466554400 0"};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!ident_is_uuid(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ident_is_uuid(bad[i]))
			fail_msg("accepted: %s", bad[i]);
}

static void new_uuids_differ(void **state)
{
	char a[UUID_TEXT_LEN + 1], b[UUID_TEXT_LEN + 1];

	(void)state;
	ident_new_uuid(a);
	ident_new_uuid(b);
	assert_true(ident_is_uuid(a));
	assert_string_not_equal(a, b);
	assert_int_equal(strspn(a, "0123456789abcdef-"), UUID_TEXT_LEN);
	assert_int_equal(a[14], '4'); /* random, not of time and machine */
}

static void text(void **state)
{
	static const char *const good[] = {
	    "a", "Ada Lovelace", "\xe5\xb1\xb1\xe7\x94\xb0", /* 山田 */
	    "\xc2\x80",                                      /* the least of two bytes */
	    "\xdf\xbf", "\xe0\xa0\x80",                      /* the least of three */
	    "\xed\x9f\xbf",                                  /* the last before the surrogates */
	    "\xee\x80\x80",                                  /* the first after them */
	    "\xef\xbf\xbf", "\xf0\x90\x80\x80",              /* the least of four */
	    "\xf4\x8f\xbf\xbf",                              /* U+10FFFF */
	    "\xf0\x9f\x93\xb7 cam",                          /* a camera */
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!ident_is_text(good[i], 100))
			fail_msg("refused: case %zu", i);
}

static void broken_text(void **state)
{
	static const char *const bad[] = {
	    "",
	    "a\tb",
	    "a\n",
	    "\x01",
	    "\x1f",
	    "\x7f",
	    "\x80", /* a continuation alone */
	    "\xbf",
	    "a\xff",
	    "\xfe",
	    "\xc3", /* cut off */
	    "\xe5\xb1",
	    "\xf0\x9f\x93",
	    "\xc3(", /* no continuation */
	    "\xe5\xb1(",
	    "\xf0\x9f(\xb7",
	    "\xc0\x80", /* overlong NUL */
	    "\xc0\xaf", /* overlong '/' */
	    "\xc1\xbf",
	    "\xe0\x80\xaf",
	    "\xe0\x9f\xbf",
	    "\xf0\x80\x80\xaf",
	    "\xf0\x8f\xbf\xbf",
	    "\xed\xa0\x80", /* surrogates */
	    "\xed\xbf\xbf",
	    "\xed\xa0\x80\xed\xb0\x80",
	    "\xf4\x90\x80\x80", /* beyond U+10FFFF */
	    "\xf7\xbf\xbf\xbf",
	    "\xf8\x88\x80\x80\x80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ident_is_text(bad[i], 100))
			fail_msg("accepted: case %zu", i);
}

static void text_length_is_in_bytes(void **state)
{
	(void)state;
	assert_true(ident_is_text("abc", 3));
	assert_false(ident_is_text("abcd", 3));
	assert_true(ident_is_text("\xe5\xb1\xb1", 3));
	assert_false(ident_is_text("\xe5\xb1\xb1", 2));
	assert_false(ident_is_text("a", 0));
}

static void cleaning(void **state)
{
	char text[] = "caf\xc3\xa9 \xe3\x82\xab \n\x7f \xff \xe3\x82"; /* cut inside a character */
	char fine[] = "plain";

	(void)state;
	ident_clean(text);
	assert_string_equal(text, "caf\xc3\xa9 \xe3\x82\xab ?? ? ??");
	ident_clean(fine);
	assert_string_equal(fine, "plain");
}

static void archive_paths(void **state)
{
	static const char *const good[] = {
	    "a", "camera-archive/2026/01/31/gate-1/20260131T235959.123Z_0e6a.jpg", "a.b/c_d", "a..b"};
	static const char *const bad[] = {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", ".a", "a/.b",
	    "a b", "a\\b", "a\nb", "\xc3\xa4"};
	char path[IDENT_PATH_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(ident_is_path(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ident_is_path(bad[i]))
			fail_msg("\"%s\" passes", bad[i]);
	memset(path, 'a', sizeof path);
	path[IDENT_PATH_MAX + 1] = '\0';
	assert_false(ident_is_path(path));
	path[IDENT_PATH_MAX] = '\0';
	assert_true(ident_is_path(path));
}

static void a_uuid_in_lower_case(void **state)
{
	char uuid[UUID_TEXT_LEN + 1] = "0E6A1B5C-4F7D-4B1E-9A53-6D1F0C2B7E88";

	(void)state;
	ident_lower_uuid(uuid, uuid);
	assert_string_equal(uuid, "0e6a1b5c-4f7d-4b1e-9a53-6d1f0c2b7e88");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cleaning),
	    cmocka_unit_test(identifiers),
	    cmocka_unit_test(identifier_length),
	    cmocka_unit_test(every_byte_in_an_identifier),
	    cmocka_unit_test(uuids),
	    cmocka_unit_test(new_uuids_differ),
	    cmocka_unit_test(text),
	    cmocka_unit_test(broken_text),
	    cmocka_unit_test(text_length_is_in_bytes),
	    cmocka_unit_test(archive_paths),
	    cmocka_unit_test(a_uuid_in_lower_case),
	};

	return cmocka_run_group_tests_name("ident", tests, NULL, NULL);
}
