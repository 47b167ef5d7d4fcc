/* SPDX-License-Identifier: Apache-2.0
 * Which process a worker is, and the end of its log. */
#include "unit.h"

#include "manager/logfile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "1d5bd0a5-2e45-4a43-b0e8-4a30ab0f5a0a"

static char dir[] = "/tmp/camserver-test-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void write_file(const char *suffix, const char *text, size_t len)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/" ID "%s", dir, suffix);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static void the_tail_is_bounded_and_clean(void **state)
{
	char tail[LOG_TAIL_MAX + 1], big[LOG_TAIL_MAX * 2];

	(void)state;
	logfile_tail(dir, ID, tail);
	assert_string_equal(tail, "");
	write_file(".log", "one\ntwo \x02\xff\n", 11);
	logfile_tail(dir, ID, tail);
	assert_string_equal(tail, "one\ntwo ??\n");
	memset(big, 'a', sizeof big);
	big[sizeof big - 1] = 'z';
	write_file(".log", big, sizeof big);
	logfile_tail(dir, ID, tail);
	assert_int_equal(strlen(tail), LOG_TAIL_MAX);
	assert_int_equal(tail[LOG_TAIL_MAX - 1], 'z');
}

static void count_ids(void *arg, const char *id)
{
	assert_string_equal(id, ID);
	(*(int *)arg)++;
}

static void a_process_is_found_again_and_no_other(void **state)
{
	pid_t child = fork(), dead = 0;
	int found = 0;
	struct err e;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(pidfile_read(dir, ID, &dead), -1);
	assert_int_equal(pidfile_write(dir, ID, child, &e), 0);
	assert_int_equal(pidfile_read(dir, ID, &dead), child);
	pidfile_each(dir, count_ids, &found);
	assert_int_equal(found, 1);
	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_int_equal(pidfile_read(dir, ID, &dead), 0); /* a zombie is nobody, but its number is taken */
	assert_int_equal(dead, 0);
	waitpid(child, NULL, 0);
	assert_int_equal(pidfile_read(dir, ID, &dead), 0);
	assert_int_equal(dead, child);
	pidfile_remove(dir, ID);
	assert_int_equal(pidfile_read(dir, ID, &dead), -1);
}

static void a_number_that_is_anothers_now_is_not_ours(void **state)
{
	char text[128];
	pid_t dead = 1;
	int len = snprintf(text, sizeof text, "%d 1 00000000-0000-0000-0000-000000000000\n", (int)getpid());

	(void)state;
	write_file(".pid", text, (size_t)len); /* of another boot */
	assert_int_equal(pidfile_read(dir, ID, &dead), 0);
	assert_int_equal(dead, 0);
	write_file(".pid", "garbage", 7);
	assert_int_equal(pidfile_read(dir, ID, &dead), 0);
	write_file(".pid", "1 1 x\n", 6);
	assert_int_equal(pidfile_read(dir, ID, &dead), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_tail_is_bounded_and_clean),
	    cmocka_unit_test(a_process_is_found_again_and_no_other),
	    cmocka_unit_test(a_number_that_is_anothers_now_is_not_ours),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
