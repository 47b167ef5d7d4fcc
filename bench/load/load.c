/* SPDX-License-Identifier: Apache-2.0
 * HTTP clients for measuring: CLIENTS connections on loopback, each with one request under way, from one thread.
 *   load request CLIENTS SECONDS PORT METHOD PATH STATUS [FILE TYPE [TOKEN]]   the same request again and again
 *   load lease CLIENTS SECONDS PORT CAMERA                                     acquire, heartbeat, release; each its
 * own viewer load frame CLIENTS SECONDS PORT CAMERA CAMERAS FILE TOKEN                  new frames, of CAMERA1 ...
 * CAMERAn in turn A tenth of the time is warm-up. Prints one JSON object: rate (of whole rounds), p50_ms and p99_ms of
 * a round, first_p50_ms (to the first byte of a body), bad (answers of another status). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { IN_MAX = 256 * 1024, HEAD_MAX = 2048, LEASE_ID_LEN = 36, STEPS_MAX = 3, ERRORS_SHOWN = 3 };

struct client {
	int fd;
	unsigned index, step;
	char head[HEAD_MAX], lease[LEASE_ID_LEN + 1];
	size_t head_len, body_len, sent, in_len;
	const char *body;
	char in[IN_MAX + 1];
	int64_t began, asked;
	bool first_seen;
};

struct mode {
	const char *name;
	unsigned steps;
	int args;
	void (*ask)(struct client *c);
	int (*expected)(const struct client *c);
};

static const struct mode *mode;
static char **words; /* the mode's own arguments */
static int port, epoll_fd;
static char *file;
static size_t file_len;
static double *rounds, *firsts;
static size_t n_rounds, n_firsts, size_rounds, size_firsts;
static unsigned long bad;
static unsigned long counter;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void add(double **list, size_t *n, size_t *size, double value)
{
	if (*n == *size) {
		*size = *size * 2 + 1024;
		*list = realloc(*list, *size * sizeof **list);
		if (*list == NULL)
			die("memory");
	}
	(*list)[(*n)++] = value;
}

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL || fseek(f, 0, SEEK_END) < 0)
		die(path);
	file_len = (size_t)ftell(f);
	rewind(f);
	file = malloc(file_len + 1);
	if (file == NULL || fread(file, 1, file_len, f) != file_len)
		die(path);
	fclose(f);
}

/* --- the modes */

/* Each client is a viewer of its own by its cookie. */
static void compose(struct client *c, const char *method, const char *path, const char *type, const char *token,
    const char *body, size_t len)
{
	char authorization[512];
	int n;

	if (token != NULL)
		snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", token);
	else
		snprintf(authorization, sizeof authorization, "Cookie: camserver_session=%060x%04x", (unsigned)getpid(),
		    c->index);
	n = snprintf(c->head, sizeof c->head,
	    "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", method, path,
	    authorization, type, len);
	c->head_len = (size_t)n;
	c->body = body;
	c->body_len = len;
}

static void ask_request(struct client *c)
{
	bool with_body = words[3] != NULL;

	compose(
	    c, words[0], words[1], with_body ? words[4] : "text/plain", with_body ? words[5] : NULL, file, file_len);
}

static int expect_request(const struct client *c)
{
	(void)c;
	return atoi(words[2]);
}

static void ask_lease(struct client *c)
{
	static char body[STEPS_MAX][256];
	char path[128];

	if (c->step == 0) {
		snprintf(body[0], sizeof body[0], "{\"camera_id\":\"%s\",\"quality\":\"sub\"}", words[0]);
		compose(c, "POST", "/api/modal/lease", "application/json", NULL, body[0], strlen(body[0]));
		return;
	}
	snprintf(path, sizeof path, "/api/modal/lease/%s%s", c->lease, c->step == 1 ? "/heartbeat" : "");
	compose(c, c->step == 1 ? "POST" : "DELETE", path, "text/plain", NULL, "", 0);
}

static int expect_lease(const struct client *c)
{
	return c->step == 0 ? 201 : 200;
}

static void ask_frame(struct client *c)
{
	char path[512], when[32];
	struct timespec t;
	struct tm tm;
	unsigned long n = counter++;

	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(path, sizeof path, "/api/frames?camera_id=%s%lu&captured_at=%s.%03ldZ", words[0],
	    1 + n % strtoul(words[1], NULL, 10), when, t.tv_nsec / 1000000);
	compose(c, "POST", path, "image/jpeg", words[3], file, file_len);
}

static int expect_frame(const struct client *c)
{
	(void)c;
	return 202;
}

static const struct mode modes[] = {
    {"request", 1, 3, ask_request, expect_request},
    {"lease", 3, 1, ask_lease, expect_lease},
    {"frame", 1, 4, ask_frame, expect_frame},
};

/* --- connections */

static void watch(struct client *c, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = c};

	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		die("epoll");
}

static void open_connection(struct client *c)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = c};
	int one = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die("epoll");
}

static void begin(struct client *c)
{
	mode->ask(c);
	c->sent = c->in_len = 0;
	c->first_seen = false;
	c->asked = now_ns();
	if (c->step == 0)
		c->began = c->asked;
	watch(c, EPOLLOUT);
}

