/* SPDX-License-Identifier: Apache-2.0
 * Configuration: file, environment and command line, and what is said of a bad value. */
#include "common/conf.h"
#include "common/log.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* The environment of whoever runs the tests must not decide them. */
static int setup(void **state)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		unsetenv(o->name);
	return unit_mkdir(state);
}

static const struct conf_option *option(const char *name)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	fail_msg("no option %s", name);
	return NULL;
}

static const char *value(const struct conf *c, const char *name, const char **ret_origin)
{
	static char text[4096];
	const char *origin;

	conf_value_text(c, option(name), text, sizeof text, ret_origin != NULL ? ret_origin : &origin);
	return text;
}

static void load(struct conf *c, void **state, const char *text)
{
	struct err e = {""};
	char path[UNIT_PATH_MAX];

	unit_write(*state, "c.conf", text, strlen(text), path);
	if (conf_load(c, path, &e) < 0)
		fail_msg("%s", e.msg);
}

/* Loading text must fail, with the file, this line and these words in the message. */
static void refuse(void **state, const char *text, int line, const char *words)
{
	struct conf c;
	struct err e = {""};
	char path[UNIT_PATH_MAX], place[UNIT_PATH_MAX + 16];

	unit_write(*state, "c.conf", text, strlen(text), path);
	assert_int_equal(conf_load(&c, path, &e), -1);
	snprintf(place, sizeof place, "%s:%d: ", path, line);
	assert_contains(e.msg, place);
	assert_contains(e.msg, words);
	conf_free(&c);
}

static void defaults(void **state)
{
	struct conf c;
	const char *origin;

	load(&c, state, "");
	assert_string_equal(c.database_url, "postgresql:///camserver");
	assert_string_equal(c.admin_database_url, c.database_url);
	assert_string_equal(c.run_dir, "/run/camserver");
	assert_string_equal(c.stream_server, "default");
	assert_string_equal(c.url_prefix, "");
	assert_int_equal(c.log_level, LOG_LEVEL_INFO);
	assert_int_equal(c.db_timeout_ms, 5000);
	assert_true(c.anonymous_viewer);
	assert_string_equal(value(&c, "LOG_LEVEL", &origin), "info");
	assert_string_equal(origin, "default");
	conf_free(&c);
}

static void host_name_is_never_empty(void **state)
{
	struct conf c;
	const char *origin;

	load(&c, state, "");
	assert_true(strlen(c.host_name) > 0);
	assert_string_equal(value(&c, "HOST_NAME", &origin), c.host_name);
	assert_string_equal(origin, "system");
	conf_free(&c);
	load(&c, state, "HOST_NAME=cam7\n");
	assert_string_equal(c.host_name, "cam7");
	conf_free(&c);
}

static void every_default_is_valid(void **state)
{
	struct conf c;
	struct err e;
	char line[600];

	load(&c, state, "");
	for (const struct conf_option *o = conf_options; o->name != NULL; o++) {
		assert_non_null(o->help);
		snprintf(line, sizeof line, "%s=%s", o->name, o->fallback);
		assert_int_equal(conf_override(&c, line, &e), 0);
	}
	conf_free(&c);
}

static void blanks_comments_and_quotes(void **state)
{
	struct conf c;

	load(&c, state,
	    "# a comment\n"
	    "; another\n"
	    "\n"
	    "   \t\n"
	    "  # indented\n"
	    "\tSPOOL_DIR=/a\n"
	    "RUN_DIR= \t /b \t\r\n"
	    "HOST_NAME=\"two words \"\n"
	    "STREAM_SERVER='single'\n"
	    "URL_PREFIX=\"half\n"
	    "SCHEMA_VERSION=a # b\n"
	    "DB_TIMEOUT_MS='250'\n"
	    "ANONYMOUS_VIEWER=off");
	assert_string_equal(c.spool_dir, "/a");
	assert_string_equal(c.run_dir, "/b");
	assert_string_equal(c.host_name, "two words ");
	assert_string_equal(c.stream_server, "single");
	assert_string_equal(c.url_prefix, "\"half");
	assert_string_equal(c.schema_version, "a # b"); /* as systemd: '#' starts a comment only at the line's start */
	assert_int_equal(c.db_timeout_ms, 250);
	assert_false(c.anonymous_viewer);
	conf_free(&c);
}

