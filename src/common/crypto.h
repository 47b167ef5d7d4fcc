/* SPDX-License-Identifier: Apache-2.0
 * The little cryptography the programs need, from OpenSSL's libcrypto. */
#ifndef CAM_CRYPTO_H
#define CAM_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

enum { SHA256_HEX_LEN = 64, DIGEST_HEX_MAX = 64 };

/* These return 0, or -1 if the library or the kernel fails, leaving the output untouched. */
int crypto_sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1]);
/* algorithm: "md5", "sha1" or "sha256", as archives name them; -1 for any other. */
int crypto_digest_hex(const char *algorithm, const void *data, size_t len, char ret_hex[DIGEST_HEX_MAX + 1]);
int crypto_hmac_sha256_hex(
    const void *key, size_t key_len, const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1]);
/* As one line, with padding; malloc'ed. NULL: out of memory, or more than 1 GB. */
char *crypto_base64(const void *data, size_t len);
/* 2 * bytes hex digits and a NUL into ret_hex; at most 64 bytes. */
int crypto_random_hex(size_t bytes, char *ret_hex);

/* Takes the same time wherever the two differ, so that a secret cannot be guessed byte by byte. */
bool crypto_equal(const void *a, const void *b, size_t len);

#endif