/* Head and body are two writes at most. */
static void go_on_sending(struct client *c)
{
	while (c->sent < c->head_len + c->body_len) {
		bool in_head = c->sent < c->head_len;
		const char *from = in_head ? c->head + c->sent : c->body + (c->sent - c->head_len);
		size_t len = in_head ? c->head_len - c->sent : c->head_len + c->body_len - c->sent;
		ssize_t n = send(c->fd, from, len, MSG_NOSIGNAL | (in_head && c->body_len > 0 ? MSG_MORE : 0));

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break; /* the reader will see why */
		c->sent += (size_t)n;
	}
	watch(c, EPOLLIN);
}

/* The whole answer's end, or 0 if there is more to come. */
static size_t answer_end(const struct client *c, const char *body)
{
	const char *length = strcasestr(c->in, "\r\nContent-Length:"),
		   *chunked = strcasestr(c->in, "\r\nTransfer-Encoding: chunked");
	size_t head = (size_t)(body - c->in);

	if (length != NULL && length < body) {
		size_t end = head + strtoul(length + 17, NULL, 10);

		return c->in_len >= end ? end : 0;
	}
	if (chunked != NULL && chunked < body)
		return c->in_len >= head + 5 && memcmp(c->in + c->in_len - 5, "0\r\n\r\n", 5) == 0 ? c->in_len : 0;
	return strtol(c->in + 9, NULL, 10) == 204 ? head : 0;
}

static void note_lease(struct client *c, const char *body)
{
	const char *id = strstr(body, "\"lease_id\"");

	id = id != NULL ? strchr(id + 10, '"') : NULL;
	if (id != NULL)
		snprintf(c->lease, sizeof c->lease, "%.*s", LEASE_ID_LEN, id + 1);
}

static void take_answer(struct client *c, const char *body, int64_t now)
{
	int status = atoi(c->in + 9);
	bool good = status == mode->expected(c), close_it = strcasestr(c->in, "\r\nConnection: close") != NULL;

	if (!good && bad++ < ERRORS_SHOWN)
		fprintf(stderr, "load: status %d: %.300s\n", status, body);
	if (mode->steps > 1 && c->step == 0)
		note_lease(c, body);
	c->step = good ? (c->step + 1) % mode->steps : 0;
	if (good && c->step == 0)
		add(&rounds, &n_rounds, &size_rounds, (double)(now - c->began) / 1e6);
	if (close_it) {
		close(c->fd);
		open_connection(c);
	}
	begin(c);
}

static void go_on_reading(struct client *c)
{
	ssize_t n = read(c->fd, c->in + c->in_len, IN_MAX - c->in_len);
	char *body;
	int64_t now;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		/* A kept connection that the server closed is the server's right; the request is sent again. */
		if (c->in_len > 0)
			bad++;
		close(c->fd);
		open_connection(c);
		begin(c);
		return;
	}
	now = now_ns();
	c->in_len += (size_t)n;
	c->in[c->in_len] = '\0';
	body = strstr(c->in, "\r\n\r\n");
	if (body == NULL)
		return;
	body += 4;
	if (!c->first_seen && c->in + c->in_len > body) {
		c->first_seen = true;
		add(&firsts, &n_firsts, &size_firsts, (double)(now - c->asked) / 1e6);
	}
	if (answer_end(c, body) > 0)
		take_answer(c, body, now);
}

static void run_until(int64_t end)
{
	struct epoll_event events[64];

	for (int64_t now = now_ns(); now < end; now = now_ns()) {
		int n = epoll_wait(epoll_fd, events, 64, (int)((end - now) / 1000000) + 1);

		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if ((events[i].events & EPOLLOUT) != 0)
				go_on_sending(c);
			else
				go_on_reading(c);
		}
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *list, size_t n, double q)
{
	if (n == 0)
		return 0;
	qsort(list, n, sizeof *list, ascending);
	return list[(size_t)(q * (double)(n - 1))];
}

int main(int argc, char **argv)
{
	int64_t started;
	double seconds;
	long n;

	for (size_t i = 0; argc > 5 && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0 && argc - 5 >= modes[i].args)
			mode = &modes[i];
	if (mode == NULL) {
		fprintf(stderr, "usage: load request|lease|frame CLIENTS SECONDS PORT ...\n");
		return 2;
	}
	n = atol(argv[2]);
	seconds = atof(argv[3]);
	port = atoi(argv[4]);
	words = argv + 5;
	if (mode->ask == ask_frame)
		read_file(words[2]);
	else if (mode->ask == ask_request && words[3] != NULL)
		read_file(words[3]);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (long i = 0; i < n; i++) {
		struct client *c = calloc(1, sizeof *c);

		if (c == NULL)
			die("memory");
		c->index = (unsigned)i;
		open_connection(c);
		begin(c);
	}
	run_until(now_ns() + (int64_t)(seconds * 1e8));
	n_rounds = n_firsts = 0;
	bad = 0;
	started = now_ns();
	run_until(started + (int64_t)(seconds * 1e9));
	seconds = (double)(now_ns() - started) / 1e9;
	printf("{\"rate\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"first_p50_ms\": %.3f, \"bad\": %lu}\n",
	    (double)n_rounds / seconds, quantile(rounds, n_rounds, 0.5), quantile(rounds, n_rounds, 0.99),
	    quantile(firsts, n_firsts, 0.5), bad);
	return 0;
}
