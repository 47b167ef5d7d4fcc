/* SPDX-License-Identifier: Apache-2.0
 * camctl case: events that are kept for ever, under the id of the case that they belong to. */
#include "common/ident.h"
#include "common/json.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_ID_LEN_MAX = 18 };

/* The statement for an event that is named by its UUID, or by the number that `camctl events` shows. */
#define BY_UUID(call) "SELECT camserver." call
#define BY_NUMBER(call) \
	"SELECT camserver." call \
	" FROM (SELECT (SELECT event_uuid FROM camserver.events WHERE event_id = $1::bigint)) n (uuid)"

static int act(struct ctl *ctl, const char *by_uuid, const char *by_number, const char *case_id)
{
	const char *event = ctl->argv[0], *outcome = "", *now = NULL;
	int64_t gone = 0;
	bool number =
	    *event != '\0' && strspn(event, "0123456789") == strlen(event) && strlen(event) <= EVENT_ID_LEN_MAX;
	struct json_object *json;
	PGresult *row = NULL;
	int result = EXIT_FAILURE;

	if (!number && !ident_is_uuid(event)) {
		fprintf(stderr, "camctl: \"%s\" is not an event; `camctl events` lists them\n", event);
		return EXIT_FAILURE;
	}
	if (ctl_query(
		ctl, number ? by_number : by_uuid, case_id != NULL ? 2 : 1, (const char *[]){event, case_id}, &row) < 0)
		return EXIT_FAILURE;
	json = json_tokener_parse(PQgetvalue(row, 0, 0));
	PQclear(row);
	(void)json_get_string(json, "outcome", &outcome, NULL);
	(void)json_get_string(json, "case_id", &now, NULL);
	(void)json_get_int64(json, "images_gone", &gone, NULL);
	if (strcmp(outcome, "OK") == 0) {
		printf(
		    "event %s is %s%s\n", event, now != NULL ? "part of case " : "in no case", now != NULL ? now : "");
		if (gone > 0)
			fprintf(stderr, "camctl: of %lld of its frames the image is gone already\n", (long long)gone);
		result = EXIT_SUCCESS;
	} else if (strcmp(outcome, "BAD_CASE_ID") == 0) {
		fprintf(stderr, "camctl: a case id is 1 to %d letters, digits, '_', '.' or '-'\n", IDENT_MAX);
	} else {
		fprintf(stderr, "camctl: there is no event %s\n", event);
	}
	json_object_put(json);
	return result;
}

int ctl_case_attach(struct ctl *ctl)
{
	return act(ctl, BY_UUID("case_attach('camctl', $1::uuid, $2)"), BY_NUMBER("case_attach('camctl', n.uuid, $2)"),
	    ctl->argv[1]);
}

int ctl_case_detach(struct ctl *ctl)
{
	return act(ctl, BY_UUID("case_detach('camctl', $1::uuid)"), BY_NUMBER("case_detach('camctl', n.uuid)"), NULL);
}

int ctl_case_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT e.case_id, e.event_id, e.event_uuid, e.camera_id, e.primary_event, e.frame_count AS frames,"
	    " camserver.rfc3339(e.start_at) AS start_at, e.retention_before->>'class' AS otherwise,"
	    " e.retention_before->>'by' AS attached_by"
	    " FROM camserver.events e WHERE e.case_id IS NOT NULL ORDER BY e.case_id, e.start_at, e.event_id",
	    0, NULL);
}
