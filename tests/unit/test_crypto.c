/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 by the vectors of FIPS 180-4, HMAC by those of RFC 4231, and random numbers. */
#include "common/crypto.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void known_vectors(void **state)
{
	static const struct {
		const char *text, *hash;
	} cases[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[SHA256_HEX_LEN + 1];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(crypto_sha256_hex(cases[i].text, strlen(cases[i].text), hex), 0);
		assert_string_equal(hex, cases[i].hash);
	}
}

static void a_million_letters(void **state)
{
	enum { N = 1000000 };
	char *text = malloc(N), hex[SHA256_HEX_LEN + 1];

	(void)state;
	assert_non_null(text);
	memset(text, 'a', N);
	assert_int_equal(crypto_sha256_hex(text, N, hex), 0);
	free(text);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void bytes_after_a_nul_count(void **state)
{
	char with[SHA256_HEX_LEN + 1], without[SHA256_HEX_LEN + 1];

	(void)state;
	assert_int_equal(crypto_sha256_hex("a\0b", 3, with), 0);
	assert_int_equal(crypto_sha256_hex("a\0c", 3, without), 0);
	assert_string_not_equal(with, without);
}

static void random_digits(void **state)
{
	char a[129], b[129];

	(void)state;
	memset(a, '#', sizeof a);
	assert_int_equal(crypto_random_hex(16, a), 0);
	assert_int_equal(strlen(a), 32);
	assert_int_equal(strspn(a, "0123456789abcdef"), 32);
	assert_int_equal(a[33], '#');
	assert_int_equal(crypto_random_hex(64, a), 0);
	assert_int_equal(crypto_random_hex(64, b), 0);
	assert_int_equal(strlen(b), 128);
	assert_string_not_equal(a, b);
	assert_int_equal(crypto_random_hex(0, a), 0);
	assert_string_equal(a, "");
}

static void too_many_random_digits(void **state)
{
	char a[200] = "untouched";

	(void)state;
	assert_int_equal(crypto_random_hex(65, a), -1);
	assert_string_equal(a, "untouched");
}

static void digests_by_name(void **state)
{
	char hex[DIGEST_HEX_MAX + 1];

	(void)state;
	assert_int_equal(crypto_digest_hex("md5", "abc", 3, hex), 0);
	assert_string_equal(hex, "900150983cd24fb0d6963f7d28e17f72");
	assert_int_equal(crypto_digest_hex("sha1", "abc", 3, hex), 0);
	assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
	assert_int_equal(crypto_digest_hex("sha256", "abc", 3, hex), 0);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	strcpy(hex, "untouched");
	assert_int_equal(crypto_digest_hex("crc32", "abc", 3, hex), -1);
	assert_int_equal(crypto_digest_hex("", "abc", 3, hex), -1);
	assert_string_equal(hex, "untouched");
}

static void hmac_vectors(void **state)
{
	static const char key[] = "Jefe", text[] = "what do ya want for nothing?";
	char hex[SHA256_HEX_LEN + 1], long_key[131];

	(void)state;
	assert_int_equal(crypto_hmac_sha256_hex(key, strlen(key), text, strlen(text), hex), 0);
	assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(long_key, 0xaa, sizeof long_key);
	assert_int_equal(crypto_hmac_sha256_hex(long_key, sizeof long_key,
			     "Test Using Larger Than Block-Size Key - Hash Key First", 54, hex),
	    0);
	assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void equal(void **state)
{
	(void)state;
	assert_true(crypto_equal("same\0x", "same\0x", 6));
	assert_false(crypto_equal("same\0x", "same\0y", 6));
	assert_true(crypto_equal("same", "samf", 3));
	assert_true(crypto_equal("", "x", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_vectors),
	    cmocka_unit_test(a_million_letters),
	    cmocka_unit_test(bytes_after_a_nul_count),
	    cmocka_unit_test(random_digits),
	    cmocka_unit_test(too_many_random_digits),
	    cmocka_unit_test(digests_by_name),
	    cmocka_unit_test(hmac_vectors),
	    cmocka_unit_test(equal),
	};

	return cmocka_run_group_tests_name("crypto", tests, NULL, NULL);
}
