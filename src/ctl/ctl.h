/* SPDX-License-Identifier: Apache-2.0
 * What the subcommands of camctl share. Each is one line in the table of main.c and a function in
 * ctl_<subject>.c that returns the exit status. */
#ifndef CAM_CTL_H
#define CAM_CTL_H

#include "common/conf.h"
#include "common/db.h"

#include <stdbool.h>

struct ctl {
	const struct conf *conf;
	struct db *db;
	int argc; /* the arguments after the subcommand's words */
	char **argv;
	bool json; /* --json was given */
};

struct ctl_command {
	const char *words; /* "token create" */
	const char *usage; /* its arguments, "" for none */
	const char *about; /* "": not listed */
	int min_args, max_args;
	int (*run)(struct ctl *ctl);
};

enum { CTL_ARGS_ANY = 1 << 20 };

/* The table of commands, in main.c. */
extern const struct ctl_command ctl_commands[];
extern const size_t ctl_command_count;

/* Whether there is a password of camserver_admin that this user may not read. */
bool ctl_lacks_password(const struct conf *conf);
#define CTL_NEEDS_ROOT "only root may read the password of camserver_admin: run it with sudo"
/* One statement; on failure says why on stderr and returns -1. *ret is the caller's to PQclear(). */
int ctl_query(struct ctl *ctl, const char *sql, int n, const char *const *params, PGresult **ret);
/* The same for statements of which only success matters. */
int ctl_do(struct ctl *ctl, const char *sql, int n, const char *const *params);
/* Prints what the statement returns as a table or, with --json, as JSON. Returns an exit status. */
int ctl_list(struct ctl *ctl, const char *sql, int n, const char *const *params);
/* Reads ctl->argv from first on as name=value pairs into a JSON text that the caller frees; NULL and a message on
 * stderr for anything else. */
char *ctl_changes(struct ctl *ctl, int first);
/* Makes or changes what ctl->argv[0] names with kind_set(), kind being "pool" or "node": it must be new, or must not be;
 * the statement decides, not two. Says what came of it. Returns an exit status. */
int ctl_save(struct ctl *ctl, const char *kind, const char *changes, bool must_be_new);
/* The value of an option among the arguments, which is taken out of them, such as --role viewer; fallback if it is
 * not there. ctl_flag the same without a value. */
const char *ctl_option(struct ctl *ctl, const char *name, const char *fallback);
bool ctl_flag(struct ctl *ctl, const char *name);
/* A number in the same way: *ret is the fallback if it is not there. -1 and a message for anything but a number from
 * min to max. */
int ctl_number(struct ctl *ctl, const char *name, double fallback, double min, double max, double *ret);
/* --limit N as text, 50 if it is not there; -1 and a message if it is no such number, or if anything but it is left. */
enum { CTL_LIMIT_LEN = 15 };
int ctl_limit(struct ctl *ctl, char ret[CTL_LIMIT_LEN + 1]);
/* To be asked after all options were taken out: -1 and a message if an unknown one, or more than n arguments, are
 * left. */
int ctl_left(const struct ctl *ctl, int n);

/* The number of the newest migration that this camctl would apply; -1 after a message. */
int ctl_db_newest(void);
/* The text of a limits file, which the caller frees; NULL after a message. */
char *ctl_limits_read(const char *path);

int ctl_camera_add(struct ctl *ctl);
int ctl_camera_list(struct ctl *ctl);
int ctl_camera_remove(struct ctl *ctl);
int ctl_camera_set(struct ctl *ctl);
int ctl_case_attach(struct ctl *ctl);
int ctl_case_detach(struct ctl *ctl);
int ctl_case_list(struct ctl *ctl);
int ctl_channel_add(struct ctl *ctl);
int ctl_channel_list(struct ctl *ctl);
int ctl_channel_remove(struct ctl *ctl);
int ctl_channel_set(struct ctl *ctl);
int ctl_channel_test(struct ctl *ctl);
int ctl_completion(struct ctl *ctl);
int ctl_config_show(struct ctl *ctl);
int ctl_db_migrate(struct ctl *ctl);
int ctl_db_reset(struct ctl *ctl);
int ctl_db_status(struct ctl *ctl);
int ctl_demo_cameras(struct ctl *ctl);
int ctl_dispatchers(struct ctl *ctl);
int ctl_doctor(struct ctl *ctl);
int ctl_enqueue(struct ctl *ctl);
int ctl_events(struct ctl *ctl);
int ctl_jobs_cancel(struct ctl *ctl);
int ctl_jobs_list(struct ctl *ctl);
int ctl_jobs_retry(struct ctl *ctl);
int ctl_leases_ended(struct ctl *ctl);
int ctl_leases_list(struct ctl *ctl);
int ctl_leases_revoke(struct ctl *ctl);
int ctl_limits_load(struct ctl *ctl);
int ctl_limits_set(struct ctl *ctl);
int ctl_limits_show(struct ctl *ctl);
int ctl_limits_simulate(struct ctl *ctl);
int ctl_man(struct ctl *ctl);
int ctl_model_list(struct ctl *ctl);
int ctl_media_link(struct ctl *ctl);
int ctl_media_rotate_key(struct ctl *ctl);
int ctl_notifications(struct ctl *ctl);
int ctl_pool_add(struct ctl *ctl);
int ctl_pool_call(struct ctl *ctl);
int ctl_pool_drain(struct ctl *ctl);
int ctl_pool_import(struct ctl *ctl);
int ctl_node_list(struct ctl *ctl);
int ctl_node_add(struct ctl *ctl);
int ctl_node_set(struct ctl *ctl);
int ctl_node_drain(struct ctl *ctl);
int ctl_node_remove(struct ctl *ctl);
int ctl_pool_list(struct ctl *ctl);
int ctl_pool_remove(struct ctl *ctl);
int ctl_pool_set(struct ctl *ctl);
int ctl_pool_show(struct ctl *ctl);
int ctl_refusals(struct ctl *ctl);
int ctl_reviews(struct ctl *ctl);
int ctl_schema_list(struct ctl *ctl);
int ctl_schema_load(struct ctl *ctl);
int ctl_server_list(struct ctl *ctl);
int ctl_server_set(struct ctl *ctl);
int ctl_setting_list(struct ctl *ctl);
int ctl_setting_set(struct ctl *ctl);
int ctl_status(struct ctl *ctl);
int ctl_token_create(struct ctl *ctl);
int ctl_token_list(struct ctl *ctl);
int ctl_token_revoke(struct ctl *ctl);
int ctl_top(struct ctl *ctl);
int ctl_user_list(struct ctl *ctl);
int ctl_user_remove(struct ctl *ctl);
int ctl_user_set(struct ctl *ctl);
int ctl_workers(struct ctl *ctl);

#endif
