/* SPDX-License-Identifier: Apache-2.0 */
#include "common/crypto.h"

#include <openssl/evp.h>
#include <sys/random.h>

enum { RANDOM_MAX = 64, SHA256_LEN = 32 };

static void to_hex(const unsigned char *data, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[data[i] >> 4];
		ret_hex[2 * i + 1] = digits[data[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

int crypto_sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1])
{
	unsigned char digest[SHA256_LEN];
	unsigned digest_len = 0;

	if (EVP_Digest(data, len, digest, &digest_len, EVP_sha256(), NULL) != 1 || digest_len != SHA256_LEN)
		return -1;
	to_hex(digest, sizeof digest, ret_hex);
	return 0;
}

int crypto_random_hex(size_t bytes, char *ret_hex)
{
	unsigned char random[RANDOM_MAX];

	if (bytes > sizeof random || getrandom(random, bytes, 0) != (ssize_t)bytes)
		return -1;
	to_hex(random, bytes, ret_hex);
	return 0;
}
