/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file.h"

#include "common/ident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 or an errno. A file that is shorter than it said is an error too. */
static int read_all(int fd, char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_read_fd(int fd, size_t max, char **ret, size_t *ret_len)
{
	struct stat st;
	char *data;
	int fault;

	if (fstat(fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EINVAL;
	if ((size_t)st.st_size > max)
		return EFBIG;
	data = malloc((size_t)st.st_size + 1);
	if (data == NULL)
		return ENOMEM;
	fault = read_all(fd, data, (size_t)st.st_size);
	if (fault != 0) {
		free(data);
		return fault;
	}
	data[st.st_size] = '\0';
	*ret = data;
	*ret_len = (size_t)st.st_size;
	return 0;
}

int file_read(const char *path, int flags, size_t max, char **ret, size_t *ret_len)
{
	/* A pipe in a file's place must not be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags), fault;

	if (fd < 0)
		return errno;
	fault = file_read_fd(fd, max, ret, ret_len);
	close(fd);
	return fault;
}

char *file_read_named(const char *path, size_t max, size_t *ret_len, struct err *e)
{
	char *data;
	int fault = file_read(path, 0, max, &data, ret_len);

	if (fault == 0)
		return data;
	if (fault == EFBIG)
		err_set(e, "%s: larger than %zu bytes", path, max);
	else
		err_set(e, "%s: %s", path, fault == EINVAL ? "not a regular file" : strerror(fault));
	return NULL;
}

int file_open_below(const char *dir, const char *path)
{
	int at;

	if (!ident_is_path(path)) {
		errno = EINVAL;
		return -1;
	}
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Segment by segment: O_NOFOLLOW speaks of the last one only. */
	while (at >= 0) {
		char segment[IDENT_PATH_MAX + 1];
		size_t len = strcspn(path, "/");
		bool last = path[len] == '\0';
		int next, fault;

		memcpy(segment, path, len);
		segment[len] = '\0';
		next = openat(at, segment, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY));
		fault = errno;
		close(at);
		errno = fault;
		if (last)
			return next;
		at = next;
		path += len + 1;
	}
	return -1;
}

int file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
