/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/image.h"

#include "common/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int image_read(const char *spool_dir, const char *frame_uuid, char **ret, size_t *ret_len, struct err *e)
{
	char path[SPOOL_PATH_MAX], *data = NULL;
	struct stat st;
	int fd, result = -1;

	if (spool_path(spool_dir, frame_uuid, path, sizeof path) < 0)
		return err_set(e, "SPOOL_DIR is too long, or the frame's id is not a UUID");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(e, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > FRAME_BYTES_MAX) {
		err_set(e, "%s is not a frame's image", path);
		goto out;
	}
	data = malloc((size_t)st.st_size);
	if (data == NULL || read_all(fd, data, (size_t)st.st_size) < 0) {
		err_set(e, "%s: %s", path, data == NULL ? "out of memory" : "cannot be read");
		free(data);
		goto out;
	}
	*ret = data;
	*ret_len = (size_t)st.st_size;
	result = 1;
out:
	close(fd);
	return result;
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

bool image_exists(const char *spool_dir, const char *frame_uuid)
{
	char path[SPOOL_PATH_MAX];

	return spool_path(spool_dir, frame_uuid, path, sizeof path) == 0 && access(path, R_OK) == 0;
}
