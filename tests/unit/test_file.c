/* SPDX-License-Identifier: Apache-2.0
 * Files below a directory, and nothing else, whatever the path says and whatever lies there. */
#include "common/file.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make(const char *dir)
{
	char path[UNIT_PATH_MAX];

	assert_true(snprintf(path, sizeof path, "%s/a", dir) < (int)sizeof path);
	assert_int_equal(mkdir(path, 0700), 0);
	unit_write(dir, "a/file.jpg", "inside", 6, path);
}

static int clean(void **state)
{
	static const char *const names[] = {"a/file.jpg", "a/link.jpg", "a"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[UNIT_PATH_MAX];

		snprintf(path, sizeof path, "%s/%s", (const char *)*state, names[i]);
		remove(path);
	}
	return unit_rmdir(state);
}

static void what_is_below(void **state)
{
	char *text;
	size_t len;
	int fd;

	make(*state);
	fd = file_open_below(*state, "a/file.jpg");
	assert_true(fd >= 0);
	assert_int_equal(file_read_fd(fd, 100, &text, &len), 0);
	close(fd);
	assert_string_equal(text, "inside");
	assert_int_equal(len, 6);
	free(text);
	assert_int_equal(file_open_below(*state, "a/none.jpg"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(file_open_below(*state, "b/file.jpg"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(file_open_below(*state, "a/file.jpg/x"), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(file_open_below("/nonexistent", "a"), -1);
}

static void paths_that_lead_elsewhere(void **state)
{
	static const char *const bad[] = {"", "/", "/etc/passwd", "..", "../etc/passwd", "a/../../etc/passwd",
	    "a//file.jpg", "a/", "./a", "a/./file.jpg", ".hidden", "a/file.jpg\n", "a\\file", "a/%2e%2e", "a/file jpg"};

	make(*state);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		errno = 0;
		if (file_open_below(*state, bad[i]) != -1 || errno != EINVAL)
			fail_msg("\"%s\" was opened", bad[i]);
	}
}

static void links_are_not_followed(void **state)
{
	char path[UNIT_PATH_MAX];

	make(*state);
	assert_true(snprintf(path, sizeof path, "%s/a/link.jpg", (const char *)*state) < (int)sizeof path);
	assert_int_equal(symlink("file.jpg", path), 0);
	assert_int_equal(file_open_below(*state, "a/link.jpg"), -1);
	assert_int_equal(errno, ELOOP);
	assert_true(snprintf(path, sizeof path, "%s/b", (const char *)*state) < (int)sizeof path);
	assert_int_equal(symlink("a", path), 0);
	assert_int_equal(file_open_below(*state, "b/file.jpg"), -1);
	assert_true(errno == ENOTDIR || errno == ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_is_below, unit_mkdir, clean),
	    cmocka_unit_test_setup_teardown(paths_that_lead_elsewhere, unit_mkdir, clean),
	    cmocka_unit_test_setup_teardown(links_are_not_followed, unit_mkdir, clean),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
