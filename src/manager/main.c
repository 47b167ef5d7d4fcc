/* SPDX-License-Identifier: Apache-2.0
 * cam-manager: starts and stops the workers of the pools, one on each host that runs workers. Nothing else does. */
#include "common/clock.h"
#include "common/log.h"
#include "common/program.h"
#include "common/waiting.h"
#include "manager/driver_docker.h"
#include "manager/driver_exec.h"
#include "manager/loop.h"
#include "manager/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two managers of one directory would kill each other's workers. */
static int lock_dir(struct manager *m, struct err *e)
{
	char path[PATH_MAX];

	if (mkdir(m->conf.worker_dir, 0750) < 0 && errno != EEXIST)
		return err_set(e, "cannot make %s: %s", m->conf.worker_dir, strerror(errno));
	snprintf(path, sizeof path, "%s/lock", m->conf.worker_dir);
	m->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (m->lock_fd < 0)
		return err_set(e, "cannot open %s: %s", path, strerror(errno));
	if (flock(m->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, "another cam-manager works in %s", m->conf.worker_dir);
	return 0;
}

static int open_all(struct manager *m, struct err *e)
{
	if (lock_dir(m, e) < 0)
		return -1;
	m->signal_fd = waiting_signals();
	m->exit_fd = epoll_create1(EPOLL_CLOEXEC);
	m->db = dbq_new(m->conf.database_url, "cam-manager", (int)m->conf.db_timeout_ms);
	m->ear = dbq_new(m->conf.database_url, "cam-manager listening", (int)m->conf.db_timeout_ms);
	m->docker = docker_new(m);
	if (m->signal_fd < 0 || m->exit_fd < 0 || m->db == NULL || m->ear == NULL || m->docker == NULL ||
	    curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || (m->http = http_new(e)) == NULL)
		return err_set(e, "cannot start: out of memory or descriptors");
	dbq_listen(m->ear, "camserver_manager");
	return 0;
}

static int arg_count;
static char **arg_values;

/* What its workers and its place in the database hang on stays until a restart. */
static void reload(struct manager *m)
{
	struct conf conf;
	struct err e;
	int fault = program_reload(arg_count, arg_values, &conf, &e);

	if (fault == 0 &&
	    (strcmp(conf.worker_dir, m->conf.worker_dir) != 0 || strcmp(conf.host_name, m->conf.host_name) != 0 ||
		strcmp(conf.docker_socket, m->conf.docker_socket) != 0))
		fault = err_set(&e, "WORKER_DIR, HOST_NAME and DOCKER_SOCKET change with a restart only");
	if (fault < 0) {
		log_error("configuration not reloaded: %s", e.msg);
		conf_free(&conf);
		return;
	}
	log_open("cam-manager", (enum log_level)conf.log_level);
	/* Another database is the next connection's. */
	dbq_rename(m->db, conf.database_url);
	dbq_rename(m->ear, conf.database_url);
	conf_free(&m->conf);
	m->conf = conf;
	log_info("configuration reloaded");
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static const struct program program = {"cam-manager", "[options]",
	    "Starts and stops the workers of the pools on this host.\n"
	    "SIGTERM ends it and leaves the workers to its next start; SIGINT ends them, too.\n"
	    "SIGHUP reads the configuration again.\n"};
	struct manager m = {.signal_fd = -1, .exit_fd = -1, .lock_fd = -1};
	struct err e;
	int status;

	arg_count = argc;
	arg_values = argv;
	if (program_start(&program, argc, argv, 0, &m.conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	ident_new_uuid(m.id);
	m.metrics = metrics_open(m.conf.run_dir, &e);
	if (m.metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	metrics_join(m.metrics, program.name);
	if (open_all(&m, &e) < 0) {
		log_error("%s", e.msg);
		goto out;
	}
	if (!m.conf.enable_container_pooling)
		log_warning("ENABLE_CONTAINER_POOLING is off: no worker will be started");
	exec_discover(&m);
	loop_run(&m, reload);
	log_info("stopped");
	status = EXIT_SUCCESS;
out:
	docker_free(m.docker);
	http_free(m.http);
	curl_global_cleanup();
	dbq_free(m.ear);
	dbq_free(m.db);
	workers_free(&m);
	metrics_close(m.metrics);
	close_fd(m.exit_fd);
	close_fd(m.signal_fd);
	close_fd(m.lock_fd);
	conf_free(&m.conf);
	return status;
}
