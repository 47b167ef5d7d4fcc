/* SPDX-License-Identifier: Apache-2.0
 * The smallest FastCGI responder: what a web server and libfcgi can do at best. /hello/503 says hello with that status. */
#include <fcgiapp.h>
#include <string.h>

int main(void)
{
	FCGX_Request r;

	if (FCGX_Init() != 0 || FCGX_InitRequest(&r, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&r) == 0) {
		const char *path = FCGX_GetParam("REQUEST_URI", r.envp);

		if (path != NULL && strcmp(path, "/hello/503") == 0)
			FCGX_PutS("Status: 503 Service Unavailable\r\n", r.out);
		FCGX_PutS("Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n", r.out);
		FCGX_Finish_r(&r);
	}
	return 0;
}
