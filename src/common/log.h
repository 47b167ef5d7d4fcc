/* SPDX-License-Identifier: Apache-2.0
 * A program's log: one line an event on stderr. Under systemd the line carries its priority for the journal;
 * elsewhere a time. Only programs call this; library code returns a struct err. */
#ifndef CAM_LOG_H
#define CAM_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* name stays the caller's and must live on. */
void log_open(const char *name, enum log_level level);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
