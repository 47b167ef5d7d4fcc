/* SPDX-License-Identifier: Apache-2.0
 * camctl doctor's look at the host. Run by root, it tries things as the user who has to be able to do them. */
#include "common/media.h"
#include "ctl/doctor.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HTTP_SEC = 5, WEB_SERVER_TRIES = 3, FREE_PROBLEM_PERCENT = 3, FREE_WARNING_PERCENT = 10, ERRNO_UNKNOWN = 255 };

#define WEB_USER "www-data"

static const char *user_name(const struct doctor *d)
{
	struct passwd *p = getpwuid(d->user);

	return p != NULL ? p->pw_name : "the programs' user";
}

/* Runs attempt(path) as that user and returns its errno, 0 if all went well. Who is not root tries it himself. */
static int try_as(uid_t uid, int (*attempt)(const char *path), const char *path)
{
	struct passwd *p = getpwuid(uid);
	int status;
	pid_t pid;

	if (geteuid() != 0 || uid == 0)
		return attempt(path);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		if (p == NULL || initgroups(p->pw_name, p->pw_gid) < 0 || setgid(p->pw_gid) < 0 || setuid(uid) < 0)
			_exit(ERRNO_UNKNOWN);
		_exit(attempt(path));
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ERRNO_UNKNOWN;
	return WEXITSTATUS(status);
}

static int try_to_write(const char *dir)
{
	char path[PATH_MAX];
	int fd, result = 0;

	snprintf(path, sizeof path, "%s/.doctor.%d", dir, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if (write(fd, "x", 1) != 1)
		result = errno;
	close(fd);
	unlink(path);
	return result;
}

static int try_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_to_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, result = 0;

	if (strlen(path) >= sizeof address.sun_path)
		return ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		result = errno;
	close(fd);
	return result;
}

void doctor_user(struct doctor *d)
{
	const char *dir = d->ctl->conf->run_dir;
	struct stat st;

	d->has_user = stat(dir, &st) == 0;
	d->user = d->has_user ? st.st_uid : geteuid();
	d->outsider = geteuid() != 0 && geteuid() != d->user;
	if (d->outsider)
		found(d, FINDING_WARNING, "user", "run it as root: sudo camctl doctor",
		    "directories, sockets and keys are not looked at: only root can try what the programs may do");
	if (!d->has_user)
		found(d, FINDING_PROBLEM, "run",
		    "systemd-tmpfiles --create camserver.conf, then start the services; RUN_DIR names the directory",
		    "%s: %s", dir, strerror(errno));
}

static void check_free(struct doctor *d, const char *check, const char *dir, const char *fix)
{
	struct statvfs v;
	double blocks, inodes, least;

	if (statvfs(dir, &v) < 0 || v.f_blocks == 0)
		return;
	blocks = 100.0 * (double)v.f_bavail / (double)v.f_blocks;
	inodes = v.f_files > 0 ? 100.0 * (double)v.f_favail / (double)v.f_files : 100;
	least = blocks < inodes ? blocks : inodes;
	if (least < FREE_WARNING_PERCENT)
		found(d, least < FREE_PROBLEM_PERCENT ? FINDING_PROBLEM : FINDING_WARNING, check, fix,
		    "%s is %s: %.1f %% of its %s are free", dir, least < FREE_PROBLEM_PERCENT ? "full" : "nearly full",
		    least, blocks < inodes ? "bytes" : "inodes");
	else
		found(d, FINDING_OK, check, NULL, "%s can be written, %.0f %% free", dir, least);
}

static void check_dir(struct doctor *d, const char *check, const char *dir, const char *fix_full)
{
	char fix[PATH_MAX + 128];
	int fault = try_as(d->user, try_to_write, dir);

	if (fault != 0 && fault != ENOSPC && fault != EDQUOT) {
		snprintf(fix, sizeof fix, "install -d -o %s -g " WEB_USER " -m 2750 %s", user_name(d), dir);
		found(d, FINDING_PROBLEM, check, fix, "%s is not writable for %s: %s", dir, user_name(d),
		    strerror(fault));
		return;
	}
	check_free(d, check, dir, fix_full);
}

/* Frames are written below infer, once that is there. */
void doctor_spool(struct doctor *d)
{
	char infer[PATH_MAX];
	struct stat st;

	snprintf(infer, sizeof infer, "%s/infer", d->ctl->conf->spool_dir);
	check_dir(d, "spool", stat(infer, &st) == 0 ? infer : d->ctl->conf->spool_dir,
	    "free space, or move it (SPOOL_DIR); images without a detection go after keep_undetected_sec: camctl "
	    "setting "
	    "list");
}

void doctor_archive(struct doctor *d)
{
	if (d->ctl->conf->archive_driver == ARCHIVE_DIR)
		check_dir(d, "archive", d->ctl->conf->archive_dir,
		    "free space, move it (ARCHIVE_DIR, or ARCHIVE_DRIVER=rclone), or keep images for fewer days: "
		    "camctl "
		    "setting list");
}

