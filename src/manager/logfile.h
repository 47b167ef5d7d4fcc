/* SPDX-License-Identifier: Apache-2.0
 * The files that cam-manager keeps in WORKER_DIR: a log for each worker, and for each process which it is. */
#ifndef CAM_LOGFILE_H
#define CAM_LOGFILE_H

#include "common/err.h"
#include "common/ident.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOG_TAIL_MAX = 1500 };

/* The log of a worker, opened for appending; -1 and *e. */
int logfile_open(const char *dir, const char *id, struct err *e);
/* The end of it, clean text; "" if there is none. ret has LOG_TAIL_MAX + 1 bytes. */
void logfile_tail(const char *dir, const char *id, char *ret);
/* Makes text fit for the database: valid UTF-8, no control characters but line ends. */
void logfile_clean(char *text);
/* Empties logs that have grown too long, removes those that nobody wrote to for a day and whose worker is gone. */
void logfile_prune(const char *dir);

/* Writes down, synced, that this process is that worker. */
int pidfile_write(const char *dir, const char *id, pid_t pid, struct err *e);
/* The process of a file, if it is still the one: its pid, 0 if it ended or the number is another's now, -1 if there is
 * no such file. *ret_dead is then the number it had, if that is nobody's now, else 0. */
pid_t pidfile_read(const char *dir, const char *id, pid_t *ret_dead);
void pidfile_remove(const char *dir, const char *id);
/* Calls each with every worker id that has a file. */
void pidfile_each(const char *dir, void (*each)(void *arg, const char *id), void *arg);

#endif
