/* SPDX-License-Identifier: Apache-2.0
 * What processes remember together: for how long, until what changes, and whatever becomes of one of them. */
#include "fcgi/answer_cache.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_MS = 200, MANY = 4 * ANSWER_CACHE_CALLERS, KILLS = 20 };

static struct answer_cache *open_in(void **state)
{
	struct err e = {""};
	struct answer_cache *c = answer_cache_open(*state, MAX_MS, &e);

	if (c == NULL)
		fail_msg("%s", e.msg);
	return c;
}

static struct cache_moment at(int64_t ms, uint64_t changes)
{
	return (struct cache_moment){ms, changes};
}

static void keep(struct answer_cache *c, const char *key, const char *text, struct cache_moment asked, int64_t good_ms)
{
	struct cached_answer a = {.status = 503,
	    .retry_after = 7,
	    .needs = CALLER_HAS_NO_LEASE,
	    .code = "OVER_CAPACITY",
	    .bytes = text,
	    .len = strlen(text)};

	answer_cache_keep(c, key, &a, asked, good_ms);
}

static bool has(struct answer_cache *c, const char *key, const char *text, struct cache_moment now)
{
	const struct cached_answer *a = answer_cache_find(c, key, now);

	return a != NULL && a->len == strlen(text) && memcmp(a->bytes, text, a->len) == 0;
}

static void an_answer_is_given_again(void **state)
{
	struct answer_cache *c = open_in(state);
	const struct cached_answer *a;

	assert_null(answer_cache_find(c, "k", at(1000, 5)));
	keep(c, "k", "body", at(1000, 5), INT64_MAX);
	a = answer_cache_find(c, "k", at(1199, 5));
	assert_non_null(a);
	assert_int_equal(a->status, 503);
	assert_int_equal(a->retry_after, 7);
	assert_int_equal(a->needs, CALLER_HAS_NO_LEASE);
	assert_string_equal(a->code, "OVER_CAPACITY");
	assert_true(has(c, "k", "body", at(1199, 5)));
	assert_null(answer_cache_find(c, "K", at(1000, 5)));
	keep(c, "k", "another", at(1100, 5), INT64_MAX);
	assert_true(has(c, "k", "another", at(1299, 5)));
	answer_cache_close(c);
}

static void its_time_is_short(void **state)
{
	struct answer_cache *c = open_in(state);

	keep(c, "k", "body", at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(c, "k", at(1200, 5))); /* never longer than the cache's own */
	keep(c, "k", "body", at(1000, 5), 50);
	assert_true(has(c, "k", "body", at(1049, 5)));
	assert_null(answer_cache_find(c, "k", at(1050, 5))); /* nor past what may turn it */
	keep(c, "k", "body", at(1000, 5), 0);
	assert_null(answer_cache_find(c, "k", at(1000, 5)));
	answer_cache_close(c);
}

static void a_change_ends_it(void **state)
{
	struct answer_cache *c = open_in(state);

	keep(c, "k", "body", at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(c, "k", at(1001, 6)));
	/* Asked before the change, answered after it: never good. */
	keep(c, "k", "old news", at(1002, 5), INT64_MAX);
	assert_null(answer_cache_find(c, "k", at(1003, 6)));
	answer_cache_close(c);
}

static void what_is_known_of_callers(void **state)
{
	struct answer_cache *c = open_in(state);

	assert_false(answer_cache_knows(c, "anon:a", CALLER_MAY_VIEW, at(1000, 5)));
	answer_cache_learn(c, "anon:a", CALLER_MAY_VIEW, at(1000, 5), 5000);
	assert_true(answer_cache_knows(c, "anon:a", CALLER_MAY_VIEW, at(5999, 5)));
	assert_true(answer_cache_knows(c, "anon:a", CALLER_MAY_VIEW, at(5999, 9)));
	assert_false(answer_cache_knows(c, "anon:a", CALLER_MAY_VIEW, at(6000, 5)));
	assert_false(answer_cache_knows(c, "anon:a", CALLER_IS_SEEN, at(1000, 5)));
	assert_false(answer_cache_knows(c, "anon:b", CALLER_MAY_VIEW, at(1000, 5)));
	answer_cache_close(c);
}

