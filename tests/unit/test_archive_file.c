/* SPDX-License-Identifier: Apache-2.0
 * Files of an archive directory: put, moved and removed as a whole, and nothing outside of it. */
#include "common/archive_file.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char one[] = "camera-archive/2026/01/02/c/a.jpg", two[] = "camera-archive/2026/01/02/c/b.jpg",
		  other[] = "case/x/c/a.jpg";

static bool exists(const char *root, const char *path)
{
	char full[2 * UNIT_PATH_MAX];

	snprintf(full, sizeof full, "%s/%s", root, path);
	return access(full, F_OK) == 0;
}

static void expect(const char *root, const char *path, const char *text)
{
	char sum[SHA256_HEX_LEN + 1], wanted[SHA256_HEX_LEN + 1];
	size_t bytes;

	assert_int_equal(archive_file_sum(root, path, sum, &bytes), 0);
	assert_int_equal(bytes, strlen(text));
	crypto_sha256_hex(text, strlen(text), wanted);
	assert_string_equal(sum, wanted);
}

static void put_replaces_and_directories_come_and_go(void **state)
{
	const char *root = *state;
	struct err e;

	assert_int_equal(archive_file_put(root, one, "first", 5, &e), 0);
	assert_int_equal(archive_file_put(root, one, "second", 6, &e), 0);
	assert_int_equal(archive_file_put(root, two, "b", 1, &e), 0);
	expect(root, one, "second");
	assert_int_equal(archive_file_remove(root, one, &e), 0);
	assert_true(exists(root, two));
	assert_int_equal(archive_file_remove(root, one, &e), 0);
	assert_int_equal(archive_file_remove(root, two, &e), 0);
	assert_false(exists(root, "camera-archive"));
	assert_int_equal(unit_count_files(root), 0);
}

static void a_move_leaves_one_copy(void **state)
{
	const char *root = *state;
	struct err e;

	assert_int_equal(archive_file_put(root, one, "x", 1, &e), 0);
	assert_int_equal(archive_file_move(root, one, other, &e), 0);
	expect(root, other, "x");
	assert_false(exists(root, "camera-archive"));
	/* Done before, and neither there. */
	assert_int_equal(archive_file_move(root, one, other, &e), 0);
	expect(root, other, "x");
	assert_int_equal(archive_file_move(root, two, "case/y/b.jpg", &e), 0);
	assert_int_equal(archive_file_remove(root, other, &e), 0);
	assert_int_equal(archive_file_remove(root, "case/y/b.jpg", &e), 0);
	assert_int_equal(unit_count_files(root), 0);
}

static void a_root_that_is_not_there_is_no_removal(void **state)
{
	char gone[UNIT_PATH_MAX];
	struct err e;

	assert_true(snprintf(gone, sizeof gone, "%s/not-mounted", (const char *)*state) < (int)sizeof gone);
	assert_int_equal(archive_file_remove(gone, one, &e), -1);
	assert_int_equal(archive_file_move(gone, one, other, &e), -1);
	assert_int_equal(archive_file_put(gone, one, "x", 1, &e), -1);
	assert_int_equal(unit_count_files(*state), 0);
}

static void paths_lead_nowhere_else(void **state)
{
	static const char *const bad[] = {"", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", ".hidden"};
	struct err e;
	char sum[SHA256_HEX_LEN + 1];
	size_t bytes;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(archive_file_put(*state, bad[i], "x", 1, &e), -1);
		assert_int_equal(archive_file_remove(*state, bad[i], &e), -1);
		assert_int_equal(archive_file_move(*state, bad[i], one, &e), -1);
		assert_int_equal(archive_file_move(*state, one, bad[i], &e), -1);
		assert_int_equal(archive_file_sum(*state, bad[i], sum, &bytes), -1);
	}
	assert_int_equal(unit_count_files(*state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(put_replaces_and_directories_come_and_go, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(a_move_leaves_one_copy, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(a_root_that_is_not_there_is_no_removal, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(paths_lead_nowhere_else, unit_mkdir, unit_rmdir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
