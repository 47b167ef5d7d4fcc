/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048, FIELDS_MAX_BYTES = 1024 };

static const struct {
	const char *word;
	int journal; /* syslog priority */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* Words in front of a conversion that name an object, and the journal's field for it. */
static const struct {
	const char *word, *field;
} objects[] = {
    {"job ", "CAMSERVER_JOB"},
    {"camera ", "CAMSERVER_CAMERA"},
    {"frame ", "CAMSERVER_FRAME"},
    {"worker ", "CAMSERVER_WORKER"},
    {"pool ", "CAMSERVER_POOL"},
    {"node ", "CAMSERVER_NODE"},
    {"channel ", "CAMSERVER_CHANNEL"},
    {"model ", "CAMSERVER_MODEL"},
};

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define MESSAGE "MESSAGE="

static const char *program = "camserver";
static enum log_level threshold = LOG_LEVEL_INFO;
static int journal = -1; /* its socket */

/* Whether stderr is the journal's, and not somebody's file: systemd says which one it gave out. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	       st.st_dev == (dev_t)device && st.st_ino == (ino_t)inode;
}

static int open_journal(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void log_open(const char *name, enum log_level level)
{
	program = name;
	threshold = level;
	if (journal < 0 && stderr_is_journal())
		journal = open_journal();
}

static int prefix(char *line, size_t size, enum log_level level)
{
	struct timeval tv;
	struct tm tm;
	char at[32];

	if (journal >= 0)
		return snprintf(line, size, MESSAGE);
	gettimeofday(&tv, NULL);
	gmtime_r(&tv.tv_sec, &tm);
	strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
	return snprintf(line, size, "%s.%03dZ %s[%d] %s: ", at, (int)(tv.tv_usec / 1000), program, (int)getpid(),
	    levels[level].word);
}

int log_objects(const char *fmt, const char *text, char *ret, int size)
{
	int len = 0;

	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		size_t word = strlen(objects[i].word), value;
		const char *at = fmt;

		while ((at = strstr(at, objects[i].word)) != NULL && at[word] != '%')
			at += word;
		at = at != NULL ? strstr(text, objects[i].word) : NULL;
		if (at == NULL)
			continue;
		value = strcspn(at + word, " ,;:)\n");
		if (value > 0 && len + (int)(strlen(objects[i].field) + value) + 3 < size)
			len += snprintf(
			    ret + len, (size_t)(size - len), "%s=%.*s\n", objects[i].field, (int)value, at + word);
	}
	return len;
}

/* The journal's own protocol: a datagram of NAME=value lines, of which the message is the first. */
static bool send_entry(enum log_level level, const char *fmt, const char *line, int len)
{
	char entry[LINE_MAX_BYTES + FIELDS_MAX_BYTES];
	int n = snprintf(entry, sizeof entry, "%.*s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=%s\n", len, line,
	    levels[level].journal, program);

	n += log_objects(fmt, line, entry + n, (int)sizeof entry - n);
	return send(journal, entry, (size_t)n, MSG_NOSIGNAL) == n;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	int len, more, skip = 0;

	if (level > threshold)
		return;
	len = prefix(line, sizeof line, level);
	va_start(ap, fmt);
	more = vsnprintf(line + len, sizeof line - (size_t)len - 1, fmt, ap);
	va_end(ap);
	if (more < 0)
		return;
	len += more;
	if (len > (int)sizeof line - 2)
		len = (int)sizeof line - 2;
	/* An error text from PostgreSQL or a peer may hold line ends; a log line may not. */
	while (len > 0 && line[len - 1] == '\n')
		len--;
	for (int i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	if (journal >= 0) {
		if (send_entry(level, fmt, line, len))
			return;
		skip = (int)strlen(MESSAGE);
	}
	line[len] = '\n';
	if (write(STDERR_FILENO, line + skip, (size_t)(len - skip) + 1) < 0)
		return; /* nowhere left to complain */
}