static void only_one_pair_of_quotes_goes(void **state)
{
	struct conf c;

	load(&c, state, "HOST_NAME=\"'x'\"\nSTREAM_SERVER='y\"\nURL_PREFIX=\"\"\nSCHEMA_VERSION=\"\n");
	assert_string_equal(c.host_name, "'x'");
	assert_string_equal(c.stream_server, "'y\"");
	assert_string_equal(c.url_prefix, "");
	assert_string_equal(c.schema_version, "\"");
	conf_free(&c);
}

static void later_line_wins(void **state)
{
	struct conf c;

	load(&c, state, "HOST_NAME=a\nHOST_NAME=b\n");
	assert_string_equal(c.host_name, "b");
	conf_free(&c);
}

static void values_with_equal_signs(void **state)
{
	struct conf c;

	load(&c, state, "DATABASE_URL=host=/tmp dbname=cam\n");
	assert_string_equal(c.database_url, "host=/tmp dbname=cam");
	conf_free(&c);
}

static void booleans(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {{"yes", true}, {"true", true}, {"1", true}, {"on", true}, {"no", false}, {"false", false},
	    {"0", false}, {"off", false}};
	struct conf c;
	char line[64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(line, sizeof line, "ANONYMOUS_VIEWER=%s\n", cases[i].text);
		load(&c, state, line);
		assert_int_equal(c.anonymous_viewer, cases[i].is);
		assert_string_equal(value(&c, "ANONYMOUS_VIEWER", NULL), cases[i].is ? "yes" : "no");
		conf_free(&c);
	}
	refuse(state, "ANONYMOUS_VIEWER=Yes\n", 1, "yes or no");
	refuse(state, "ANONYMOUS_VIEWER=\n", 1, "yes or no");
}

static void choices(void **state)
{
	static const char *const words[] = {"error", "warning", "info", "debug"};
	struct conf c;
	char line[64];

	for (int i = 0; i < 4; i++) {
		snprintf(line, sizeof line, "LOG_LEVEL=%s\n", words[i]);
		load(&c, state, line);
		assert_int_equal(c.log_level, i);
		assert_string_equal(value(&c, "LOG_LEVEL", NULL), words[i]);
		conf_free(&c);
	}
	refuse(state, "LOG_LEVEL=inf\n", 1, "error|warning|info|debug");
	refuse(state, "LOG_LEVEL=infos\n", 1, "LOG_LEVEL");
	refuse(state, "LOG_LEVEL=\n", 1, "LOG_LEVEL");
	refuse(state, "LOG_LEVEL=info|debug\n", 1, "LOG_LEVEL");
}

static void numbers(void **state)
{
	struct conf c;

	load(&c, state, "DB_TIMEOUT_MS=100\n");
	assert_int_equal(c.db_timeout_ms, 100);
	conf_free(&c);
	load(&c, state, "DB_TIMEOUT_MS=60000\n");
	assert_int_equal(c.db_timeout_ms, 60000);
	conf_free(&c);
	refuse(state, "DB_TIMEOUT_MS=99\n", 1, "from 100 to 60000, not \"99\"");
	refuse(state, "DB_TIMEOUT_MS=60001\n", 1, "DB_TIMEOUT_MS");
	refuse(state, "DB_TIMEOUT_MS=5s\n", 1, "DB_TIMEOUT_MS");
	refuse(state, "DB_TIMEOUT_MS=\n", 1, "DB_TIMEOUT_MS");
	refuse(state, "DB_TIMEOUT_MS=1e3\n", 1, "DB_TIMEOUT_MS");
	refuse(state, "DB_TIMEOUT_MS=-500\n", 1, "DB_TIMEOUT_MS");
	refuse(state, "DB_TIMEOUT_MS=99999999999999999999999\n", 1, "DB_TIMEOUT_MS");
}

static void paths_and_urls(void **state)
{
	refuse(state, "SPOOL_DIR=spool\n", 1, "absolute path");
	refuse(state, "SPOOL_DIR=\n", 1, "absolute path");
	refuse(state, "DATABASE_URL=\n", 1, "must not be empty");
	refuse(state, "HOST_NAME=a\x01z\n", 1, "control character");
	refuse(state, "HOST_NAME=\xc3(\n", 1, "broken UTF-8");
}

