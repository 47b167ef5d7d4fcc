/* SPDX-License-Identifier: Apache-2.0
 * The instant node: an HTTP server on loopback that reads a request whole and answers at once, from one thread.
 *   node PORT FILE [FILE2]     answers with FILE's JSON; with FILE2 every tenth time
 * A path that ends in /stream is answered in two chunks, the second 50 ms after the first. With NODE_TIMES in the
 * environment it prints the monotonic nanosecond in which each request's first byte was there. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { IN_MAX = 16 * 1024, FILE_MAX = 16 * 1024, BACKLOG = 1024, STREAM_MS = 50, TENTH = 10 };

struct connection {
	int fd;
	char in[IN_MAX + 1];
	size_t len;  /* of the head so far */
	size_t left; /* of the body, once the head is whole */
	bool in_body, stream;
	int64_t second_at; /* the second chunk of a stream; 0: none is due */
	struct connection *next;
};

static char answers[2][FILE_MAX + 512];
static size_t answer_lens[2];
static struct connection *streams;
static bool times;
static int epoll_fd;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void read_answer(int i, const char *path)
{
	char text[FILE_MAX];
	FILE *f = fopen(path, "rb");
	size_t len = f != NULL ? fread(text, 1, sizeof text, f) : 0;

	if (len == 0) {
		perror(path);
		exit(1);
	}
	fclose(f);
	answer_lens[i] = (size_t)snprintf(answers[i], sizeof answers[i],
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%.*s", len, (int)len,
	    text);
}

/* Answers are far smaller than a socket's buffer. */
static void put(const struct connection *c, const char *text, size_t len)
{
	if (send(c->fd, text, len, MSG_NOSIGNAL) < 0)
		return; /* the next read says why */
}

static void answer(struct connection *c)
{
	static const char head[] =
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "9\r\ndata: 1\n\n\r\n";
	static unsigned count;
	int which = answer_lens[1] > 0 && count++ % TENTH == 0;

	if (!c->stream) {
		put(c, answers[which], answer_lens[which]);
		return;
	}
	put(c, head, sizeof head - 1);
	c->second_at = now_ns() + STREAM_MS * 1000000LL;
	c->next = streams;
	streams = c;
}

static void forget(struct connection *c)
{
	for (struct connection **at = &streams; *at != NULL; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	close(c->fd);
	free(c);
}

static void end_streams(int64_t now)
{
	static const char last[] = "9\r\ndata: 2\n\n\r\n0\r\n\r\n";

	for (struct connection **at = &streams; *at != NULL;) {
		struct connection *c = *at;

		if (c->second_at > now) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		put(c, last, sizeof last - 1);
	}
}

/* The head is whole: what of the body has come is passed over. */
static void take_head(struct connection *c, const char *end)
{
	const char *length = strcasestr(c->in, "\r\nContent-Length:"), *line = strstr(c->in, " HTTP/1.");
	size_t body = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
	size_t have = c->len - (size_t)(end - c->in);

	c->stream = line != NULL && line - c->in > 7 && strncmp(line - 7, "/stream", 7) == 0;
	c->in_body = true;
	c->left = body > have ? body - have : 0;
}

static bool go_on(struct connection *c)
{
	static char away[64 * 1024];
	ssize_t n = c->in_body ? read(c->fd, away, c->left < sizeof away ? c->left : sizeof away)
			       : read(c->fd, c->in + c->len, IN_MAX - c->len);
	char *end;

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (c->in_body) {
		c->left -= (size_t)n;
	} else {
		if (c->len == 0 && times) {
			printf("%lld\n", (long long)now_ns());
			fflush(stdout);
		}
		c->len += (size_t)n;
		c->in[c->len] = '\0';
		end = strstr(c->in, "\r\n\r\n");
		if (end == NULL)
			return c->len < IN_MAX;
		take_head(c, end + 4);
	}
	if (c->left == 0) {
		c->in_body = false;
		c->len = 0;
		answer(c);
	}
	return true;
}

static int open_port(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0) {
		perror("node: listen");
		exit(1);
	}
	return fd;
}

static void take_connections(int listener)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *c = calloc(1, sizeof *c);
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

		if (c == NULL || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
			exit(1);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		c->fd = fd;
	}
}

int main(int argc, char **argv)
{
	struct epoll_event events[64], ev = {.events = EPOLLIN, .data.ptr = NULL};
	int listener;

	if (argc < 3) {
		fprintf(stderr, "usage: node PORT FILE [FILE2]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	times = getenv("NODE_TIMES") != NULL;
	for (int i = 2; i < argc && i < 4; i++)
		read_answer(i - 2, argv[i]);
	listener = open_port(atoi(argv[1]));
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &ev);
	for (;;) {
		int n = epoll_wait(epoll_fd, events, 64, streams != NULL ? 1 : -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (c == NULL)
				take_connections(listener);
			else if (!go_on(c))
				forget(c);
		}
		end_streams(now_ns());
	}
}
