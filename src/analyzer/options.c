/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/options.h"

#include "analyzer/server.h"
#include "common/err.h"
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ADDRESS "127.0.0.1"
#define DEFAULT_PORT "9000"
#define DEFAULT_INFLIGHT "8"

enum { ADDRESS_MAX = 256, INFLIGHT_MAX = SERVER_CONNECTIONS_MAX };

/* What the command line says, before anything is looked at. */
struct words {
	const char *listen, *script, *inflight, *level;
};

static const struct {
	struct option option;
	const char *argument, *help;
} table[] = {
    {{"listen", required_argument, NULL, 'l'}, "ADDR:PORT",
	"where to listen [" DEFAULT_ADDRESS ":" DEFAULT_PORT "]; port 0 takes a free one"},
    {{"script", required_argument, NULL, 's'}, "FILE",
	"for tests: answer as the rules in FILE say; SIGHUP reads it again"},
    {{"max-inflight", required_argument, NULL, 'm'}, "N", "analyses at a time, more get 429 [" DEFAULT_INFLIGHT "]"},
    {{"log-level", required_argument, NULL, 'L'}, "LEVEL", "error, warning, info or debug [info]"},
    {{"help", no_argument, NULL, 'h'}, "", "this text"},
    {{"version", no_argument, NULL, 'V'}, "", "the version"},
};

enum { OPTION_COUNT = sizeof table / sizeof *table };

static void print_help(void)
{
	printf("Usage: cam-analyzer [options]\n"
	       "Looks at camera pictures: the bundled inference node, speaking the is21 protocol.\n"
	       "SIGTERM stops it.\n\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		printf("  --%-12s %-10s %s\n", table[i].option.name, table[i].argument, table[i].help);
	printf("\nThe environment variable PORT gives the port where --listen is not used.\n");
}

static int parse_number(const char *name, const char *text, long min, long max, long *ret, struct err *e)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || v < min || v > max)
		return err_set(e, "%s must be a number from %ld to %ld, not \"%s\"", name, min, max, text);
	*ret = v;
	return 0;
}

static int parse_level(const char *text, enum log_level *ret, struct err *e)
{
	static const char *const words[] = {
	    [LOG_LEVEL_ERROR] = "error",
	    [LOG_LEVEL_WARNING] = "warning",
	    [LOG_LEVEL_INFO] = "info",
	    [LOG_LEVEL_DEBUG] = "debug",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return err_set(e, "--log-level must be error, warning, info or debug, not \"%s\"", text);
}

static int resolve(const char *host, const char *port, struct sockaddr_storage *ret, struct err *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
	int fault = getaddrinfo(host, port, &hints, &found);

	if (fault != 0)
		return err_set(e, "cannot listen on \"%s\": %s", host, gai_strerror(fault));
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

/* ADDR:PORT or [ADDR]:PORT. */
static int parse_listen(const char *text, struct sockaddr_storage *ret, struct err *e)
{
	const char *colon = strrchr(text, ':');
	char host[ADDRESS_MAX];
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	long port;

	if (len == 0 || len >= sizeof host)
		return err_set(e, "--listen must be ADDR:PORT, not \"%s\"", text);
	if (parse_number("the port of --listen", colon + 1, 0, 65535, &port, e) < 0)
		return -1;
	if (text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	memcpy(host, text, len);
	host[len] = '\0';
	return resolve(host, colon + 1, ret, e);
}

static int parse_address(const char *listen, struct sockaddr_storage *ret, struct err *e)
{
	const char *port = getenv("PORT");
	long unused;

	if (listen != NULL)
		return parse_listen(listen, ret, e);
	if (port == NULL || *port == '\0')
		return resolve(DEFAULT_ADDRESS, DEFAULT_PORT, ret, e);
	if (parse_number("PORT in the environment", port, 0, 65535, &unused, e) < 0)
		return -1;
	return resolve(DEFAULT_ADDRESS, port, ret, e);
}

/* 1: go on, 0: the program is done, -1: a bad command line, of which getopt has told. */
static int read_words(int argc, char **argv, struct words *ret)
{
	struct option options[OPTION_COUNT + 1] = {{0}};
	int opt;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		options[i] = table[i].option;
	while ((opt = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		switch (opt) {
		case 'l':
			ret->listen = optarg;
			break;
		case 's':
			ret->script = optarg;
			break;
		case 'm':
			ret->inflight = optarg;
			break;
		case 'L':
			ret->level = optarg;
			break;
		case 'h':
			print_help();
			return 0;
		case 'V':
			printf("cam-analyzer %s\n", PACKAGE_VERSION);
			return 0;
		default:
			return -1;
		}
	}
	return 1;
}

static int understand(const struct words *w, struct options *ret, struct err *e)
{
	long inflight = 0;

	if (parse_address(w->listen, &ret->address, e) < 0 || parse_level(w->level, &ret->log_level, e) < 0 ||
	    parse_number("--max-inflight", w->inflight, 1, INFLIGHT_MAX, &inflight, e) < 0)
		return -1;
	ret->max_inflight = (int)inflight;
	ret->script = w->script;
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret, int *ret_status)
{
	struct words words = {.inflight = DEFAULT_INFLIGHT, .level = "info"};
	int go_on = read_words(argc, argv, &words);
	struct err e;

	*ret_status = go_on == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (go_on < 0)
		fprintf(stderr, "Try 'cam-analyzer --help'.\n");
	if (go_on <= 0)
		return -1;
	if (optind < argc) {
		fprintf(stderr, "cam-analyzer: unexpected argument \"%s\". Try 'cam-analyzer --help'.\n", argv[optind]);
		return -1;
	}
	*ret = (struct options){0};
	if (understand(&words, ret, &e) < 0) {
		fprintf(stderr, "cam-analyzer: %s\n", e.msg);
		return -1;
	}
	return 0;
}
