/* SPDX-License-Identifier: Apache-2.0
 * Links to images: who signed what until when, and keys that change under a running program. */
#include "common/media.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char frame[] = "0e6a1b5c-4f7d-4b1e-9a53-6d1f0c2b7e88", other[] = "0e6a1b5c-4f7d-4b1e-9a53-6d1f0c2b7e89";
static const char key_a[] = "0123456789abcdef0123456789abcdef", key_b[] = "any text, with blanks & signs";

static struct media_keys keys_of(const char *first, const char *second)
{
	struct media_keys k = {.n = second != NULL ? 2 : 1};

	strcpy(k.keys[0], first);
	if (second != NULL)
		strcpy(k.keys[1], second);
	return k;
}

static void load(struct media_keys *k, const char *dir, const char *text)
{
	char path[UNIT_PATH_MAX];
	struct err e = {""};

	unit_write(dir, "key", text, strlen(text), path);
	if (media_keys_load(k, path, &e) < 0)
		fail_msg("%s", e.msg);
}

static void a_signature_is_of_one_frame_and_one_time(void **state)
{
	struct media_keys k = keys_of(key_a, NULL);
	char sig[SHA256_HEX_LEN + 1], again[SHA256_HEX_LEN + 1];

	(void)state;
	assert_int_equal(media_sign(&k, frame, 1800000000, sig), 0);
	/* printf 'media/frame\n%s\n%s' FRAME 1800000000 | openssl dgst -sha256 -hmac KEY */
	assert_string_equal(sig, "2bf0a689712c7caaeb32bef83a647075037a13017f9915fcf402564379f264b1");
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 1799999999), MEDIA_VALID);
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 1800000000), MEDIA_EXPIRED);
	assert_int_equal(media_verify(&k, other, "1800000000", sig, 0), MEDIA_FORGED);
	assert_int_equal(media_verify(&k, frame, "1800000001", sig, 0), MEDIA_FORGED);
	assert_int_equal(media_verify(&k, "0E6A1B5C-4F7D-4B1E-9A53-6D1F0C2B7E88", "1800000000", sig, 0), MEDIA_VALID);
	assert_int_equal(media_sign(&k, "no uuid", 1, again), -1);
	k.n = 0;
	assert_int_equal(media_sign(&k, frame, 1800000000, again), -1);
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 0), MEDIA_FORGED);
}

static void every_changed_digit_is_noticed(void **state)
{
	struct media_keys k = keys_of(key_a, key_b);
	char sig[SHA256_HEX_LEN + 1];

	(void)state;
	assert_int_equal(media_sign(&k, frame, 1800000000, sig), 0);
	for (size_t i = 0; i < SHA256_HEX_LEN; i++) {
		char was = sig[i];

		sig[i] = was == '0' ? '1' : '0';
		assert_int_equal(media_verify(&k, frame, "1800000000", sig, 0), MEDIA_FORGED);
		sig[i] = was;
	}
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 0), MEDIA_VALID);
}

static void only_one_way_to_write_it(void **state)
{
	static const char *const times[] = {"", "0", "01800000000", "+1800000000", " 1800000000", "1800000000 ",
	    "1.8e9", "-1800000000", "0x6b49d200", "1800000000000000", "1800000000\n"};
	struct media_keys k = keys_of(key_a, NULL);
	char sig[SHA256_HEX_LEN + 2], upper[SHA256_HEX_LEN + 1];

	(void)state;
	assert_int_equal(media_sign(&k, frame, 1800000000, sig), 0);
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		assert_int_equal(media_verify(&k, frame, times[i], sig, 0), MEDIA_FORGED);
	for (size_t i = 0; i <= SHA256_HEX_LEN; i++)
		upper[i] = (char)(sig[i] >= 'a' && sig[i] <= 'f' ? sig[i] - 32 : sig[i]);
	assert_int_equal(media_verify(&k, frame, "1800000000", upper, 0), MEDIA_FORGED);
	assert_int_equal(media_verify(&k, frame, "1800000000", "", 0), MEDIA_FORGED);
	strcat(sig, "0");
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 0), MEDIA_FORGED);
	sig[SHA256_HEX_LEN - 1] = '\0';
	assert_int_equal(media_verify(&k, frame, "1800000000", sig, 0), MEDIA_FORGED);
}

static void the_link(void **state)
{
	struct media_keys k = keys_of(key_a, NULL);
	char link[MEDIA_LINK_MAX] = "untouched", sig[SHA256_HEX_LEN + 1], want[512], prefix[MEDIA_LINK_MAX];
	struct err e;

	(void)state;
	assert_int_equal(media_sign(&k, frame, 1800000000, sig), 0);
	snprintf(want, sizeof want, "https://cam.example/x/media/frame/%s?exp=1800000000&sig=%s", frame, sig);
	assert_int_equal(media_link(&k, "https://cam.example/x/", frame, 1800000000, link, &e), 0);
	assert_string_equal(link, want);
	assert_int_equal(media_link(&k, "", "0E6A1B5C-4F7D-4B1E-9A53-6D1F0C2B7E88", 1800000000, link, &e), 0);
	assert_string_equal(link, want + strlen("https://cam.example/x"));
	memset(prefix, 'p', sizeof prefix);
	prefix[sizeof prefix - 1] = '\0';
	strcpy(link, "untouched");
	assert_int_equal(media_link(&k, prefix, frame, 1800000000, link, &e), -1);
	assert_int_equal(media_link(&k, "", "../x", 1800000000, link, &e), -1);
	assert_string_equal(link, "untouched");
}

