/* SPDX-License-Identifier: Apache-2.0 */
#include "common/crypto.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdatomic.h>
#include <string.h>
#include <stdlib.h>
#include <sys/random.h>

enum { BASE64_INPUT_MAX = 1 << 30, RANDOM_MAX = 64 };

static void to_hex(const unsigned char *data, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[data[i] >> 4];
		ret_hex[2 * i + 1] = digits[data[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

/* Looked up once: a lookup costs more than the digest of a token. One of two threads that come first at the same time
 * looks it up in vain. */
static const EVP_MD *sha256(void)
{
	static EVP_MD *_Atomic fetched;
	EVP_MD *mine = fetched, *none = NULL;

	if (mine == NULL) {
		mine = EVP_MD_fetch(NULL, "SHA256", NULL);
		if (!atomic_compare_exchange_strong(&fetched, &none, mine)) {
			EVP_MD_free(mine);
			mine = none;
		}
	}
	return mine;
}

static int digest_hex(const EVP_MD *type, const void *data, size_t len, char *ret_hex)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned digest_len = 0;

	if (EVP_Digest(data, len, digest, &digest_len, type, NULL) != 1)
		return -1;
	to_hex(digest, digest_len, ret_hex);
	return 0;
}

int crypto_sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1])
{
	return digest_hex(sha256(), data, len, ret_hex);
}

int crypto_digest_hex(const char *algorithm, const void *data, size_t len, char ret_hex[DIGEST_HEX_MAX + 1])
{
	if (strcmp(algorithm, "md5") == 0)
		return digest_hex(EVP_md5(), data, len, ret_hex);
	if (strcmp(algorithm, "sha1") == 0)
		return digest_hex(EVP_sha1(), data, len, ret_hex);
	if (strcmp(algorithm, "sha256") == 0)
		return digest_hex(EVP_sha256(), data, len, ret_hex);
	return -1;
}

int crypto_hmac_sha256_hex(
    const void *key, size_t key_len, const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned digest_len = 0;

	if (key_len > INT_MAX || HMAC(EVP_sha256(), key, (int)key_len, data, len, digest, &digest_len) == NULL)
		return -1;
	to_hex(digest, digest_len, ret_hex);
	return 0;
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

int crypto_random_hex(size_t bytes, char *ret_hex)
{
	unsigned char random[RANDOM_MAX];

	if (bytes > sizeof random || getrandom(random, bytes, 0) != (ssize_t)bytes)
		return -1;
	to_hex(random, bytes, ret_hex);
	return 0;
}

char *crypto_base64(const void *data, size_t len)
{
	char *text = len <= BASE64_INPUT_MAX ? malloc((len + 2) / 3 * 4 + 1) : NULL;

	if (text != NULL)
		EVP_EncodeBlock((unsigned char *)text, data, (int)len);
	return text;
}
