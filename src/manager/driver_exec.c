/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/driver_exec.h"

#include "common/log.h"
#include "manager/logfile.h"
#include "manager/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 256, ENV_MAX = 256, NO_PROGRAM = 127, EVENTS_MAX = 32, PORT_TRIES = 100 };

static bool port_taken(const struct manager *m, int port)
{
	for (const struct worker *w = m->workers; w != NULL; w = w->next)
		if (w->port == port)
			return true;
	return false;
}

int exec_free_port(struct manager *m, struct err *e)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
		socklen_t len = sizeof a;
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;

		if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
		    getsockname(fd, (struct sockaddr *)&a, &len) == 0)
			port = ntohs(a.sin_port);
		if (fd >= 0)
			close(fd);
		/* One that a worker of ours is about to take is not free, either. */
		if (port > 0 && !port_taken(m, port))
			return port;
	}
	return err_set(e, "no free port: %s", strerror(errno));
}

/* What a worker's environment begins with: nothing that could hold a secret of ours. */
static const char *const inherited[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};

/* An array of NAME=value, all to be freed; NULL: out of memory, or too many. */
static char **make_environment(const struct worker *w)
{
	char **env = calloc(ENV_MAX + 1, sizeof *env);
	struct json_object *more = NULL;
	size_t n = 0;
	bool good = env != NULL;

	for (size_t i = 0; good && i < sizeof inherited / sizeof *inherited; i++)
		if (getenv(inherited[i]) != NULL)
			good = asprintf(&env[n++], "%s=%s", inherited[i], getenv(inherited[i])) > 0;
	good = good && asprintf(&env[n++], "PORT=%d", w->port) > 0 &&
	       asprintf(&env[n++], "CAMSERVER_POOL=%s", worker_text(w, "pool")) > 0 &&
	       asprintf(&env[n++], "CAMSERVER_WORKER_ID=%s", w->id) > 0;
	if (good && json_object_object_get_ex(w->spec, "environment", &more)) {
		json_object_object_foreach(more, name, value)
		{
			good = good && n < ENV_MAX &&
			       asprintf(&env[n++], "%s=%s", name, json_object_get_string(value)) > 0;
		}
	}
	if (good)
		return env;
	for (size_t i = 0; env != NULL && i < n; i++)
		free(env[i]);
	free(env);
	return NULL;
}

static void free_environment(char **env)
{
	for (char **p = env; p != NULL && *p != NULL; p++)
		free(*p);
	free(env);
}

static void limit(int which, long value)
{
	struct rlimit l = {.rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value};

	setrlimit(which, &l);
}

/* In the child. It waits for the word that its process is written down: a manager that is killed before that leaves
 * nothing behind. */
static _Noreturn void become(const struct worker *w, char **args, char **env, int log_fd, int go_fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	char go;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
	limit(RLIMIT_CORE, 0);
	if (worker_number(w, "memory_mb", 0) > 0)
		limit(RLIMIT_AS, worker_number(w, "memory_mb", 0) * 1024 * 1024);
	if (worker_number(w, "open_files", 0) > 0)
		limit(RLIMIT_NOFILE, worker_number(w, "open_files", 0));
	if (read(go_fd, &go, 1) != 1)
		_exit(NO_PROGRAM);
	execvpe(args[0], args, env);
	fprintf(stderr, "cannot run %s: %s\n", args[0], strerror(errno));
	_exit(NO_PROGRAM);
}

static int watch(struct manager *m, struct worker *w, struct err *e)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

	w->pidfd = pidfd_open(w->pid, 0);
	if (w->pidfd < 0 || epoll_ctl(m->exit_fd, EPOLL_CTL_ADD, w->pidfd, &event) < 0)
		return err_set(e, "cannot watch process %d: %s", (int)w->pid, strerror(errno));
	return 0;
}

static int spawn(struct manager *m, struct worker *w, char **args, char **env, struct err *e)
{
	int go[2] = {-1, -1}, log_fd = logfile_open(m->conf.worker_dir, w->id, e), result = -1;

	if (log_fd < 0)
		return -1;
	if (pipe2(go, O_CLOEXEC) < 0 || (w->pid = fork()) < 0) {
		err_set(e, "cannot fork: %s", strerror(errno));
		goto out;
	}
	if (w->pid == 0) {
		close(go[1]);
		become(w, args, env, log_fd, go[0]);
	}
	w->child = true;
	if (pidfile_write(m->conf.worker_dir, w->id, w->pid, e) == 0 && watch(m, w, e) == 0 &&
	    write(go[1], "g", 1) == 1)
		result = 0;
	if (result < 0) { /* without the word it ends by itself; it is waited for here, which takes no time */
		close(go[1]);
		go[1] = -1;
		waitpid(w->pid, NULL, 0);
		w->pid = 0;
	}
out:
	if (go[0] >= 0)
		close(go[0]);
	if (go[1] >= 0)
		close(go[1]);
	close(log_fd);
	return result;
}

