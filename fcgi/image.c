/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/image.h"

#include "common/file.h"
#include "common/jpeg.h"
#include "common/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int image_read(const char *spool_dir, const char *frame_uuid, char **ret, size_t *ret_len, struct err *e)
{
	char path[SPOOL_PATH_MAX];
	int fault;

	if (spool_path(spool_dir, frame_uuid, path, sizeof path) < 0)
		return err_set(e, "SPOOL_DIR is too long, or the frame's id is not a UUID");
	fault = file_read(path, O_NOFOLLOW, FRAME_BYTES_MAX, ret, ret_len);
	if (fault != 0)
		return fault == ENOENT ? 0 : err_set(e, "%s: %s", path, strerror(fault));
	return 1;
}

bool image_is(const char *spool_dir, const char *frame_uuid, const char *data, size_t len)
{
	char *there;
	size_t there_len;
	bool same;

	if (image_read(spool_dir, frame_uuid, &there, &there_len, NULL) != 1)
		return false;
	same = there_len == len && memcmp(there, data, len) == 0;
	free(there);
	return same;
}

bool image_is_broken(const char *spool_dir, const char *frame_uuid)
{
	char *there;
	size_t len;
	bool broken;

	if (image_read(spool_dir, frame_uuid, &there, &len, NULL) != 1)
		return false;
	broken = jpeg_check(there, len, NULL, NULL) < 0;
	free(there);
	return broken;
}

bool image_exists(const char *spool_dir, const char *frame_uuid)
{
	char path[SPOOL_PATH_MAX];

	return spool_path(spool_dir, frame_uuid, path, sizeof path) == 0 && access(path, R_OK) == 0;
}
