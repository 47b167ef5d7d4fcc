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

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, PUT_TRIES = 3 };

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

/* Gives a file without a name its own, in place of what has it. */
static int name_file(int fd, int dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (int tries = 0; tries < 3; tries++) {
		if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST || (unlinkat(dir, name, 0) < 0 && errno != ENOENT))
			return -1;
	}
	return -1;
}

/* The file has no name until it is whole, so that nothing is left of a writer that is killed. Returns errno. */
static int put_once(const char *root, const char *path, const void *data, size_t len)
{
	const char *name = path;
	int dir = open_parent(root, path, true, &name), fd = -1, fault = 0;

	if (dir < 0 || (fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640)) < 0 ||
	    file_write_all(fd, data, len) < 0 || fsync(fd) < 0 || name_file(fd, dir, name) < 0 || fsync(dir) < 0)
		fault = errno;
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return fault;
}

int archive_file_put(const char *root, const char *path, const void *data, size_t len, struct err *e)
{
	int fault = ENOENT;

	if (!ident_is_path(path))
		return err_set(e, "%s: not a path of the archive", path);
	/* Somebody may just have removed the empty directory. */
	for (int tries = 0; tries < PUT_TRIES && fault == ENOENT; tries++)
		fault = put_once(root, path, data, len);
	return fault == 0 ? 0 : err_set(e, "%s/%s: %s", root, path, strerror(fault));
}

/* Directories of path that are empty now are removed, from the lowest up. */
static void remove_empty(const char *root, const char *path)
{
	char part[IDENT_PATH_MAX + 1], *slash;
	const char *name;
	int dir, left = 0;

	snprintf(part, sizeof part, "%s", path);
	while (left == 0 && (slash = strrchr(part, '/')) != NULL) {
		*slash = '\0';
		dir = open_parent(root, part, false, &name);
		left = dir < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
		if (dir >= 0)
			close(dir);
	}
}

/* Nothing there; but a root that is not there, such as of a disk that is not mounted, tells nothing. */
static bool is_gone(const char *root, int fault)
{
	return fault == ENOENT && access(root, F_OK) == 0;
}

int archive_file_move(const char *root, const char *from, const char *to, struct err *e)
{
	const char *from_name, *to_name;
	int from_dir, to_dir = -1, result = -1;

	if (!ident_is_path(from) || !ident_is_path(to))
		return err_set(e, "%s: not a path of the archive", ident_is_path(from) ? to : from);
	from_dir = open_parent(root, from, false, &from_name);
	if (from_dir < 0)
		return is_gone(root, errno) ? 0 : err_set(e, "%s/%s: %s", root, from, strerror(errno));
	to_dir = open_parent(root, to, true, &to_name);
	if (to_dir < 0)
		err_set(e, "%s/%s: %s", root, to, strerror(errno));
	else if (renameat(from_dir, from_name, to_dir, to_name) < 0 &&
		 (errno != ENOENT || faccessat(from_dir, from_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0))
		err_set(e, "%s/%s: it cannot be moved to %s", root, from, to);
	else
		result =
		    fsync(to_dir) < 0 || fsync(from_dir) < 0 ? err_set(e, "%s/%s: %s", root, to, strerror(errno)) : 0;
	close(from_dir);
	if (to_dir >= 0)
		close(to_dir);
	if (result == 0)
		remove_empty(root, from);
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
		return is_gone(root, errno) ? 0 : err_set(e, "%s/%s: %s", root, path, strerror(errno));
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		result = err_set(e, "%s/%s: %s", root, path, strerror(errno));
	close(dir);
	if (result == 0)
		remove_empty(root, path);
	return result;
}