static void the_line_is_named(void **state)
{
	refuse(state, "# one\n\nLOG_LEVEL=info\nDB_TIMEOUT_MS=none\nLOG_LEVEL=debug\n", 4, "DB_TIMEOUT_MS");
	refuse(state, "LOG_LEVEL=info\nDATABASE_URI=x\n", 2, "no option DATABASE_URI");
	refuse(state, "LOG_LEVEL=info\nlog_level=debug\n", 2, "NAME=value");
	refuse(state, "LOG_LEVEL\n", 1, "NAME=value");
	refuse(state, "LOG_LEVEL = info\n", 1, "NAME=value");
	refuse(state, "=info\n", 1, "NAME=value");
	refuse(state, "export LOG_LEVEL=info\n", 1, "NAME=value");
	refuse(state, "[Service]\n", 1, "NAME=value");
}

static void overlong_line(void **state)
{
	char text[10000] = "LOG_LEVEL=info\nHOST_NAME=";
	struct conf c;
	size_t start = strlen("LOG_LEVEL=info\n");

	memset(text + strlen(text), 'x', 8000);
	refuse(state, text, 2, "longer than 4094 bytes");
	/* One byte more and one less than fits. */
	strcpy(text + start + 4095, "\n");
	refuse(state, text, 2, "longer than 4094 bytes");
	strcpy(text + start + 4094, "\n");
	load(&c, state, text);
	assert_int_equal(strlen(c.host_name), 4094 - strlen("HOST_NAME="));
	conf_free(&c);
	/* The last line needs no line end. */
	text[start + 4094] = '\0';
	load(&c, state, text);
	conf_free(&c);
}

static void missing_file(void **state)
{
	struct conf c;
	struct err e = {""};
	char path[UNIT_PATH_MAX];

	snprintf(path, sizeof path, "%s/none.conf", (const char *)*state);
	assert_int_equal(conf_load(&c, path, &e), -1);
	assert_contains(e.msg, path);
	assert_contains(e.msg, "No such file");
	conf_free(&c);
}

static void unreadable_file(void **state)
{
	struct conf c;
	struct err e = {""};

	assert_int_equal(conf_load(&c, *state, &e), -1); /* a directory */
	assert_contains(e.msg, *state);
	conf_free(&c);
}

static void environment_over_file(void **state)
{
	struct conf c;
	const char *origin;

	setenv("HOST_NAME", "from-env", 1);
	load(&c, state, "HOST_NAME=from-file\nSTREAM_SERVER=s2\n");
	unsetenv("HOST_NAME");
	assert_string_equal(value(&c, "HOST_NAME", &origin), "from-env");
	assert_string_equal(origin, "environment");
	assert_string_equal(value(&c, "STREAM_SERVER", &origin), "s2");
	assert_contains(origin, "/c.conf");
	conf_free(&c);
}

static void bad_environment(void **state)
{
	struct conf c;
	struct err e = {""};
	char path[UNIT_PATH_MAX];

	unit_write(*state, "c.conf", "", 0, path);
	setenv("DB_TIMEOUT_MS", "soon", 1);
	assert_int_equal(conf_load(&c, path, &e), -1);
	unsetenv("DB_TIMEOUT_MS");
	assert_contains(e.msg, "environment: DB_TIMEOUT_MS");
	conf_free(&c);
}

static void override_over_environment(void **state)
{
	struct conf c;
	struct err e;
	const char *origin;

	setenv("LOG_LEVEL", "debug", 1);
	load(&c, state, "LOG_LEVEL=error\n");
	unsetenv("LOG_LEVEL");
	assert_int_equal(conf_override(&c, "LOG_LEVEL=warning", &e), 0);
	assert_int_equal(c.log_level, LOG_LEVEL_WARNING);
	assert_string_equal(value(&c, "LOG_LEVEL", &origin), "warning");
	assert_string_equal(origin, "command line");
	conf_free(&c);
}

static void bad_override_changes_nothing(void **state)
{
	static const char *const bad[] = {"LOG_LEVEL=loud", "NOPE=1", "LOG_LEVEL", "", "# x", "SPOOL_DIR=rel"};
	struct conf c;
	struct err e;
	char overlong[5000];

	load(&c, state, "LOG_LEVEL=error\nSPOOL_DIR=/s\n");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		e.msg[0] = '\0';
		assert_int_equal(conf_override(&c, bad[i], &e), -1);
		assert_true(e.msg[0] != '\0');
	}
	memset(overlong, 'x', sizeof overlong - 1);
	overlong[sizeof overlong - 1] = '\0';
	assert_int_equal(conf_override(&c, overlong, &e), -1);
	assert_int_equal(c.log_level, LOG_LEVEL_ERROR);
	assert_string_equal(c.spool_dir, "/s");
	conf_free(&c);
}

