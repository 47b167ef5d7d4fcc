/* SPDX-License-Identifier: Apache-2.0
 * The one wait of a program that is a loop: signals, descriptors, databases and HTTP transfers together. */
#ifndef CAM_WAITING_H
#define CAM_WAITING_H

#include "common/dbq.h"
#include "common/http.h"

#include <stddef.h>
#include <stdint.h>

enum { WAITING_FDS_MAX = 8 };

/* SIGTERM, SIGINT and SIGHUP become readable here and do nothing else any more; SIGPIPE is ignored. -1 with errno. */
int waiting_signals(void);
/* Until one of the descriptors is readable, one of the databases or a transfer wants something, or that clock_ms()
 * time, and never longer than a second. No more than WAITING_FDS_MAX descriptors and databases together. */
void waiting_once(
    struct http *http, const int *fds, size_t n_fds, const struct dbq *const *dbs, size_t n_dbs, int64_t until);

#endif
