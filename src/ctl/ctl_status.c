/* SPDX-License-Identifier: Apache-2.0
 * camctl status: the whole system on one screen. */
#include "common/json.h"
#include "ctl/ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void section(struct ctl *ctl, const char *title, const char *sql)
{
	printf("\n%s\n", title);
	ctl_list(ctl, sql, 0, NULL);
}

int ctl_status(struct ctl *ctl)
{
	struct json_object *json;
	PGresult *result = NULL;
	const char *level = "?";
	bool healthy = false, suggest = false;
	int64_t modals = 0, left = 0, budget = 0, users = 0;

	if (ctl_query(ctl, "SELECT camserver.system_status()", 0, NULL, &result) < 0)
		return EXIT_FAILURE;
	if (ctl->json) {
		printf("%s\n", PQgetvalue(result, 0, 0));
		PQclear(result);
		return EXIT_SUCCESS;
	}
	json = json_tokener_parse(PQgetvalue(result, 0, 0));
	PQclear(result);
	(void)json_get_bool(json, "healthy", &healthy, NULL);
	(void)json_get_bool(json, "suggest_active", &suggest, NULL);
	(void)json_get_string(json, "level", &level, NULL);
	(void)json_get_int64(json, "active_modals", &modals, NULL);
	(void)json_get_int64(json, "modal_budget", &budget, NULL);
	(void)json_get_int64(json, "modal_budget_remaining", &left, NULL);
	(void)json_get_int64(json, "active_ui_users", &users, NULL);
	printf("%s (%s); %" PRId64 " leases; %" PRId64 " of %" PRId64 " units free; %" PRId64
	       " viewers; suggestion %s\n",
	    healthy ? "healthy" : "NOT healthy", level, modals, left, budget, users, suggest ? "active" : "none");
	json_object_put(json);
	section(ctl, "Budget",
	    "SELECT stream_server_id, total_units, modal_budget, modal_usage, modal_remaining, active_modals"
	    " FROM camserver.budget");
	section(ctl, "Hosts",
	    "SELECT host, level, cpu_percent, memory_percent, swap_mb, sample_age_sec, reason"
	    " FROM camserver.health");
	section(ctl, "Dispatchers",
	    "SELECT host, pid, version, state, heartbeat_age_sec FROM camserver.dispatcher_list"
	    " WHERE state <> 'stopped' LIMIT 20");
	section(ctl, "Refusals", "SELECT reason, refused FROM camserver.refusals");
	return EXIT_SUCCESS;
}

int ctl_dispatchers(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.dispatcher_list", 0, NULL);
}
