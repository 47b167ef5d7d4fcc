/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static const struct {
	const char *word;
	int journal; /* syslog priority */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static const char *program = "camserver";
static enum log_level threshold = LOG_LEVEL_INFO;
static bool journal;

void log_open(const char *name, enum log_level level)
{
	program = name;
	threshold = level;
	journal = getenv("JOURNAL_STREAM") != NULL;
}

static int prefix(char *line, size_t size, enum log_level level)
{
	struct timeval tv;
	struct tm tm;
	char at[32];

	if (journal)
		return snprintf(line, size, "<%d>", levels[level].journal);
	gettimeofday(&tv, NULL);
	gmtime_r(&tv.tv_sec, &tm);
	strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
	return snprintf(line, size, "%s.%03dZ %s[%d] %s: ", at, (int)(tv.tv_usec / 1000), program, (int)getpid(),
	    levels[level].word);
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	int len, more;

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
	line[len] = '\n';
	if (write(STDERR_FILENO, line, (size_t)len + 1) < 0)
		return; /* nowhere left to complain */
}
