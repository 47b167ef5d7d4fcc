/* SPDX-License-Identifier: Apache-2.0
 * camctl: the operator's command. */
#include "common/metrics.h"
#include "common/program.h"
#include "ctl/ctl.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUERY_TIMEOUT_MS = 60000 };

const struct ctl_command ctl_commands[] = {
    {"status", "[--json]", "health, budget, dispatchers, refusals", 0, 0, ctl_status},
    {"top", "[--interval SEC] [--once] [--json]",
	"health, streams, queue, nodes, pools, limits and leases, live, every SEC [2]; q quits; --once: print it once",
	0, 3, ctl_top},
    {"leases", "[--json]", "live stream leases", 0, 0, ctl_leases_list},
    {"leases ended", "[--json]", "the last leases that ended, and why", 0, 0, ctl_leases_ended},
    {"leases revoke", "LEASE_ID", "take a lease away", 1, 1, ctl_leases_revoke},
    {"refusals", "[--json]", "refused lease requests by reason", 0, 0, ctl_refusals},
    {"camera list", "[--json]", "all cameras", 0, 0, ctl_camera_list},
    {"camera add", "CAMERA_ID [name=value...]", "add a camera (display_name, location_label, stream_server_id, ...)", 1,
	CTL_ARGS_ANY, ctl_camera_add},
    {"camera set", "CAMERA_ID name=value...", "change a camera", 2, CTL_ARGS_ANY, ctl_camera_set},
    {"camera remove", "CAMERA_ID", "forget a camera that never had a frame", 1, 1, ctl_camera_remove},
    {"server list", "[--json]", "stream servers and their budgets", 0, 0, ctl_server_list},
    {"server set", "SERVER_ID name=value...", "make or change a stream server (total_units, max_ui_users, ...)", 1,
	CTL_ARGS_ANY, ctl_server_set},
    {"enqueue", "--camera ID [--captured-at RFC3339] [--interval SEC] [--priority N] [--no-wait] FILE...",
	"hand in JPEG files as frames, captured now; or the first at --captured-at and each --interval [1] later; "
	"with\n"
	"        --interval alone the last one now. A full queue is waited for unless --no-wait",
	1, CTL_ARGS_ANY, ctl_enqueue},
    {"jobs", "[--status S] [--kind K] [--camera ID] [--limit N] [--json]", "the newest jobs, and why they failed", 0, 8,
	ctl_jobs_list},
    {"jobs retry", "JOB_ID | --all-dead", "give a dead or cancelled job all its attempts again", 1, 1, ctl_jobs_retry},
    {"jobs cancel", "JOB_ID", "a job that is not to be done any more", 1, 1, ctl_jobs_cancel},
    {"events", "[--camera ID] [--state open|closed] [--limit N] [--json]", "the newest events", 0, 6, ctl_events},
    {"case list", "[--json]", "events that belong to a case, and are kept for ever", 0, 0, ctl_case_list},
    {"case attach", "EVENT CASE_ID", "keep an event, named by its number or UUID, as part of a case", 2, 2,
	ctl_case_attach},
    {"case detach", "EVENT", "keep it only as long as it would have been", 1, 1, ctl_case_detach},
    {"media link", "FRAME_UUID|EVENT_ID [--ttl SEC]",
	"a link to a frame's image, or to an event's best, good for [600] s without signing in", 1, 3, ctl_media_link},
    {"media rotate-key", "[--drop-old]", "sign links with a new key; the one before stays good, unless --drop-old", 0,
	1, ctl_media_rotate_key},
    {"channel list", "[--json]", "where notifications go, and how that went", 0, 0, ctl_channel_list},
    {"channel add", "NAME kind=webhook|slack|smtp url=URL [name=value...]",
	"add a channel; webhook: secret_file=FILE; smtp: url=smtp://HOST:PORT mail_from= mail_to=A,B [mail_user=\n"
	"        secret_file=]; all: min_severity=0-3 daily_hour=0-23 (a daily summary) enabled=",
	3, CTL_ARGS_ANY, ctl_channel_add},
    {"channel set", "NAME name=value...", "change a channel", 2, CTL_ARGS_ANY, ctl_channel_set},
    {"channel test", "NAME", "send a test message and wait for its delivery", 1, 1, ctl_channel_test},
    {"channel remove", "NAME", "forget a channel", 1, 1, ctl_channel_remove},
    {"notifications", "[--state S] [--camera ID] [--limit N] [--json]", "what was told to whom, what was not, and why",
	0, 6, ctl_notifications},
    {"reviews", "[--json]", "what the language model said of unknown events", 0, 0, ctl_reviews},
    {"schema list", "[--json]", "tag schemas, and which one is in use", 0, 0, ctl_schema_list},
    {"schema load", "FILE", "store a new tag schema; SCHEMA_VERSION puts it to use", 1, 1, ctl_schema_load},
    {"demo-cameras", "[--cameras N] [--rate FPS] [--seconds N] | --draw FILE --camera entrance|parking|2f --at SEC",
	"draw cameras [3] and feed their frames [1 a second each] until stopped; --draw: write one picture, feed "
	"nothing",
	0, 6, ctl_demo_cameras},
    {"limits show", "[--json]", "each model's effective limits, where they come from, and how it stands", 0, 0,
	ctl_limits_show},
    {"limits load", "FILE", "take over a configuration: rate_limit, providers, models; effective at once", 1, 1,
	ctl_limits_load},
    {"limits set", "global|provider NAME|model NAME name=value...",
	"change requests, window_ms, concurrent (empty: inherit) or shared; effective at once", 2, CTL_ARGS_ANY,
	ctl_limits_set},
    {"limits simulate", "FILE [--hours N] [--json]",
	"what a configuration would have refused or delayed of the calls of the last hours [1]", 1, 3,
	ctl_limits_simulate},
    {"model list", "[--json]", "models, their providers and their names there", 0, 0, ctl_model_list},
    {"dispatchers", "[--json]", "dispatcher processes", 0, 0, ctl_dispatchers},
    {"node list", "[--json]", "inference nodes, and how the programs that call them find them", 0, 0, ctl_node_list},
    {"node add", "NAME base_url=URL models=A,B [name=value...]",
	"add a node (max_inflight, weight, http2, health_path); is21 is the model of the frames' analysis", 3,
	CTL_ARGS_ANY, ctl_node_add},
    {"node set", "NAME name=value...", "change a node; effective at once", 2, CTL_ARGS_ANY, ctl_node_set},
    {"node drain", "NAME [--off]", "no new calls; --off: back to work", 1, 2, ctl_node_drain},
    {"node remove", "NAME", "forget a node", 1, 1, ctl_node_remove},
    {"pool list", "[--json]", "worker pools and what runs in them", 0, 0, ctl_pool_list},
    {"pool show", "NAME", "a pool and its workers, with the reasons of those that ended", 1, 1, ctl_pool_show},
    {"pool add", "NAME name=value...", "make a pool (command or image, max_capacity, idle_timeout_sec, min_idle, ...)",
	2, CTL_ARGS_ANY, ctl_pool_add},
    {"pool set", "NAME name=value...", "change a pool; one that kept failing is tried again at once", 2, CTL_ARGS_ANY,
	ctl_pool_set},
    {"pool drain", "NAME [--off]", "no new calls, and its workers stop; --off: back to work", 1, 2, ctl_pool_drain},
    {"pool remove", "NAME", "forget a pool; drains it first", 1, 1, ctl_pool_remove},
    {"pool import", "TEMPLATE.YAML [name=value...]",
	"a pool for each function of a SAM template, with its ReservedConcurrentExecutions; name=value: of new pools",
	1, CTL_ARGS_ANY, ctl_pool_import},
    {"pool call", "NAME [--times N] [--parallel N] [--timeout SEC] [FILE]",
	"call a worker: GET, POST of a JSON file, or of a JPEG as is21 has it", 1, 8, ctl_pool_call},
    {"workers", "[--pool NAME] [--all] [--json]", "the workers; --all: also the last that ended, and why", 0, 3,
	ctl_workers},
    {"setting list", "[--json]", "tunables", 0, 0, ctl_setting_list},
    {"setting set", "NAME VALUE", "change a tunable; takes effect at once", 2, 2, ctl_setting_set},
    {"token create", "NAME [--role viewer|ingest|operator] [--days N]", "make a bearer token and print it once", 1, 5,
	ctl_token_create},
    {"token list", "[--json]", "tokens without their secrets", 0, 0, ctl_token_list},
    {"token revoke", "NAME", "make a token useless at once", 1, 1, ctl_token_revoke},
    {"user list", "[--json]", "roles of people whom the web server signs in", 0, 0, ctl_user_list},
    {"user set", "NAME ROLE", "give a role", 2, 2, ctl_user_set},
    {"user remove", "NAME", "back to viewer", 1, 1, ctl_user_remove},
    {"config show", "", "the configuration in force and where it comes from", 0, 0, ctl_config_show},
    {"db migrate", "[--to VERSION]", "bring the database schema to the newest version", 0, 2, ctl_db_migrate},
    {"db status", "", "schema version and pending migrations", 0, 0, ctl_db_status},
    {"db reset", "--yes", "delete all data and start anew", 0, 1, ctl_db_reset},
    {"doctor", "[--json]", "check everything, and say what to do about what is not well", 0, 0, ctl_doctor},
    /* For the build; without a text they are not listed. */
    {"man", "commands|options", "", 1, 1, ctl_man},
    {"completion", "", "", 0, 0, ctl_completion},
};

