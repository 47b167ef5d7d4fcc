/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rclone_site.h"

#include "common/file.h"

#include <curl/curl.h>
#include <string.h>

enum { PASSWORD_MAX = 1024 };

int rclone_command_url(const struct conf *conf, const char *command, struct buf *url)
{
	size_t len = strlen(conf->rclone_url);

	while (len > 0 && conf->rclone_url[len - 1] == '/')
		len--;
	return buf_printf(url, "%.*s/%s", (int)len, conf->rclone_url, command);
}

/* URL/[remote]/path, the remote's name escaped as a whole. */
int rclone_file_url(const struct conf *conf, const char *path, struct buf *url)
{
	char *remote = curl_easy_escape(NULL, conf->rclone_remote, 0);
	int result = -1;

	if (remote != NULL && *remote != '\0' && rclone_command_url(conf, "%5B", url) == 0)
		result = buf_printf(url, "%s%%5D/%s", remote, path);
	curl_free(remote);
	return result;
}

char *rclone_password(const struct conf *conf, struct err *e)
{
	char *password;
	size_t len;

	if (*conf->rclone_password_file == '\0')
		return strdup("");
	password = file_read_named(conf->rclone_password_file, PASSWORD_MAX, &len, e);
	if (password != NULL)
		password[strcspn(password, "\r\n")] = '\0';
	return password;
}
