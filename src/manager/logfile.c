/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/logfile.h"

#include "common/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOG_BYTES_MAX = 16 * 1024 * 1024,
	KEEP_SEC = 86400,
	STAT_BYTES_MAX = 4096,
	BOOT_ID_MAX = 40,
	LINE_MAX_BYTES = 128
};

static void path_of(const char *dir, const char *id, const char *suffix, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s%s", dir, id, suffix);
}

int logfile_open(const char *dir, const char *id, struct err *e)
{
	char path[PATH_MAX];
	int fd;

	path_of(dir, id, ".log", path, sizeof path);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd >= 0 ? fd : err_set(e, "cannot write %s: %s", path, strerror(errno));
}

void logfile_clean(char *text)
{
	for (char *line = text; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');

		if (end != NULL)
			*end = '\0';
		ident_clean(line);
		if (end != NULL)
			*end++ = '\n';
		line = end;
	}
}

void logfile_tail(const char *dir, const char *id, char *ret)
{
	char path[PATH_MAX];
	struct stat st;
	ssize_t len = 0;
	int fd;

	path_of(dir, id, ".log", path, sizeof path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &st) == 0)
		len = pread(fd, ret, LOG_TAIL_MAX, st.st_size > LOG_TAIL_MAX ? st.st_size - LOG_TAIL_MAX : 0);
	if (fd >= 0)
		close(fd);
	ret[len > 0 ? len : 0] = '\0';
	logfile_clean(ret);
}

static void prune_one(const char *path, bool runs)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	if (!runs && st.st_mtime < time(NULL) - KEEP_SEC)
		unlink(path);
	else if (st.st_size > LOG_BYTES_MAX && truncate(path, 0) < 0)
		unlink(path);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name);

	return len == UUID_TEXT_LEN + strlen(suffix) && strcmp(name + UUID_TEXT_LEN, suffix) == 0;
}

void logfile_prune(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PATH_MAX], pid[PATH_MAX];

		if (!has_suffix(entry->d_name, ".log"))
			continue;
		path_of(dir, entry->d_name, "", path, sizeof path);
		snprintf(pid, sizeof pid, "%s/%.*s.pid", dir, UUID_TEXT_LEN, entry->d_name);
		prune_one(path, access(pid, F_OK) == 0);
	}
	if (d != NULL)
		closedir(d);
}

static void boot_id(char ret[BOOT_ID_MAX])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f == NULL || fgets(ret, BOOT_ID_MAX, f) == NULL)
		strcpy(ret, "-");
	ret[strcspn(ret, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

/* When the process began, in ticks since the boot: with the pid it is an identity. 0: there is none, or a zombie. */
static unsigned long long start_time(pid_t pid)
{
	char path[64], text[STAT_BYTES_MAX], *p, state = 'Z';
	unsigned long long ticks = 0;
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	len = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[len] = '\0';
	/* The name may hold anything; after its last ')' come the state and the numbers, the 22nd of all being it. */
	p = strrchr(text, ')');
	if (p == NULL ||
	    sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
		&ticks) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : ticks;
}

int pidfile_write(const char *dir, const char *id, pid_t pid, struct err *e)
{
	char path[PATH_MAX], temp[PATH_MAX], boot[BOOT_ID_MAX];
	int fd, result = -1;

	path_of(dir, id, ".pid", path, sizeof path);
	path_of(dir, id, ".new", temp, sizeof temp);
	boot_id(boot);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0 && dprintf(fd, "%d %llu %s\n", (int)pid, start_time(pid), boot) > 0 && fsync(fd) == 0 &&
	    rename(temp, path) == 0)
		result = 0;
	else
		err_set(e, "cannot write %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return result;
}

pid_t pidfile_read(const char *dir, const char *id, pid_t *ret_dead)
{
	char path[PATH_MAX], boot[BOOT_ID_MAX], now_boot[BOOT_ID_MAX], *text = NULL;
	unsigned long long ticks = 0;
	size_t len;
	int pid = 0, n;

	*ret_dead = 0;
	path_of(dir, id, ".pid", path, sizeof path);
	if (file_read(path, O_NOFOLLOW, LINE_MAX_BYTES, &text, &len) != 0)
		return -1;
	n = sscanf(text, "%d %llu %39s", &pid, &ticks, boot);
	free(text);
	boot_id(now_boot);
	if (n != 3 || pid <= 1 || strcmp(boot, now_boot) != 0)
		return 0;
	if (ticks != 0 && start_time(pid) == ticks)
		return pid;
	if (kill(pid, 0) < 0 && errno == ESRCH)
		*ret_dead = pid;
	return 0;
}

void pidfile_remove(const char *dir, const char *id)
{
	char path[PATH_MAX];

	path_of(dir, id, ".pid", path, sizeof path);
	unlink(path);
}

void pidfile_each(const char *dir, void (*each)(void *arg, const char *id), void *arg)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char id[UUID_TEXT_LEN + 1];

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!has_suffix(entry->d_name, ".pid"))
			continue;
		memcpy(id, entry->d_name, UUID_TEXT_LEN);
		id[UUID_TEXT_LEN] = '\0';
		if (ident_is_uuid(id))
			each(arg, id);
	}
	if (d != NULL)
		closedir(d);
}
