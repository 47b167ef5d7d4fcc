/* SPDX-License-Identifier: Apache-2.0 */
#include "common/conf.h"

#include "common/ident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 4096, NAME_BYTES_MAX = 64, OPTIONS_MAX = 64 };

#define AT(member) offsetof(struct conf, member)

const struct conf_option conf_options[] = {
    {"DATABASE_URL", CONF_URL, AT(database_url), "postgresql:///camserver", 0, 0, NULL,
	"PostgreSQL URL or key=value string; several hosts are tried in order"},
    {"ADMIN_DATABASE_URL", CONF_URL, AT(admin_database_url), "", 0, 0, NULL,
	"what camctl connects with; empty: DATABASE_URL"},
    {"ADMIN_PASSFILE", CONF_PATH, AT(admin_passfile), "/etc/camserver/credentials/admin.pgpass", 0, 0, NULL,
	"password file of the role camserver_admin; where camctl can read it, it connects as that role unless its URL "
	"names a user"},
    {"SPOOL_DIR", CONF_PATH, AT(spool_dir), "/var/lib/camserver/spool", 0, 0, NULL,
	"frames wait here for their analysis"},
    {"RUN_DIR", CONF_PATH, AT(run_dir), "/run/camserver", 0, 0, NULL, "sockets and the host's shared counters"},
    {"IS21_BASE_URL", CONF_URL, AT(is21_base_url), "http://127.0.0.1:9000", 0, 0, NULL, "the first inference node"},
    {"ANALYZE_MODEL", CONF_TEXT, AT(analyze_model), "is21", 0, 0, NULL,
	"model whose limits and pool (camctl limits load) hold for analyses; one that is not there has none"},
    {"SCHEMA_VERSION", CONF_TEXT, AT(schema_version), "2025-12-28.1", 0, 0, NULL,
	"tag schema that inference nodes must speak"},
    {"HOST_NAME", CONF_TEXT, AT(host_name), "", 0, 0, NULL,
	"name of this host in the database; empty: the system's host name"},
    {"STREAM_SERVER", CONF_TEXT, AT(stream_server), "default", 0, 0, NULL,
	"stream server whose leases this host's overload refuses"},
    {"URL_PREFIX", CONF_TEXT, AT(url_prefix), "", 0, 0, NULL,
	"path below which the web server mounts camserver, such as /camserver"},
    {"PROC_DIR", CONF_PATH, AT(proc_dir), "/proc", 0, 0, NULL, "where the host's load is read"},
    {"LOG_LEVEL", CONF_CHOICE, AT(log_level), "info", 0, 0, "error|warning|info|debug", "how much is logged"},
    {"DB_TIMEOUT_MS", CONF_INT, AT(db_timeout_ms), "5000", 100, 60000, NULL,
	"longest wait for the database's answer to a request"},
    {"ARCHIVE_DRIVER", CONF_CHOICE, AT(archive_driver), "dir", 0, 0, "none|dir|rclone",
	"where detected frames are kept: a directory, or anything that rclone reaches"},
    {"ARCHIVE_DIR", CONF_PATH, AT(archive_dir), "/var/lib/camserver/archive", 0, 0, NULL,
	"the archive of ARCHIVE_DRIVER=dir"},
    {"RCLONE_URL", CONF_URL, AT(rclone_url), "http://127.0.0.1:5572", 0, 0, NULL,
	"remote control of rclone (rclone rcd --rc-serve)"},
    {"RCLONE_REMOTE", CONF_TEXT, AT(rclone_remote), "", 0, 0, NULL,
	"archive of ARCHIVE_DRIVER=rclone, such as drive:cameras"},
    {"RCLONE_USER", CONF_TEXT, AT(rclone_user), "", 0, 0, NULL, "user of rclone's remote control; empty: none"},
    {"RCLONE_PASSWORD_FILE", CONF_TEXT, AT(rclone_password_file), "", 0, 0, NULL, "file with that user's password"},
    {"PUBLIC_URL", CONF_URL, AT(public_url), "http://127.0.0.1:8022", 0, 0, NULL,
	"how people reach this server; links in notifications begin with it"},
    {"MEDIA_KEY_FILE", CONF_PATH, AT(media_key_file), "/etc/camserver/media.key", 0, 0, NULL,
	"keys that sign links to images, one a line, the newest first; camctl media rotate-key makes it"},
    {"SENDFILE", CONF_BOOL, AT(sendfile), "yes", 0, 0, NULL,
	"whether the web server sends images itself (X-Sendfile, as in the shipped snippets)"},
    {"CA_FILE", CONF_TEXT, AT(ca_file), "", 0, 0, NULL,
	"certificates to trust in calls to nodes, channels and models; empty: the system's"},
    {"LLM_BASE_URL", CONF_TEXT, AT(llm_base_url), "", 0, 0, NULL,
	"OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1, that is asked about unknown events; empty: "
	"where LLM_MODEL's provider is (camctl limits load), if it has one"},
    {"LLM_MODEL", CONF_TEXT, AT(llm_model), "", 0, 0, NULL, "the model to ask about unknown events"},
    {"LLM_KEY_FILE", CONF_TEXT, AT(llm_key_file), "", 0, 0, NULL, "file with the key for it; empty: none"},
    {"GATEWAY_THREADS", CONF_INT, AT(gateway_threads), "64", 1, 4096, NULL,
	"model calls that one gateway process has waiting or under way at once"},
    {"GATEWAY_TIMEOUT_SEC", CONF_INT, AT(gateway_timeout_sec), "120", 1, 3600, NULL,
	"longest time that a model call may take once it has its permit"},
    {"ANONYMOUS_VIEWER", CONF_BOOL, AT(anonymous_viewer), "yes", 0, 0, NULL,
	"whether a browser without a sign-in is a viewer, by a session cookie"},
    {"ANSWER_CACHE_MS", CONF_INT, AT(answer_cache_ms), "200", 0, 5000, NULL,
	"how long status and refusals may be repeated without asking the database; what is changed through this host "
	"ends "
	"that at once, what is changed elsewhere may go unseen for so long; 0: always ask"},
    {"ENABLE_CONTAINER_POOLING", CONF_BOOL, AT(enable_container_pooling), "no", 0, 0, NULL,
	"whether worker pools are used: workers start on demand and stop when idle"},
    {"HEARTBEAT_INTERVAL", CONF_SEC, AT(heartbeat_interval_ms), "30", 1, 3600, NULL,
	"how often a program names the workers it uses; dead after three without a word"},
    {"POOL_ACQUIRE_TIMEOUT", CONF_SEC, AT(pool_acquire_timeout_ms), "5.0", 0, 3600, NULL,
	"longest wait for a worker; a pool's own acquire_timeout_sec overrides it"},
    {"WORKER_DIR", CONF_PATH, AT(worker_dir), "/var/lib/camserver/workers", 0, 0, NULL,
	"cam-manager: logs of the workers, and which processes they are"},
    {"WORKER_ADDRESS", CONF_TEXT, AT(worker_address), "127.0.0.1", 0, 0, NULL,
	"cam-manager: where other programs reach this host's workers"},
    {"DOCKER_SOCKET", CONF_PATH, AT(docker_socket), "/var/run/docker.sock", 0, 0, NULL,
	"cam-manager: the container engine's socket, Docker's or Podman's"},
    {NULL, CONF_TEXT, 0, NULL, 0, 0, NULL, NULL},
};

