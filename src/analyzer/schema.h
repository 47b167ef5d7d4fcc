/* SPDX-License-Identifier: Apache-2.0
 * The schema that dispatchers gave to this node: its version and the document as it came. Kept in memory only, as the
 * protocol provides: after a restart the first 409 brings it again. Safe to use from several threads. */
#ifndef CAM_SCHEMA_H
#define CAM_SCHEMA_H

#include "common/err.h"

#include <stddef.h>

enum { SCHEMA_VERSION_MAX = 64, SCHEMA_BODY_MAX = 1000 * 1000 };

struct schema_store;

struct schema_store *schema_new(void);
void schema_free(struct schema_store *s);

/* Takes {"schema_version": "...", "schema": {...}}. On -1 *e says what is wrong, and the old one stays. */
int schema_set(
    struct schema_store *s, const char *text, size_t len, char ret_version[SCHEMA_VERSION_MAX + 1], struct err *e);
/* "" when none is set. */
void schema_version(struct schema_store *s, char ret_version[SCHEMA_VERSION_MAX + 1]);
/* A copy of the document that the caller frees; NULL when none is set or memory ran out. */
char *schema_document(struct schema_store *s);

#endif