static int exec_start(struct manager *m, struct worker *w, struct err *e)
{
	struct json_object *command = NULL;
	char *args[ARGS_MAX + 1] = {NULL}, **env;
	size_t n;
	int result;

	if (!json_object_object_get_ex(w->spec, "command", &command) ||
	    !json_object_is_type(command, json_type_array) || (n = json_object_array_length(command)) == 0 ||
	    n > ARGS_MAX)
		return err_set(e, "the pool has no command, or one with more than %d words", ARGS_MAX);
	for (size_t i = 0; i < n; i++) {
		/* execvpe() takes them as char * and does not write. */
		args[i] = (char *)(uintptr_t)json_object_get_string(json_object_array_get_idx(command, i));
		if (args[i] == NULL)
			return err_set(e, "a word of the pool's command is null");
	}
	if ((w->port = exec_free_port(m, e)) < 0)
		return -1;
	env = make_environment(w);
	if (env == NULL)
		return err_set(e, "out of memory, or more than %d environment variables", ENV_MAX);
	result = spawn(m, w, args, env, e);
	free_environment(env);
	if (result == 0) {
		log_info("worker %s of pool %s started as process %d", w->id, worker_text(w, "pool"), (int)w->pid);
		worker_started(m, w);
	}
	return result;
}

static void signal_group(const struct worker *w, int which)
{
	if (w->pid > 1)
		kill(-w->pid, which);
}

static void exec_stop(struct manager *m, struct worker *w)
{
	(void)m;
	signal_group(w, SIGTERM);
}

static void exec_kill(struct manager *m, struct worker *w)
{
	(void)m;
	signal_group(w, SIGKILL);
}

static void exec_forget(struct manager *m, struct worker *w)
{
	if (w->pidfd >= 0)
		close(w->pidfd); /* which takes it out of the epoll, too */
	w->pidfd = -1;
	pidfile_remove(m->conf.worker_dir, w->id);
}

const struct driver driver_exec = {"exec", exec_start, exec_stop, exec_kill, exec_forget};

static void describe(const siginfo_t *info, char *ret, size_t size)
{
	if (info->si_code == CLD_EXITED)
		snprintf(ret, size, "exit status %d", info->si_status);
	else
		snprintf(ret, size, "killed by signal %d (%s)%s", info->si_status, strsignal(info->si_status),
		    info->si_status == SIGKILL ? ", perhaps for want of memory" : "");
}

/* What its group still holds goes with the leader: while he is not waited for, his number cannot be another's. */
static void bury(struct manager *m, struct worker *w)
{
	char how[128], tail[LOG_TAIL_MAX + 1];
	siginfo_t info = {0};

	if (w->child && waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == w->pid)
		describe(&info, how, sizeof how);
	else
		snprintf(how, sizeof how, "it ended; it was started by an earlier cam-manager, so nobody knows how");
	signal_group(w, SIGKILL);
	if (w->child)
		waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG);
	epoll_ctl(m->exit_fd, EPOLL_CTL_DEL, w->pidfd, NULL);
	w->pid = 0;
	logfile_tail(m->conf.worker_dir, w->id, tail);
	worker_ended(m, w, how, tail);
}

void exec_reap(struct manager *m)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(m->exit_fd, events, EVENTS_MAX, 0);

	for (int i = 0; i < n; i++)
		bury(m, events[i].data.ptr);
}

static void discover_one(void *arg, const char *id)
{
	struct manager *m = arg;
	struct worker *w;
	struct err e;
	pid_t dead, pid = pidfile_read(m->conf.worker_dir, id, &dead);

	if (worker_find(m, id) != NULL)
		return;
	if (pid <= 0) {
		if (dead > 1)
			kill(-dead, SIGKILL); /* the leader is gone; his group may not be */
		pidfile_remove(m->conf.worker_dir, id);
		return;
	}
	w = worker_adopt(m, id, &driver_exec);
	if (w == NULL)
		return;
	w->pid = pid;
	if (watch(m, w, &e) == 0)
		log_info("found worker %s, process %d", id, (int)pid);
	else
		worker_ended(m, w, e.msg, "");
}

void exec_discover(struct manager *m)
{
	pidfile_each(m->conf.worker_dir, discover_one, m);
}
