/* SPDX-License-Identifier: Apache-2.0
 * Counts the connections that curl has open, as the gauge pool_connections of this process. */
#ifndef CAM_CONNECTIONS_H
#define CAM_CONNECTIONS_H

#include "common/metrics.h"

#include <curl/curl.h>

/* For every handle, after each reset. m may be NULL; otherwise it must outlive the connections. */
void connections_count(CURL *easy, struct metrics *m);

#endif