static void a_changed_file_is_read_again(void **state)
{
	struct media_keys k = {0};
	char path[UNIT_PATH_MAX];
	struct err e = {""};

	load(&k, *state, "0123456789abcdef0123456789abcdef\n");
	assert_int_equal(k.n, 1);
	assert_string_equal(k.keys[0], key_a);
	load(&k, *state,
	    "\r\nany text, with blanks & signs\r\n\n0123456789abcdef0123456789abcdef\nnot valid any more\n");
	assert_int_equal(k.n, 2);
	assert_string_equal(k.keys[0], key_b);
	assert_string_equal(k.keys[1], key_a);
	unit_write(*state, "key", "", 0, path);
	assert_int_equal(media_keys_load(&k, path, &e), -1);
	assert_contains(e.msg, "no key");
	assert_int_equal(k.n, 0);
}

static void a_file_that_is_the_same_is_not_read_again(void **state)
{
	struct media_keys k = {0};
	char path[UNIT_PATH_MAX];
	struct err e;

	unit_write(*state, "key", key_a, strlen(key_a), path);
	assert_int_equal(media_keys_load(&k, path, &e), 0);
	strcpy(k.keys[0], "as it was read the first time");
	assert_int_equal(media_keys_load(&k, path, &e), 0);
	assert_string_equal(k.keys[0], "as it was read the first time");
}

static void files_that_are_no_keys(void **state)
{
	struct media_keys k = keys_of(key_a, NULL);
	char path[UNIT_PATH_MAX], big[MEDIA_KEY_MAX + 2];
	struct err e = {""};

	unit_write(*state, "key", "0123456789abcde\n", 16, path);
	assert_int_equal(media_keys_load(&k, path, &e), -1);
	assert_contains(e.msg, "16 to 256");
	assert_int_equal(k.n, 0);
	memset(big, 'k', sizeof big);
	unit_write(*state, "key", big, MEDIA_KEY_MAX + 1, path);
	assert_int_equal(media_keys_load(&k, path, &e), -1);
	unit_write(*state, "key", big, MEDIA_KEY_MAX, path);
	assert_int_equal(media_keys_load(&k, path, &e), 0);
	assert_int_equal(media_keys_load(&k, *state, &e), -1);
	assert_int_equal(k.n, 0);
	assert_int_equal(media_keys_load(&k, "/nonexistent/key", &e), -1);
	assert_contains(e.msg, "/nonexistent/key");
}

static void rotation_keeps_one_old_key(void **state)
{
	struct media_keys first = {0}, second = {0}, third = {0}, alone = {0};
	char path[UNIT_PATH_MAX];
	struct stat st;
	struct err e = {""};

	assert_true(snprintf(path, sizeof path, "%s/media.key", (const char *)*state) < (int)sizeof path);
	assert_int_equal(media_keys_rotate(path, false, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(media_keys_load(&first, path, &e), 0);
	assert_int_equal(first.n, 1);
	assert_int_equal(strlen(first.keys[0]), 64);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(media_keys_rotate(path, false, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(media_keys_load(&second, path, &e), 0);
	assert_int_equal(second.n, 2);
	assert_string_not_equal(second.keys[0], first.keys[0]);
	assert_string_equal(second.keys[1], first.keys[0]);
	assert_int_equal(media_keys_rotate(path, false, &e), 0);
	assert_int_equal(media_keys_load(&third, path, &e), 0);
	assert_int_equal(third.n, 2);
	assert_string_equal(third.keys[1], second.keys[0]);
	assert_int_equal(media_keys_rotate(path, true, &e), 0);
	assert_int_equal(media_keys_load(&alone, path, &e), 0);
	assert_int_equal(alone.n, 1);
	assert_string_not_equal(alone.keys[0], third.keys[0]);
	assert_int_equal(unit_count_files(*state), 1);
}

static void a_broken_file_is_not_replaced(void **state)
{
	char path[UNIT_PATH_MAX];
	struct stat st;
	struct err e = {""};

	unit_write(*state, "key", "short\n", 6, path);
	assert_int_equal(media_keys_rotate(path, false, &e), -1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(media_keys_rotate(path, true, &e), 0);
	assert_int_equal(media_keys_rotate("/nonexistent/key", false, &e), -1);
	assert_int_equal(unit_count_files(*state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_signature_is_of_one_frame_and_one_time),
	    cmocka_unit_test(every_changed_digit_is_noticed),
	    cmocka_unit_test(only_one_way_to_write_it),
	    cmocka_unit_test(the_link),
	    cmocka_unit_test_setup_teardown(a_changed_file_is_read_again, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(a_file_that_is_the_same_is_not_read_again, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(files_that_are_no_keys, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(rotation_keeps_one_old_key, unit_mkdir, unit_rmdir),
	    cmocka_unit_test_setup_teardown(a_broken_file_is_not_replaced, unit_mkdir, unit_rmdir),
	};

	return cmocka_run_group_tests_name("media", tests, NULL, NULL);
}
