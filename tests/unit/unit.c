/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int unit_mkdir(void **state)
{
	char *dir = strdup("/tmp/camserver-unit-XXXXXX");

	*state = dir;
	return dir != NULL && mkdtemp(dir) != NULL ? 0 : -1;
}

int unit_count_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)) != NULL)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(d);
	return n;
}

int unit_rmdir(void **state)
{
	char *dir = *state;
	DIR *d = opendir(dir);
	struct dirent *entry;
	int result;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
	result = rmdir(dir);
	free(dir);
	return result;
}

void unit_write(const char *dir, const char *name, const void *data, size_t len, char ret_path[UNIT_PATH_MAX])
{
	FILE *f;

	assert_true(snprintf(ret_path, UNIT_PATH_MAX, "%s/%s", dir, name) < UNIT_PATH_MAX);
	f = fopen(ret_path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

void unit_assert_contains(const char *text, const char *part, const char *file, int line)
{
	if (strstr(text, part) == NULL) {
		print_error("\"%s\" does not contain \"%s\"\n", text, part);
		_fail(file, line);
	}
}

void unit_assert_lacks(const char *text, const char *part, const char *file, int line)
{
	if (strstr(text, part) != NULL) {
		print_error("\"%s\" contains \"%s\"\n", text, part);
		_fail(file, line);
	}
}