struct conf_private {
	char *strings[OPTIONS_MAX];
	const char *origins[OPTIONS_MAX];
	char file[512];
};

static const struct conf_option *find(const char *name)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

static int parse_int(const struct conf_option *o, const char *text, long *ret, struct err *e)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n < o->min || n > o->max)
		return err_set(
		    e, "%s must be a whole number from %ld to %ld, not \"%s\"", o->name, o->min, o->max, text);
	*ret = n;
	return 0;
}

static int parse_sec(const struct conf_option *o, const char *text, long *ret_ms, struct err *e)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0' || !(v >= (double)o->min && v <= (double)o->max))
		return err_set(
		    e, "%s must be a number of seconds from %ld to %ld, not \"%s\"", o->name, o->min, o->max, text);
	*ret_ms = (long)(v * 1000 + 0.5);
	return 0;
}

static int parse_bool(const struct conf_option *o, const char *text, bool *ret, struct err *e)
{
	if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcmp(text, "on") == 0)
		*ret = true;
	else if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ||
		 strcmp(text, "off") == 0)
		*ret = false;
	else
		return err_set(e, "%s must be yes or no, not \"%s\"", o->name, text);
	return 0;
}

static int parse_choice(const struct conf_option *o, const char *text, long *ret, struct err *e)
{
	size_t len = strlen(text);
	long n = 0;

	for (const char *p = o->choices; len > 0; n++, p++) {
		size_t word = strcspn(p, "|");

		if (word == len && strncmp(p, text, len) == 0) {
			*ret = n;
			return 0;
		}
		p += word;
		if (*p == '\0')
			break;
	}
	return err_set(e, "%s must be one of %s, not \"%s\"", o->name, o->choices, text);
}

static int check_text(const struct conf_option *o, const char *text, struct err *e)
{
	if (*text != '\0' && !ident_is_text(text, LINE_BYTES_MAX))
		return err_set(e, "%s holds a control character or broken UTF-8", o->name);
	if (o->type == CONF_PATH && text[0] != '/')
		return err_set(e, "%s must be an absolute path, not \"%s\"", o->name, text);
	if (o->type == CONF_URL && *text == '\0' && *o->fallback != '\0')
		return err_set(e, "%s must not be empty", o->name);
	return 0;
}

