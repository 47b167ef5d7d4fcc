/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *read_open(FILE *f, const char *path, size_t max, size_t *ret_len, struct err *e)
{
	struct stat st;
	char *data = NULL;

	if (fstat(fileno(f), &st) < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		err_set(e, "%s: not a regular file", path);
	} else if ((size_t)st.st_size > max) {
		err_set(e, "%s: larger than %zu bytes", path, max);
	} else if ((data = calloc(1, (size_t)st.st_size + 1)) == NULL ||
		   fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		err_set(e, "%s: cannot be read", path);
		free(data);
		return NULL;
	}
	if (data != NULL)
		*ret_len = (size_t)st.st_size;
	return data;
}

char *file_read(const char *path, size_t max, size_t *ret_len, struct err *e)
{
	FILE *f = fopen(path, "re");
	char *data;

	if (f == NULL) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	data = read_open(f, path, max, ret_len, e);
	fclose(f);
	return data;
}
