/* SPDX-License-Identifier: Apache-2.0
 * The grammar of the identifiers that come in from outside. */
#ifndef CAM_IDENT_H
#define CAM_IDENT_H

#include <stdbool.h>
#include <stddef.h>

enum { IDENT_MAX = 64, UUID_TEXT_LEN = 36, IDENT_PATH_MAX = 512 };

/* Letters, digits, '_', '.', '-'; starts with a letter or digit; at most IDENT_MAX. Camera ids, names. */
bool ident_valid(const char *s);
/* The 36-character form, in either case. */
bool ident_is_uuid(const char *s);
/* The same uuid in lower case, as it names files; ret_uuid may be s. */
void ident_lower_uuid(const char *s, char ret_uuid[UUID_TEXT_LEN + 1]);
/* A relative path in an archive: segments of letters, digits, '_', '.', '-' between single '/', none of them beginning
 * with '.'; at most IDENT_PATH_MAX. It cannot lead out of the directory that it is in. */
bool ident_is_path(const char *s);
/* A new random uuid in lower case. */
void ident_new_uuid(char ret_uuid[UUID_TEXT_LEN + 1]);
/* Well-formed UTF-8 as PostgreSQL takes it: no overlong forms, no surrogates. */
bool ident_is_utf8(const char *s, size_t len);
/* Makes text from outside fit for a log and the database: bytes that are not UTF-8, and control characters, become '?'.
 */
void ident_clean(char *s);
/* No control characters and valid UTF-8; names of people. */
bool ident_is_text(const char *s, size_t max_bytes);

#endif
