/* SPDX-License-Identifier: Apache-2.0 */
#include "common/program.h"

#include "common/log.h"
#include "config.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OVERRIDES_MAX = 32 };

/* What the command line says, before anything is read. */
struct arguments {
	const char *path;
	const char *overrides[OVERRIDES_MAX];
	size_t n;
	bool help, version;
};

static int parse(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {{"config", required_argument, NULL, 'c'},
	    {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {NULL, 0, NULL, 0}};
	int opt;

	*ret = (struct arguments){0};
	optind = 0;
	/* '+': options after the first plain argument belong to a subcommand. */
	while ((opt = getopt_long(argc, argv, "+c:o:hV", options, NULL)) != -1) {
		if (opt == 'c')
			ret->path = optarg;
		else if (opt == 'o' && ret->n < OVERRIDES_MAX)
			ret->overrides[ret->n++] = optarg;
		else if (opt == 'h')
			ret->help = true;
		else if (opt == 'V')
			ret->version = true;
		else
			return -1;
	}
	return 0;
}

static int load(const struct arguments *args, struct conf *conf, struct err *e)
{
	if (conf_load(conf, args->path, e) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++)
		if (conf_override(conf, args->overrides[i], e) < 0)
			return -1;
	return 0;
}

static void print_help(const struct program *p)
{
	printf("Usage: %s %s\n%s\n"
	       "  -c, --config FILE   read FILE instead of " CONF_DEFAULT_FILE "\n"
	       "  -o NAME=VALUE       set an option, over the file and the environment\n"
	       "  -h, --help          this text\n"
	       "  -V, --version       the version\n\n"
	       "Options of the configuration file, the environment and -o [default]:\n",
	    p->name, p->usage, p->about);
	conf_print_options(stdout);
}

int program_start(const struct program *p, int argc, char **argv, int max_args, struct conf *conf, int *ret_status)
{
	struct arguments args;
	struct err e;

	*conf = (struct conf){0};
	*ret_status = EXIT_FAILURE;
	if (parse(argc, argv, &args) < 0) {
		fprintf(stderr, "Try '%s --help'.\n", p->name);
		return -1;
	}
	if (args.help || args.version) {
		if (args.help)
			print_help(p);
		else
			printf("%s %s\n", p->name, PACKAGE_VERSION);
		*ret_status = EXIT_SUCCESS;
		return -1;
	}
	if (argc - optind > max_args) {
		fprintf(stderr, "%s: unexpected argument \"%s\". Try '%s --help'.\n", p->name, argv[optind + max_args],
		    p->name);
		return -1;
	}
	if (load(&args, conf, &e) < 0) {
		fprintf(stderr, "%s: %s\n", p->name, e.msg);
		return -1;
	}
	log_open(p->name, (enum log_level)conf->log_level);
	return optind;
}

int program_reload(int argc, char **argv, struct conf *conf, struct err *e)
{
	struct arguments args;

	*conf = (struct conf){0};
	if (parse(argc, argv, &args) < 0)
		return err_set(e, "the command line cannot be read again");
	return load(&args, conf, e);
}
