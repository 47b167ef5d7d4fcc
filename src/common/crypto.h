/* SPDX-License-Identifier: Apache-2.0
 * The little cryptography the programs need, from OpenSSL's libcrypto. */
#ifndef CAM_CRYPTO_H
#define CAM_CRYPTO_H

#include <stddef.h>

enum { SHA256_HEX_LEN = 64 };

/* Both return 0, or -1 if the library or the kernel fails, leaving the output untouched. */
int crypto_sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_LEN + 1]);
/* 2 * bytes hex digits and a NUL into ret_hex; at most 64 bytes. */
int crypto_random_hex(size_t bytes, char *ret_hex);

#endif
