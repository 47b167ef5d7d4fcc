/* SPDX-License-Identifier: Apache-2.0
 * Configuration. One table (conf_options) holds every option's name, type, default and help; parsing, --help,
 * `camctl config show` and the man page come from it. Values: default < file < environment < -o on the command line. */
#ifndef CAM_CONF_H
#define CAM_CONF_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONF_DEFAULT_FILE "/etc/camserver/camserver.conf"

enum archive_driver { ARCHIVE_NONE, ARCHIVE_DIR, ARCHIVE_RCLONE };

struct conf {
	const char *database_url;
	const char *admin_database_url;
	const char *admin_passfile;
	const char *spool_dir;
	const char *run_dir;
	const char *is21_base_url;
	const char *analyze_model;
	const char *schema_version;
	const char *host_name;
	const char *stream_server;
	const char *url_prefix;
	const char *proc_dir;
	long log_level; /* enum log_level */
	long db_timeout_ms;
	long gateway_threads;
	long gateway_timeout_sec;
	bool anonymous_viewer;
	long answer_cache_ms;
	long archive_driver; /* enum archive_driver */
	const char *archive_dir;
	const char *rclone_url;
	const char *rclone_remote;
	const char *rclone_user;
	const char *rclone_password_file;
	const char *public_url;
	const char *media_key_file;
	bool sendfile;
	const char *ca_file;
	const char *llm_base_url;
	const char *llm_model;
	const char *llm_key_file;
	bool enable_container_pooling;
	long heartbeat_interval_ms;
	long pool_acquire_timeout_ms;
	const char *worker_dir;
	const char *worker_address;
	const char *docker_socket;
	struct conf_private *private; /* where each value came from, and the strings' memory */
};

/* CONF_SEC: seconds, also with decimals; kept in milliseconds. */
enum conf_type { CONF_TEXT, CONF_URL, CONF_PATH, CONF_INT, CONF_SEC, CONF_BOOL, CONF_CHOICE };

struct conf_option {
	const char *name; /* as in the file and the environment */
	enum conf_type type;
	size_t offset;
	const char *fallback; /* the default, in the file's notation */
	long min, max;
	const char *choices; /* CONF_CHOICE: words divided by '|'; the value is the index */
	const char *help;
};

extern const struct conf_option conf_options[]; /* ends with a NULL name */

/* Reads defaults, then the file, then the environment. With path NULL the default file is read if it exists; a
 * named file must exist. On a bad or unknown line: -1, and *e names file, line and what would be right.
 * conf_free() is needed in both cases. */
int conf_load(struct conf *c, const char *path, struct err *e);
/* One NAME=value, as -o on the command line gives it. */
int conf_override(struct conf *c, const char *assignment, struct err *e);
void conf_free(struct conf *c);

/* Passwords in URLs are replaced by ***. ret_origin says where the value came from. */
void conf_value_text(
    const struct conf *c, const struct conf_option *o, char *ret, size_t size, const char **ret_origin);
/* Nobody has set this option. */
bool conf_is_default(const struct conf *c, const char *name);
/* The options as --help lists them. */
void conf_print_options(FILE *out);

#endif