static void check_socket(struct doctor *d, const char *name, const char *unit)
{
	char path[PATH_MAX], fix[256];
	struct passwd *web = getpwnam(WEB_USER);
	int fault;

	snprintf(path, sizeof path, "%s/%s", d->ctl->conf->run_dir, name);
	fault = try_as(web != NULL ? web->pw_uid : d->user, try_to_connect, path);
	if (fault == 0 || fault == EAGAIN) {
		found(d, FINDING_OK, "socket", NULL, "%s answers", path);
	} else if (fault == EACCES || fault == EPERM) {
		snprintf(fix, sizeof fix, "systemctl restart %s, which makes it with group " WEB_USER " and mode 0660",
		    unit);
		found(d, FINDING_PROBLEM, "socket", fix, "the web server (" WEB_USER ") may not use %s: %s", path,
		    strerror(fault));
	} else {
		snprintf(fix, sizeof fix, "systemctl start %s; journalctl -u %s says why it does not run", unit, unit);
		found(d, FINDING_PROBLEM, "socket", fix, "nobody serves %s: %s", path, strerror(fault));
	}
}

void doctor_sockets(struct doctor *d)
{
	if (!d->has_user)
		return;
	check_socket(d, "camserver.sock", "camserver-fcgi");
	check_socket(d, "media.sock", "camserver-media");
	check_socket(d, "ingest.sock", "camserver-ingest");
	check_socket(d, "gateway.sock", "camserver-gateway");
}

void doctor_media_key(struct doctor *d)
{
	const char *path = d->ctl->conf->media_key_file;
	int fault = try_as(d->user, try_to_read, path);
	char fix[PATH_MAX + 128];

	if (fault == 0) {
		found(d, FINDING_OK, "media key", NULL, "%s", path);
		return;
	}
	if (fault == ENOENT)
		snprintf(fix, sizeof fix, "camctl media rotate-key && chgrp %s %s", user_name(d), path);
	else
		snprintf(fix, sizeof fix, "chgrp %s %s && chmod 0640 %s", user_name(d), path, path);
	found(d, FINDING_PROBLEM, "media key", fix, "%s cannot read %s: %s; links to images do not work", user_name(d),
	    path, strerror(fault));
}

static size_t swallow(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

/* The status, or 0 and *e. */
static long http_status(const struct conf *conf, const char *url, struct err *e)
{
	CURL *curl = curl_easy_init();
	CURLcode code = CURLE_OUT_OF_MEMORY;
	long status = 0;

	if (curl != NULL) {
		curl_easy_setopt(curl, CURLOPT_URL, url);
		curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)HTTP_SEC);
		curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
		if (*conf->ca_file != '\0')
			curl_easy_setopt(curl, CURLOPT_CAINFO, conf->ca_file);
		code = curl_easy_perform(curl);
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_cleanup(curl);
	}
	if (code == CURLE_OK)
		return status;
	err_set(e, "%s", curl_easy_strerror(code));
	return 0;
}

void doctor_node(struct doctor *d)
{
	const char *base = d->ctl->conf->is21_base_url;
	struct err e = {"no answer"};
	char url[2048];
	long status;

	snprintf(url, sizeof url, "%s/healthz", base);
	status = http_status(d->ctl->conf, url, &e);
	if (status >= 200 && status < 300)
		found(d, FINDING_OK, "node", NULL, "%s is healthy", base);
	else if (status != 0)
		found(d, FINDING_PROBLEM, "node", "look at that node; IS21_BASE_URL names another",
		    "%s answers with status %ld", url, status);
	else
		found(d, FINDING_PROBLEM, "node",
		    "start it (the bundled one: systemctl start camserver-analyzer), or name another in IS21_BASE_URL",
		    "there is no inference node at %s: %s", base, e.msg);
}

void doctor_web_server(struct doctor *d)
{
	const struct conf *conf = d->ctl->conf;
	struct err e = {"no answer"};
	char url[2048];
	long status;

	snprintf(url, sizeof url, "%s/healthz", conf->public_url);
	status = http_status(conf, url, &e);
	/* One that has just been started does not listen yet. */
	for (int tries = 1; status == 0 && tries < WEB_SERVER_TRIES; tries++) {
		sleep(1);
		status = http_status(conf, url, &e);
	}
	if (status == 200)
		found(d, FINDING_OK, "web server", NULL, "%s serves camserver", conf->public_url);
	else if (status == 0)
		found(d, FINDING_PROBLEM, "web server",
		    "start the web server, or set PUBLIC_URL to the address that people use", "%s: %s", url, e.msg);
	else
		found(d, FINDING_PROBLEM, "web server",
		    "wire it: lighttpd-enable-mod camserver && systemctl reload lighttpd, or a2enconf camserver && "
		    "systemctl reload apache2; and see that PUBLIC_URL is right",
		    "the web server does not pass requests on: %s answers with status %ld", url, status);
}
