/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sockets.h"

#include <sys/socket.h>
#include <unistd.h>

static curl_socket_t opened(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	(void)purpose;
	if (fd < 0)
		return CURL_SOCKET_BAD;
	metrics_gauge_add(arg, GAUGE_POOL_CONNECTIONS, 1);
	return fd;
}

static int closed(void *arg, curl_socket_t fd)
{
	metrics_gauge_add(arg, GAUGE_POOL_CONNECTIONS, -1);
	return close(fd);
}

void sockets_count(CURL *easy, struct metrics *m)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opened);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, m);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closed);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, m);
}
