/* SPDX-License-Identifier: Apache-2.0 */
#include "common/connections.h"

#include <unistd.h>

static int opened(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	(void)fd;
	(void)purpose;
	metrics_gauge_add(arg, GAUGE_POOL_CONNECTIONS, 1);
	return CURL_SOCKOPT_OK;
}

static int closed(void *arg, curl_socket_t fd)
{
	metrics_gauge_add(arg, GAUGE_POOL_CONNECTIONS, -1);
	return close(fd);
}

void connections_count(CURL *easy, struct metrics *m)
{
	if (m == NULL)
		return;
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, opened);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, m);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closed);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, m);
}