const size_t ctl_command_count = sizeof ctl_commands / sizeof *ctl_commands;

/* Number of arguments that the command's words take up, 0 if they are not these. */
static int takes(const char *words, int argc, char **argv)
{
	int n = 0;

	for (; n < argc; n++) {
		size_t len = strlen(argv[n]);

		if (strncmp(words, argv[n], len) != 0 || (words[len] != ' ' && words[len] != '\0'))
			return 0;
		if (words[len] == '\0')
			return n + 1;
		words += len + 1;
	}
	return 0;
}

/* The command with the most words that fit, so that "leases revoke" is not "leases" with an argument. */
static const struct ctl_command *find(int argc, char **argv, int *ret_words)
{
	const struct ctl_command *best = NULL;

	*ret_words = 0;
	for (size_t i = 0; i < ctl_command_count; i++) {
		int n = takes(ctl_commands[i].words, argc, argv);

		if (n > *ret_words) {
			*ret_words = n;
			best = &ctl_commands[i];
		}
	}
	return best;
}

static char *about(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	fputs("The operator's command of camserver.\n\nCommands:\n", f);
	for (size_t i = 0; i < ctl_command_count; i++)
		if (*ctl_commands[i].about != '\0')
			fprintf(f, "  %s%s%s\n        %s\n", ctl_commands[i].words,
			    *ctl_commands[i].usage != '\0' ? " " : "", ctl_commands[i].usage, ctl_commands[i].about);
	fclose(f);
	return text;
}