static int set(struct conf *c, const struct conf_option *o, const char *text, const char *origin, struct err *e)
{
	size_t i = (size_t)(o - conf_options);
	void *at = (char *)c + o->offset;
	char *copy;

	switch (o->type) {
	case CONF_INT:
		if (parse_int(o, text, at, e) < 0)
			return -1;
		break;
	case CONF_SEC:
		if (parse_sec(o, text, at, e) < 0)
			return -1;
		break;
	case CONF_BOOL:
		if (parse_bool(o, text, at, e) < 0)
			return -1;
		break;
	case CONF_CHOICE:
		if (parse_choice(o, text, at, e) < 0)
			return -1;
		break;
	case CONF_TEXT:
	case CONF_URL:
	case CONF_PATH:
		if (check_text(o, text, e) < 0)
			return -1;
		copy = strdup(text);
		if (copy == NULL)
			return err_set(e, "out of memory");
		free(c->private->strings[i]);
		c->private->strings[i] = copy;
		*(const char **)at = copy;
		break;
	}
	c->private->origins[i] = origin;
	return 0;
}

static int set_named(struct conf *c, const char *name, const char *text, const char *origin, struct err *e)
{
	const struct conf_option *o = find(name);

	if (o == NULL)
		return err_set(e, "there is no option %s; `camctl config show` lists them", name);
	return set(c, o, text, origin, e);
}

/* Splits NAME=value in place, taking off blanks and one pair of quotes as systemd's EnvironmentFile does.
 * Returns 0 for a blank or comment line, 1 for an assignment, -1 for anything else. */
static int split(char *line, char **ret_name, char **ret_value)
{
	char *name = line + strspn(line, " \t"), *value, *end;
	size_t len;

	if (*name == '\0' || *name == '#' || *name == ';')
		return 0;
	len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (len == 0 || len > NAME_BYTES_MAX || name[len] != '=')
		return -1;
	name[len] = '\0';
	value = name + len + 1;
	value += strspn(value, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]) != NULL;)
		*--end = '\0';
	if (end - value >= 2 && (*value == '"' || *value == '\'') && end[-1] == *value) {
		end[-1] = '\0';
		value++;
	}
	*ret_name = name;
	*ret_value = value;
	return 1;
}

static int load_file(struct conf *c, const char *path, bool must_exist, struct err *e)
{
	char line[LINE_BYTES_MAX];
	struct err why = {""};
	FILE *f = fopen(path, "re");
	int number = 0, result = 0;

	if (f == NULL)
		return errno == ENOENT && !must_exist ? 0 : err_set(e, "%s: %s", path, strerror(errno));
	snprintf(c->private->file, sizeof c->private->file, "%s", path);
	while (result == 0 && fgets(line, sizeof line, f) != NULL) {
		char *name, *value;
		size_t len = strlen(line);

		number++;
		if (len > 0 && line[len - 1] == '\n')
			line[len - 1] = '\0';
		else if (!feof(f)) {
			result =
			    err_set(e, "%s:%d: the line is longer than %d bytes", path, number, LINE_BYTES_MAX - 2);
			break;
		}
		switch (split(line, &name, &value)) {
		case 0:
			break;
		case 1:
			if (set_named(c, name, value, c->private->file, &why) < 0)
				result = err_set(e, "%s:%d: %s", path, number, why.msg);
			break;
		default:
			result = err_set(e, "%s:%d: not of the form NAME=value", path, number);
		}
	}
	if (result == 0 && ferror(f))
		result = err_set(e, "%s: %s", path, strerror(errno));
	fclose(f);
	return result;
}

static const char from_database_url[] = "DATABASE_URL", from_system[] = "system";

/* Options that follow something else until they are set. Runs again after every override. */
static int complete(struct conf *c, struct err *e)
{
	const struct conf_option *admin = find("ADMIN_DATABASE_URL"), *host = find("HOST_NAME");
	char name[256];

	if (*c->admin_database_url == '\0' || c->private->origins[admin - conf_options] == from_database_url)
		if (set(c, admin, c->database_url, from_database_url, e) < 0)
			return -1;
	if (*c->host_name == '\0') {
		if (gethostname(name, sizeof name) < 0 || !ident_is_text(name, sizeof name))
			return err_set(e, "HOST_NAME: the system's host name cannot be used; set it");
		return set(c, host, name, from_system, e);
	}
	return 0;
}

