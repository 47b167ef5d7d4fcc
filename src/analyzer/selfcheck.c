/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/selfcheck.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_SEC = 5 };

bool selfcheck(const struct sockaddr_storage *address, unsigned port)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n", good[] = "200";
	struct timeval limit = {.tv_sec = ANSWER_SEC};
	struct sockaddr_storage to = *address;
	bool v6 = to.ss_family == AF_INET6;
	char status[13] = ""; /* HTTP/1.x NNN */
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool well;

	if (fd < 0)
		return false;
	if (v6)
		((struct sockaddr_in6 *)&to)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)&to)->sin_port = htons((uint16_t)port);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	well = connect(fd, (const struct sockaddr *)&to,
		   v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) == 0 &&
	       send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1 &&
	       recv(fd, status, sizeof status - 1, MSG_WAITALL) == (ssize_t)sizeof status - 1 &&
	       memcmp(status + 9, good, 3) == 0;
	close(fd);
	return well;
}
