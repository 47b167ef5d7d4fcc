/* SPDX-License-Identifier: Apache-2.0
 * camctl events: what the cameras saw. */
#include "ctl/ctl.h"

#include <stdlib.h>

#define EVENTS \
	" e.event_id, e.camera_id, e.primary_event, e.state, e.severity_max, e.frame_count AS frames," \
	" camserver.rfc3339(e.start_at) AS start_at, camserver.rfc3339(e.last_seen_at) AS last_seen_at," \
	" e.close_reason, e.retention_class, (SELECT string_agg(t.tag_id, ' ' ORDER BY t.tag_id)" \
	" FROM camserver.event_tags t WHERE t.event_id = e.event_id) AS tags, e.summary" \
	" FROM camserver.events e LEFT JOIN camserver.frames f ON f.frame_id = e.best_frame_id" \
	" WHERE ($1::text IS NULL OR e.camera_id = $1)" \
	" AND ($2::camserver.event_state IS NULL OR e.state = $2::camserver.event_state)" \
	" ORDER BY e.start_at DESC, e.event_id DESC LIMIT $3::bigint"

int ctl_events(struct ctl *ctl)
{
	const char *camera = ctl_option(ctl, "--camera", NULL), *state = ctl_option(ctl, "--state", NULL);
	char limit[CTL_LIMIT_LEN + 1];

	if (ctl_limit(ctl, limit) < 0)
		return EXIT_FAILURE;
	/* What programs want besides is too wide for a table. */
	return ctl_list(ctl,
	    ctl->json ? "SELECT e.event_uuid, f.frame_uuid AS best_frame_uuid, e.case_id," EVENTS : "SELECT" EVENTS, 3,
	    (const char *[]){camera, state, limit});
}
