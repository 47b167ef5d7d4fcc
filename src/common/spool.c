/* SPDX-License-Identifier: Apache-2.0 */
#include "common/spool.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int spool_path(const char *spool_dir, const char *frame_uuid, char *ret, size_t size)
{
	int len;

	if (!ident_is_uuid(frame_uuid))
		return -1;
	len = snprintf(ret, size, "%s/infer/%s.jpg", spool_dir, frame_uuid);
	return len > 0 && (size_t)len < size ? 0 : -1;
}

int spool_prepare(const char *spool_dir, struct err *e)
{
	char path[SPOOL_PATH_MAX];

	if (snprintf(path, sizeof path, "%s/infer", spool_dir) >= (int)sizeof path)
		return err_set(e, "SPOOL_DIR is too long");
	if (mkdir(path, 0770) < 0 && errno != EEXIST)
		return err_set(e, "%s: %s", path, strerror(errno));
	return 0;
}

/* What root hands in must be the programs' to read and to remove: it goes to the owner of the spool. */
static int give_away(int fd, const char *spool_dir)
{
	struct stat st;

	return geteuid() != 0 || (stat(spool_dir, &st) == 0 && fchown(fd, st.st_uid, (gid_t)-1) == 0) ? 0 : -1;
}

static int sync_directory(const char *spool_dir)
{
	char path[SPOOL_PATH_MAX];
	int fd, result;

	snprintf(path, sizeof path, "%s/infer", spool_dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	result = fsync(fd);
	close(fd);
	return result;
}

/* 0, or an errno. Not every file system can do it in one step. */
static int give_name(const char *tmp, const char *path)
{
	if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (link(tmp, path) < 0)
		return errno;
	unlink(tmp);
	return 0;
}

/* Whoever wrote it may have died before it was on the disk. */
static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), result;

	if (fd < 0)
		return -1;
	result = fsync(fd);
	close(fd);
	return result;
}

int spool_write(
    const char *spool_dir, const char *frame_uuid, const void *data, size_t len, bool *ret_existed, struct err *e)
{
	char path[SPOOL_PATH_MAX], tmp[SPOOL_PATH_MAX + 64], unique[UUID_TEXT_LEN + 1];
	int fd, fault, result = -1;

	if (spool_path(spool_dir, frame_uuid, path, sizeof path) < 0)
		return err_set(e, "SPOOL_DIR is too long, or the frame's id is not a UUID");
	ident_new_uuid(unique);
	snprintf(tmp, sizeof tmp, "%s.%s.tmp", path, unique);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660);
	if (fd < 0)
		return err_set(e, "%s: %s", tmp, strerror(errno));
	if (file_write_all(fd, data, len) < 0 || give_away(fd, spool_dir) < 0) {
		err_set(e, "%s: %s", tmp, strerror(errno));
		goto out;
	}
	/* The name comes before the wait for the disk: a journal then takes both at once. */
	fault = give_name(tmp, path);
	if (fault != 0 && fault != EEXIST) {
		err_set(e, "%s: %s", path, strerror(fault));
		goto out;
	}
	if ((fault == EEXIST ? sync_file(path) : fsync(fd)) < 0 || sync_directory(spool_dir) < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		goto out;
	}
	*ret_existed = fault == EEXIST;
	result = 0;
out:
	close(fd);
	if (result < 0 || fault == EEXIST)
		unlink(tmp);
	return result;
}

int spool_remove(const char *spool_dir, const char *frame_uuid, struct err *e)
{
	char path[SPOOL_PATH_MAX];

	if (spool_path(spool_dir, frame_uuid, path, sizeof path) < 0)
		return err_set(e, "SPOOL_DIR is too long, or the frame's id is not a UUID");
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(e, "%s: %s", path, strerror(errno));
	return 0;
}
