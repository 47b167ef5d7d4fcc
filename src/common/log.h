/* SPDX-License-Identifier: Apache-2.0
 * A program's log: one line an event on stderr, with its time; under systemd an entry of the journal, with fields. A
 * message names the objects that it is about as "job %...", "camera %..." and so on (log_objects): in the journal each
 * becomes a field, so that `journalctl CAMSERVER_CAMERA=lobby` finds all that was said about one. Only programs call
 * this; library code returns a struct err. */
#ifndef CAM_LOG_H
#define CAM_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* name stays the caller's and must live on. */
void log_open(const char *name, enum log_level level);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The field that an object word of fmt becomes, as CAMSERVER_JOB=17, for all of them, one a line; returns the length.
 * text is the message that was made of fmt. For log_at() and its test. */
int log_objects(const char *fmt, const char *text, char *ret, int size);

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