static void having_no_lease_ends_with_a_change(void **state)
{
	struct answer_cache *c = open_in(state);

	answer_cache_learn(c, "anon:a", CALLER_HAS_NO_LEASE, at(1000, 5), 5000);
	assert_true(answer_cache_knows(c, "anon:a", CALLER_HAS_NO_LEASE, at(1001, 5)));
	assert_false(answer_cache_knows(c, "anon:a", CALLER_HAS_NO_LEASE, at(1001, 6)));
	/* Another fact, learnt since, does not bring it back. */
	answer_cache_learn(c, "anon:a", CALLER_MAY_VIEW, at(1002, 6), 5000);
	assert_false(answer_cache_knows(c, "anon:a", CALLER_HAS_NO_LEASE, at(1003, 6)));
	assert_true(answer_cache_knows(c, "anon:a", CALLER_MAY_VIEW, at(1003, 6)));
	answer_cache_close(c);
}

static void what_does_not_fit_is_not_remembered(void **state)
{
	struct answer_cache *c = open_in(state);
	char key[ANSWER_CACHE_KEY_MAX + 2], *large = calloc(1, ANSWER_CACHE_BYTES_MAX + 2);

	memset(key, 'k', sizeof key);
	key[sizeof key - 1] = '\0';
	keep(c, key, "body", at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(c, key, at(1000, 5)));
	answer_cache_learn(c, key, CALLER_MAY_VIEW, at(1000, 5), 5000);
	assert_false(answer_cache_knows(c, key, CALLER_MAY_VIEW, at(1000, 5)));
	key[ANSWER_CACHE_KEY_MAX] = '\0';
	keep(c, key, "body", at(1000, 5), INT64_MAX);
	assert_true(has(c, key, "body", at(1000, 5)));
	keep(c, "", "body", at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(c, "", at(1000, 5)));
	assert_non_null(large);
	memset(large, 'x', ANSWER_CACHE_BYTES_MAX + 1);
	keep(c, "large", large, at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(c, "large", at(1000, 5)));
	large[ANSWER_CACHE_BYTES_MAX] = '\0';
	keep(c, "large", large, at(1000, 5), INT64_MAX);
	assert_true(has(c, "large", large, at(1000, 5)));
	free(large);
	answer_cache_close(c);
}

/* The table is bounded: the newest are known, each under its own name; the oldest made room. */
static void old_callers_make_room(void **state)
{
	struct answer_cache *c = open_in(state);
	char name[32];
	int known = 0;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "anon:%d", i);
		answer_cache_learn(c, name, CALLER_MAY_VIEW, at(1000 + i, 5), 1000000);
		assert_true(answer_cache_knows(c, name, CALLER_MAY_VIEW, at(1000 + i, 5)));
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "anon:%d", i);
		known += answer_cache_knows(c, name, CALLER_MAY_VIEW, at(1000 + MANY, 5));
	}
	assert_in_range(known, ANSWER_CACHE_CALLERS / 2, ANSWER_CACHE_CALLERS);
	assert_false(answer_cache_knows(c, "anon:0", CALLER_MAY_VIEW, at(1000 + MANY, 5)));
	answer_cache_close(c);
}

static void processes_share_it(void **state)
{
	struct answer_cache *a = open_in(state), *b = open_in(state);
	struct stat st;
	char path[UNIT_PATH_MAX];

	keep(a, "k", "body", at(1000, 5), INT64_MAX);
	answer_cache_learn(a, "anon:a", CALLER_IS_SEEN, at(1000, 5), 5000);
	answer_cache_close(a);
	assert_true(has(b, "k", "body", at(1001, 5)));
	assert_true(answer_cache_knows(b, "anon:a", CALLER_IS_SEEN, at(1001, 5)));
	answer_cache_close(b);
	snprintf(path, sizeof path, "%s/answers", (const char *)*state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600); /* what is in it would be believed */
	assert_int_equal(unit_count_files(*state), 1);
}