/* libpq's own variables: what the URL says goes before them, and so does what the caller has set. */
static void use_admin_role(const struct conf *conf)
{
	if (access(conf->admin_passfile, R_OK) != 0)
		return;
	setenv("PGPASSFILE", conf->admin_passfile, 0);
	setenv("PGUSER", "camserver_admin", 0);
}

/* What begins like it, if anything does. */
static void say_unknown(int argc, char **argv)
{
	size_t len = argc > 0 ? strlen(argv[0]) : 0;
	bool some = false;

	for (size_t i = 0; len > 0 && i < ctl_command_count; i++) {
		const char *words = ctl_commands[i].words;

		if (*ctl_commands[i].about == '\0' || strncmp(words, argv[0], len) != 0 || words[len] != ' ')
			continue;
		if (!some)
			fprintf(stderr, "camctl: there is no command \"%s%s%s\". Usage:\n", argv[0],
			    argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
		fprintf(stderr, "  camctl %s %s\n", words, ctl_commands[i].usage);
		some = true;
	}
	if (!some)
		fprintf(stderr, "camctl: %s%s%s. Try 'camctl --help'.\n",
		    argc == 0 ? "a command is missing" : "there is no command \"", argc == 0 ? "" : argv[0],
		    argc == 0 ? "" : "\"");
}

/* What was changed, this host's programs shall not repeat answers of before; any other host's will stop in a moment. A
 * file of counters is not made here: it belongs to the programs. */
static void announce_change(const struct conf *conf)
{
	char path[PATH_MAX];
	struct metrics *m;

	if (snprintf(path, sizeof path, "%s/metrics", conf->run_dir) >= (int)sizeof path ||
	    access(path, R_OK | W_OK) != 0)
		return;
	m = metrics_open(conf->run_dir, NULL);
	metrics_add(m, METRIC_CHANGES);
	metrics_close(m);
}

static int run(struct conf *conf, int argc, char **argv)
{
	struct ctl ctl = {.conf = conf};
	const struct ctl_command *command;
	int words, status = EXIT_FAILURE;

	command = find(argc, argv, &words);
	if (command == NULL) {
		say_unknown(argc, argv);
		return EXIT_FAILURE;
	}
	ctl.argc = argc - words;
	ctl.argv = argv + words;
	if (ctl_flag(&ctl, "--help")) {
		printf("Usage: camctl %s %s\n%s\n", command->words, command->usage, command->about);
		return EXIT_SUCCESS;
	}
	ctl.json = ctl_flag(&ctl, "--json");
	if (ctl.argc < command->min_args || ctl.argc > command->max_args) {
		fprintf(stderr, "Usage: camctl %s %s\n", command->words, command->usage);
		return EXIT_FAILURE;
	}
	use_admin_role(conf);
	ctl.db = db_new(conf->admin_database_url, "camctl", QUERY_TIMEOUT_MS);
	if (ctl.db != NULL) {
		db_speak_plainly(ctl.db);
		status = command->run(&ctl);
		announce_change(conf);
	}
	db_free(ctl.db);
	return status;
}

int main(int argc, char **argv)
{
	struct program program = {"camctl", "[options] COMMAND [arguments]", NULL};
	char *text = about();
	struct conf conf;
	int first, status;

	setlocale(LC_ALL, "");
	program.about = text != NULL ? text : "";
	first = program_start(&program, argc, argv, CTL_ARGS_ANY, &conf, &status);
	if (first >= 0)
		status = run(&conf, argc - first, argv + first);
	conf_free(&conf);
	free(text);
	return status;
}
