/* SPDX-License-Identifier: Apache-2.0
 * What the unit tests share: cmocka with the headers it wants before it, and a throw-away directory. */
#ifndef CAM_UNIT_H
#define CAM_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { UNIT_PATH_MAX = 256 };

/* Makes an empty directory; for cmocka's setup, with *state the path. unit_rmdir() removes it with all it holds. */
int unit_mkdir(void **state);
int unit_rmdir(void **state);
/* Writes dir/name with len bytes of data and fills in its path. Fails the test if it cannot. */
void unit_write(const char *dir, const char *name, const void *data, size_t len, char ret_path[UNIT_PATH_MAX]);
/* The number of entries in dir. */
int unit_count_files(const char *dir);

#define assert_contains(text, part) unit_assert_contains((text), (part), __FILE__, __LINE__)
#define assert_lacks(text, part) unit_assert_lacks((text), (part), __FILE__, __LINE__)
void unit_assert_contains(const char *text, const char *part, const char *file, int line);
void unit_assert_lacks(const char *text, const char *part, const char *file, int line);

#endif