/* Once nobody has it any more, whoever comes next begins anew: the clock may be another boot's. */
static void the_first_finds_it_empty(void **state)
{
	struct answer_cache *a = open_in(state), *b = open_in(state);
	char path[UNIT_PATH_MAX];

	keep(a, "k", "body", at(1000, 5), INT64_MAX);
	answer_cache_close(b);
	b = open_in(state);
	assert_true(has(b, "k", "body", at(1001, 5)));
	answer_cache_close(a);
	answer_cache_close(b);
	a = open_in(state);
	assert_null(answer_cache_find(a, "k", at(1001, 5)));
	answer_cache_close(a);
	unit_write(*state, "answers", "short", 5, path);
	a = open_in(state);
	keep(a, "k", "body", at(1000, 5), INT64_MAX);
	assert_true(has(a, "k", "body", at(1001, 5)));
	answer_cache_close(a);
}

/* Programs of two versions, as during an upgrade: each has its own. */
static void another_versions_file_is_left_alone(void **state)
{
	struct answer_cache *old = open_in(state), *young;
	char path[UNIT_PATH_MAX];
	FILE *f;

	keep(old, "k", "old", at(1000, 5), INT64_MAX);
	snprintf(path, sizeof path, "%s/answers", (const char *)*state);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fputc('x', f), 'x');
	fclose(f);
	young = open_in(state);
	assert_null(answer_cache_find(young, "k", at(1001, 5)));
	keep(young, "k", "young", at(1000, 5), INT64_MAX);
	assert_true(has(old, "k", "old", at(1001, 5)));
	assert_true(has(young, "k", "young", at(1001, 5)));
	answer_cache_close(old);
	answer_cache_close(young);
}

/* Killed at any point, also with the lock held, a process leaves no answer that is not whole, and nobody waiting. */
static void a_killed_process_harms_nobody(void **state)
{
	static char ones[8192], twos[8192];
	struct answer_cache *c = open_in(state);
	const struct cached_answer *a;

	memset(ones, '1', sizeof ones - 1);
	memset(twos, '2', sizeof twos - 1);
	for (int i = 0; i < KILLS; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (;;) {
				keep(c, "k", ones, at(1000, 5), INT64_MAX);
				keep(c, "k", twos, at(1000, 5), INT64_MAX);
			}
		}
		assert_true(child > 0);
		while (answer_cache_find(c, "k", at(1001, 5)) == NULL)
			;
		usleep((useconds_t)(100 * i));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		a = answer_cache_find(c, "k", at(1001, 5));
		if (a != NULL)
			assert_true(memcmp(a->bytes, a->bytes[0] == '1' ? ones : twos, a->len) == 0);
		keep(c, "k", ones, at(1000, 5), INT64_MAX);
		assert_true(has(c, "k", ones, at(1001, 5)));
		keep(c, "k", ones, at(1000, 5), 0);
	}
	answer_cache_close(c);
}

static void works_without_a_cache(void **state)
{
	struct err e = {""};

	assert_null(answer_cache_open("/nonexistent", MAX_MS, &e));
	assert_contains(e.msg, "/nonexistent/answers");
	(void)state;
	keep(NULL, "k", "body", at(1000, 5), INT64_MAX);
	assert_null(answer_cache_find(NULL, "k", at(1000, 5)));
	answer_cache_learn(NULL, "a", CALLER_MAY_VIEW, at(1000, 5), 5000);
	assert_false(answer_cache_knows(NULL, "a", CALLER_MAY_VIEW, at(1000, 5)));
	answer_cache_close(NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, unit_mkdir, unit_rmdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(an_answer_is_given_again),
	    T(its_time_is_short),
	    T(a_change_ends_it),
	    T(what_is_known_of_callers),
	    T(having_no_lease_ends_with_a_change),
	    T(what_does_not_fit_is_not_remembered),
	    T(old_callers_make_room),
	    T(processes_share_it),
	    T(the_first_finds_it_empty),
	    T(another_versions_file_is_left_alone),
	    T(a_killed_process_harms_nobody),
	    T(works_without_a_cache),
	};

	return cmocka_run_group_tests_name("answer_cache", tests, NULL, NULL);
}
