/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/frame_lock.h"

#include "common/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OFFSET_HEX_DIGITS = 15 };

/* The uuid's first 60 bits: the byte of the lock file that stands for it. */
static off_t offset_of(const char *frame_uuid)
{
	char digits[OFFSET_HEX_DIGITS + 1];
	size_t n = 0;

	for (const char *p = frame_uuid; *p != '\0' && n < OFFSET_HEX_DIGITS; p++)
		if (*p != '-')
			digits[n++] = *p;
	digits[n] = '\0';
	return (off_t)strtoll(digits, NULL, 16);
}

int frame_lock(const char *spool_dir, const char *frame_uuid, struct err *e)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset_of(frame_uuid), .l_len = 1};
	char path[SPOOL_PATH_MAX];
	int fd, result;

	if (snprintf(path, sizeof path, "%s/ingest.lock", spool_dir) >= (int)sizeof path)
		return err_set(e, "SPOOL_DIR is too long");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	do
		result = fcntl(fd, F_OFD_SETLKW, &range);
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

void frame_unlock(int fd)
{
	close(fd);
}