int conf_load(struct conf *c, const char *path, struct err *e)
{
	struct err why = {""};

	*c = (struct conf){0};
	c->private = calloc(1, sizeof *c->private);
	if (c->private == NULL)
		return err_set(e, "out of memory");
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		if (set(c, o, o->fallback, "default", e) < 0)
			return -1;
	if (load_file(c, path != NULL ? path : CONF_DEFAULT_FILE, path != NULL, e) < 0)
		return -1;
	for (const struct conf_option *o = conf_options; o->name != NULL; o++) {
		const char *text = getenv(o->name);

		if (text != NULL && set(c, o, text, "environment", &why) < 0)
			return err_set(e, "environment: %s", why.msg);
	}
	return complete(c, e);
}

int conf_override(struct conf *c, const char *assignment, struct err *e)
{
	char line[LINE_BYTES_MAX], *name, *value;

	if (strlen(assignment) >= sizeof line)
		return err_set(e, "-o: longer than %d bytes", LINE_BYTES_MAX - 1);
	strcpy(line, assignment);
	if (split(line, &name, &value) != 1)
		return err_set(e, "-o takes NAME=value, not \"%s\"", assignment);
	if (set_named(c, name, value, "command line", e) < 0)
		return -1;
	return complete(c, e);
}

void conf_free(struct conf *c)
{
	if (c->private != NULL)
		for (size_t i = 0; i < OPTIONS_MAX; i++)
			free(c->private->strings[i]);
	free(c->private);
	*c = (struct conf){0};
}

/* Replaces from..to, both in text, by ***; text has room for three more bytes. Returns where the *** ends. */
static char *blot(char *from, char *to)
{
	memmove(from + 3, to, strlen(to) + 1);
	memcpy(from, "***", 3);
	return from + 3;
}

/* End of a connection string's value: quoted as libpq has it, or up to a blank or '&'. */
static char *value_end(char *p)
{
	if (*p != '\'')
		return p + strcspn(p, " &");
	for (p++; *p != '\0' && *p != '\''; p++)
		if (*p == '\\' && p[1] != '\0')
			p++;
	return *p == '\'' ? p + 1 : p;
}

/* postgresql://user:secret@host -> postgresql://user:***@host; every word that ends in password= likewise. An '@'
 * in the secret is not valid but happens: all up to the last one before the path goes. */
static void hide_passwords(char *text)
{
	char *scheme = strstr(text, "://"), *at = NULL, *colon;

	if (scheme != NULL) {
		char *end = scheme + 3 + strcspn(scheme + 3, "/?");

		for (char *p = scheme + 3; p < end; p++)
			if (*p == '@')
				at = p;
		colon = strchr(scheme + 3, ':');
		if (at != NULL && colon != NULL && colon < at)
			blot(colon + 1, at);
	}
	for (char *p = text; (p = strstr(p, "password")) != NULL;) {
		p += strlen("password");
		p += strspn(p, " ");
		if (*p != '=')
			continue;
		p++;
		p += strspn(p, " ");
		p = blot(p, value_end(p));
	}
}

/* Each hidden word may grow by three bytes, and takes up more than eight. */
static void show_url(const char *url, char *ret, size_t size)
{
	char text[2 * LINE_BYTES_MAX];

	snprintf(text, LINE_BYTES_MAX, "%s", url);
	hide_passwords(text);
	snprintf(ret, size, "%s", text);
}

bool conf_is_default(const struct conf *c, const char *name)
{
	const struct conf_option *o = find(name);

	return o != NULL && strcmp(c->private->origins[o - conf_options], "default") == 0;
}

void conf_value_text(const struct conf *c, const struct conf_option *o, char *ret, size_t size, const char **ret_origin)
{
	const void *at = (const char *)c + o->offset;
	const char *word = o->choices;

	switch (o->type) {
	case CONF_INT:
		snprintf(ret, size, "%ld", *(const long *)at);
		break;
	case CONF_SEC:
		snprintf(ret, size, "%g", (double)*(const long *)at / 1000);
		break;
	case CONF_BOOL:
		snprintf(ret, size, "%s", *(const bool *)at ? "yes" : "no");
		break;
	case CONF_CHOICE:
		for (long n = *(const long *)at; n > 0; n--)
			word += strcspn(word, "|") + 1;
		snprintf(ret, size, "%.*s", (int)strcspn(word, "|"), word);
		break;
	case CONF_TEXT:
	case CONF_URL:
	case CONF_PATH:
		if (o->type == CONF_URL)
			show_url(*(const char *const *)at, ret, size);
		else
			snprintf(ret, size, "%s", *(const char *const *)at);
		break;
	}
	*ret_origin = c->private->origins[o - conf_options];
}

void conf_print_options(FILE *out)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++)
		fprintf(out, "  %-24s %s [%s]\n", o->name, o->help, o->fallback);
}
