/* SPDX-License-Identifier: Apache-2.0
 * Counts the connections that curl has open, idle ones too, in the process's gauge. */
#ifndef CAM_SOCKETS_H
#define CAM_SOCKETS_H

#include "common/metrics.h"

#include <curl/curl.h>

/* For every handle, before its transfer. m, which may be NULL, must outlive curl's connections. */
void sockets_count(CURL *easy, struct metrics *m);

#endif
