/* SPDX-License-Identifier: Apache-2.0 */
#include "common/media.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 * 1024, NEW_KEY_BYTES = 32, EXP_DIGITS_MAX = 12, PATH_BYTES_MAX = 1024 };

/* One key a line; blank lines are none. */
static int parse(char *text, struct media_keys *k, const char *path, struct err *e)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line != NULL && k->n < MEDIA_KEYS_VALID;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		size_t len = strlen(line);

		if (len < MEDIA_KEY_MIN || len > MEDIA_KEY_MAX)
			return err_set(e, "%s: key %zu must have %d to %d characters, not %zu", path, k->n + 1,
			    MEDIA_KEY_MIN, MEDIA_KEY_MAX, len);
		memcpy(k->keys[k->n++], line, len + 1);
	}
	return k->n > 0 ? 0 : err_set(e, "%s: there is no key in it; camctl media rotate-key makes one", path);
}

static bool same_file(const struct media_keys *k, const struct stat *st)
{
	return k->n > 0 && k->dev == st->st_dev && k->ino == st->st_ino && k->size == st->st_size &&
	       k->mtime.tv_sec == st->st_mtim.tv_sec && k->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

static int read_keys(int fd, const struct stat *st, const char *path, struct media_keys *ret, struct err *e)
{
	struct media_keys fresh = {.dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .mtime = st->st_mtim};
	char *text;
	size_t len;
	int fault = file_read_fd(fd, FILE_BYTES_MAX, &text, &len), result;

	if (fault != 0)
		return err_set(e, "%s: %s", path, strerror(fault));
	result = parse(text, &fresh, path, e);
	explicit_bzero(text, len);
	free(text);
	if (result == 0)
		*ret = fresh;
	explicit_bzero(&fresh, sizeof fresh);
	return result;
}

int media_keys_load(struct media_keys *k, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result = -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		err_set(e, "%s: %s", path, strerror(errno));
	else
		result = same_file(k, &st) ? 0 : read_keys(fd, &st, path, k, e);
	if (fd >= 0)
		close(fd);
	if (result < 0)
		explicit_bzero(k, sizeof *k);
	return result;
}

/* Writes the temporary file; owner and mode are those of the file that it will replace. */
static int write_keys(int fd, const struct stat *old, const char *fresh, const char *kept)
{
	char text[2 * (MEDIA_KEY_MAX + 2)];
	int len = snprintf(text, sizeof text, "%s\n%s%s", fresh, kept, *kept != '\0' ? "\n" : "");
	ssize_t n;

	/* Only root may give a file away; anybody else's is their own before and after. */
	if (old != NULL && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
	    fchown(fd, old->st_uid, old->st_gid) < 0 && fchown(fd, (uid_t)-1, old->st_gid) < 0)
		return -1;
	if (fchmod(fd, old != NULL ? old->st_mode & 0660 : 0640) < 0)
		return -1;
	n = write(fd, text, (size_t)len);
	explicit_bzero(text, sizeof text);
	return n == len ? fsync(fd) : -1;
}

int media_keys_rotate(const char *path, bool drop_old, struct err *e)
{
	char fresh[2 * NEW_KEY_BYTES + 1], tmp[PATH_BYTES_MAX];
	struct media_keys k = {0};
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int fd, result = -1;

	/* A file that cannot be read is not replaced: links of its keys would die unasked. */
	if (exists && !drop_old && media_keys_load(&k, path, e) < 0)
		return -1;
	if (crypto_random_hex(NEW_KEY_BYTES, fresh) < 0)
		return err_set(e, "no random numbers");
	if (snprintf(tmp, sizeof tmp, "%s.XXXXXX", path) >= (int)sizeof tmp)
		return err_set(e, "%s: the path is too long", path);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return err_set(e, "%s: %s", tmp, strerror(errno));
	if (write_keys(fd, exists ? &st : NULL, fresh, k.keys[0]) < 0 || rename(tmp, path) < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		unlink(tmp);
		goto out;
	}
	result = 0;
out:
	close(fd);
	explicit_bzero(fresh, sizeof fresh);
	explicit_bzero(&k, sizeof k);
	return result;
}

/* What is signed begins with its purpose, so that a signature made for anything else is never one of a link. */
static int sign(const char *key, const char *frame_uuid, int64_t exp, char ret_sig[SHA256_HEX_LEN + 1])
{
	char uuid[UUID_TEXT_LEN + 1], text[128];
	int len;

	if (!ident_is_uuid(frame_uuid))
		return -1;
	ident_lower_uuid(frame_uuid, uuid);
	len = snprintf(text, sizeof text, "media/frame\n%s\n%" PRId64, uuid, exp);
	return crypto_hmac_sha256_hex(key, strlen(key), text, (size_t)len, ret_sig);
}

int media_sign(const struct media_keys *k, const char *frame_uuid, int64_t exp, char ret_sig[SHA256_HEX_LEN + 1])
{
	return k->n > 0 ? sign(k->keys[0], frame_uuid, exp, ret_sig) : -1;
}

enum media_verdict media_verify(
    const struct media_keys *k, const char *frame_uuid, const char *exp, const char *sig, time_t now)
{
	size_t digits = strspn(exp, "0123456789");
	char right[SHA256_HEX_LEN + 1];
	bool good = false;
	int64_t at;

	/* One way to write each number: a link cannot be made to look different. */
	if (digits == 0 || digits > EXP_DIGITS_MAX || exp[digits] != '\0' || exp[0] == '0' ||
	    strnlen(sig, SHA256_HEX_LEN + 1) != SHA256_HEX_LEN)
		return MEDIA_FORGED;
	at = strtoll(exp, NULL, 10);
	/* Every key is tried, also after one that fits. */
	for (size_t i = 0; i < k->n; i++)
		if (sign(k->keys[i], frame_uuid, at, right) == 0)
			good |= crypto_equal(right, sig, SHA256_HEX_LEN);
	if (!good)
		return MEDIA_FORGED;
	return at <= now ? MEDIA_EXPIRED : MEDIA_VALID;
}

int media_link(const struct media_keys *k, const char *prefix, const char *frame_uuid, int64_t exp,
    char ret[MEDIA_LINK_MAX], struct err *e)
{
	char sig[SHA256_HEX_LEN + 1], uuid[UUID_TEXT_LEN + 1], link[MEDIA_LINK_MAX];
	size_t len = strlen(prefix);
	int n;

	if (media_sign(k, frame_uuid, exp, sig) < 0)
		return err_set(e, "a link cannot be signed: no key, or the frame's id is not a UUID");
	ident_lower_uuid(frame_uuid, uuid);
	while (len > 0 && prefix[len - 1] == '/')
		len--;
	n = snprintf(link, sizeof link, "%.*s/media/frame/%s?exp=%" PRId64 "&sig=%s", (int)len, prefix, uuid, exp, sig);
	if (n < 0 || (size_t)n >= sizeof link)
		return err_set(e, "PUBLIC_URL is too long");
	memcpy(ret, link, (size_t)n + 1);
	return 0;
}
