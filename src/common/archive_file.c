/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive_file.h"

#include "common/file.h"
#include "common/ident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

int archive_file_sum(const char *root, const char *path, char ret_sum[SHA256_HEX_LEN + 1], size_t *ret_bytes)
{
	int fd = file_open_below(root, path), fault, result = -1;
	char *data;

	if (fd < 0)
		return -1;
	fault = file_read_fd(fd, FILE_BYTES_MAX, &data, ret_bytes);
	close(fd);
	if (fault == 0) {
		result = crypto_sha256_hex(data, *ret_bytes, ret_sum);
		free(data);
	}
	return result;
}

/* Opens the directory that path is in, making what is missing; *ret_name is the last segment. -1 with errno. */
static int open_parent(const char *root, const char *path, bool make, const char **ret_name)
{
	char part[IDENT_PATH_MAX + 1];
	int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *slash;

	for (*ret_name = path; dir >= 0 && (slash = strchr(*ret_name, '/')) != NULL; *ret_name = slash + 1) {
		int next, fault;

		snprintf(part, sizeof part, "%.*s", (int)(slash - *ret_name), *ret_name);
		if (make && mkdirat(dir, part, 0750) == 0)
			(void)fsync(dir);
		next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fault = errno;
		close(dir);
		errno = fault;
		dir = next;
	}
	return dir;
}

int archive_file_put(const char *root, const char *path, const void *data, size_t len, struct err *e)
{
	char tmp[UUID_TEXT_LEN + 8] = ".";
	const char *name;
	int dir = -1, fd = -1, result = -1;

	if (!ident_is_path(path))
		return err_set(e, "%s: not a path of the archive", path);
	ident_new_uuid(tmp + 1);
	dir = open_parent(root, path, true, &name);
	if (dir < 0 || (fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640)) < 0) {
		err_set(e, "%s/%s: %s", root, path, strerror(errno));
		goto out;
	}
	if (file_write_all(fd, data, len) < 0 || fsync(fd) < 0 || renameat(dir, tmp, dir, name) < 0 || fsync(dir) < 0) {
		err_set(e, "%s/%s: %s", root, path, strerror(errno));
		unlinkat(dir, tmp, 0);
		goto out;
	}
	result = 0;
out:
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return result;
}

int archive_file_move(const char *root, const char *from, const char *to, struct err *e)
{
	const char *from_name, *to_name;
	int from_dir, to_dir = -1, result = -1;

	if (!ident_is_path(from) || !ident_is_path(to))
		return err_set(e, "%s: not a path of the archive", ident_is_path(from) ? to : from);
	from_dir = open_parent(root, from, false, &from_name);
	if (from_dir < 0)
		return errno == ENOENT ? 0 : err_set(e, "%s/%s: %s", root, from, strerror(errno));
	to_dir = open_parent(root, to, true, &to_name);
	if (to_dir < 0)
		err_set(e, "%s/%s: %s", root, to, strerror(errno));
	else if (renameat(from_dir, from_name, to_dir, to_name) < 0 && errno != ENOENT)
		err_set(e, "%s/%s: %s", root, from, strerror(errno));
	else
		result =
		    fsync(to_dir) < 0 || fsync(from_dir) < 0 ? err_set(e, "%s/%s: %s", root, to, strerror(errno)) : 0;
	close(from_dir);
	if (to_dir >= 0)
		close(to_dir);
	return result;
}

int archive_file_remove(const char *root, const char *path, struct err *e)
{
	const char *name;
	int dir, result = 0;

	if (!ident_is_path(path))
		return err_set(e, "%s: not a path of the archive", path);
	dir = open_parent(root, path, false, &name);
	if (dir < 0)
		return errno == ENOENT ? 0 : err_set(e, "%s/%s: %s", root, path, strerror(errno));
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		result = err_set(e, "%s/%s: %s", root, path, strerror(errno));
	close(dir);
	return result;
}