/* camctl falls back on DATABASE_URL, wherever that comes from in the end. */
static void admin_url_follows_an_override(void **state)
{
	struct conf c;
	struct err e;

	load(&c, state, "DATABASE_URL=postgresql://one/a\n");
	assert_string_equal(c.admin_database_url, "postgresql://one/a");
	assert_int_equal(conf_override(&c, "DATABASE_URL=postgresql://two/b", &e), 0);
	assert_string_equal(c.database_url, "postgresql://two/b");
	assert_string_equal(c.admin_database_url, "postgresql://two/b");
	assert_int_equal(conf_override(&c, "ADMIN_DATABASE_URL=postgresql://three/c", &e), 0);
	assert_string_equal(c.admin_database_url, "postgresql://three/c");
	assert_string_equal(c.database_url, "postgresql://two/b");
	conf_free(&c);
}

static void passwords_are_hidden(void **state)
{
	static const struct {
		const char *url, *shown;
	} cases[] = {
	    {"postgresql://u:secret@h:5432/db", "postgresql://u:***@h:5432/db"},
	    {"postgresql://u:secret@h1,h2:1/db?sslmode=require", "postgresql://u:***@h1,h2:1/db?sslmode=require"},
	    {"postgresql://u@h:5432/db", "postgresql://u@h:5432/db"},
	    {"postgresql:///camserver?host=/tmp", "postgresql:///camserver?host=/tmp"},
	    {"postgresql://h/db?user=u&password=secret&x=y", "postgresql://h/db?user=u&password=***&x=y"},
	    {"host=h password=secret dbname=d", "host=h password=*** dbname=d"},
	    {"host=h password=secret", "host=h password=***"},
	    {"host=h dbname=d", "host=h dbname=d"},
	};
	struct conf c;
	struct err e;
	char line[256];

	load(&c, state, "");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(line, sizeof line, "DATABASE_URL=%s", cases[i].url);
		assert_int_equal(conf_override(&c, line, &e), 0);
		assert_string_equal(value(&c, "DATABASE_URL", NULL), cases[i].shown);
		assert_string_equal(c.database_url, cases[i].url);
	}
	conf_free(&c);
}

/* Whatever libpq takes as a password must not be shown: quoted, spaced, twice, or a short buffer. */
static void passwords_are_hidden_in_every_notation(void **state)
{
	static const char *const urls[] = {
	    "host=h password='my secret' dbname=d",
	    "host=h password = secret dbname=d",
	    "host=h sslpassword=x password=secret",
	    "postgresql://u:x@h/db?sslpassword=secret",
	    "postgresql://u:a@secret@h/db",
	};
	struct conf c;
	struct err e;
	char line[256];

	load(&c, state, "");
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		snprintf(line, sizeof line, "DATABASE_URL=%s", urls[i]);
		assert_int_equal(conf_override(&c, line, &e), 0);
		assert_lacks(value(&c, "DATABASE_URL", NULL), "secret");
	}
	conf_free(&c);
}

static void password_is_hidden_before_cutting(void **state)
{
	struct conf c;
	char text[32];
	const char *origin;

	load(&c, state, "DATABASE_URL=postgresql://u:secretsecretsecretsecret@h/db\n");
	conf_value_text(&c, option("DATABASE_URL"), text, sizeof text, &origin);
	assert_lacks(text, "secret");
	conf_free(&c);
}

static void help_lists_every_option(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	conf_print_options(out);
	fclose(out);
	for (const struct conf_option *o = conf_options; o->name != NULL; o++) {
		assert_contains(text, o->name);
		assert_contains(text, o->help);
	}
	free(text);
}

static void free_twice(void **state)
{
	struct conf c;

	load(&c, state, "");
	conf_free(&c);
	conf_free(&c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, unit_rmdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(defaults),
	    T(host_name_is_never_empty),
	    T(every_default_is_valid),
	    T(blanks_comments_and_quotes),
	    T(only_one_pair_of_quotes_goes),
	    T(later_line_wins),
	    T(values_with_equal_signs),
	    T(booleans),
	    T(choices),
	    T(numbers),
	    T(paths_and_urls),
	    T(the_line_is_named),
	    T(overlong_line),
	    T(missing_file),
	    T(unreadable_file),
	    T(environment_over_file),
	    T(bad_environment),
	    T(override_over_environment),
	    T(bad_override_changes_nothing),
	    T(admin_url_follows_an_override),
	    T(passwords_are_hidden),
	    T(passwords_are_hidden_in_every_notation),
	    T(password_is_hidden_before_cutting),
	    T(help_lists_every_option),
	    T(free_twice),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
