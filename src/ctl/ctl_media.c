/* SPDX-License-Identifier: Apache-2.0
 * camctl media: the keys that sign links to images, and a link. */
#include "common/media.h"

#include "common/json.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MIN_SEC = 10, TTL_MAX_SEC = 86400, TTL_DEFAULT_SEC = 600 };

int ctl_media_rotate_key(struct ctl *ctl)
{
	bool drop_old = ctl_flag(ctl, "--drop-old");
	struct err e;

	if (ctl_left(ctl, 0) < 0)
		return EXIT_FAILURE;
	if (media_keys_rotate(ctl->conf->media_key_file, drop_old, &e) < 0) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	printf("%s: a new key signs links; %s\n", ctl->conf->media_key_file,
	    drop_old ? "links made before are refused"
		     : "those of the key before are still good, older ones are refused");
	return EXIT_SUCCESS;
}

#define FIND_FRAME "SELECT n.uuid, camserver.media_find(n.uuid) FROM (SELECT $1::uuid) n (uuid)"
#define FIND_BEST_FRAME \
	"SELECT n.uuid, camserver.media_find(n.uuid) FROM (SELECT (SELECT f.frame_uuid FROM camserver.events e" \
	" JOIN camserver.frames f ON f.frame_id = e.best_frame_id WHERE e.event_id = $1::bigint)) n (uuid)"

/* The frame that is named, or the best one of the event with that number. -1 if there is none, or no image of it, which
 * it says. */
static int find_frame(struct ctl *ctl, const char *name, char ret_uuid[UUID_TEXT_LEN + 1])
{
	bool event = *name != '\0' && strspn(name, "0123456789") == strlen(name), spooled = false;
	const char *outcome = "", *driver = NULL;
	struct json_object *json;
	PGresult *row = NULL;
	int result = -1;

	if (!event && !ident_is_uuid(name)) {
		fprintf(stderr, "camctl: \"%s\" is neither a frame's UUID nor an event's number\n", name);
		return -1;
	}
	if (ctl_query(ctl, event ? FIND_BEST_FRAME : FIND_FRAME, 1, (const char *[]){name}, &row) < 0)
		return -1;
	json = json_tokener_parse(PQgetvalue(row, 0, 1));
	(void)json_get_string(json, "outcome", &outcome, NULL);
	(void)json_get_string(json, "driver", &driver, NULL);
	(void)json_get_bool(json, "spooled", &spooled, NULL);
	if (strcmp(outcome, "OK") != 0) {
		fprintf(stderr, "camctl: there is no %s %s\n", event ? "event" : "frame", name);
	} else if (!spooled && driver == NULL) {
		fprintf(stderr, "camctl: the image of frame %s is not kept any more\n", PQgetvalue(row, 0, 0));
	} else {
		snprintf(ret_uuid, UUID_TEXT_LEN + 1, "%s", PQgetvalue(row, 0, 0));
		result = 0;
	}
	json_object_put(json);
	PQclear(row);
	return result;
}

int ctl_media_link(struct ctl *ctl)
{
	struct media_keys keys = {0};
	char link[MEDIA_LINK_MAX], frame[UUID_TEXT_LEN + 1];
	double ttl;
	struct err e;

	if (ctl_number(ctl, "--ttl", TTL_DEFAULT_SEC, TTL_MIN_SEC, TTL_MAX_SEC, &ttl) < 0 || ctl_left(ctl, 1) < 0)
		return EXIT_FAILURE;
	if (ctl->argc != 1) {
		fprintf(stderr, "camctl: media link takes one frame, or one event\n");
		return EXIT_FAILURE;
	}
	if (find_frame(ctl, ctl->argv[0], frame) < 0)
		return EXIT_FAILURE;
	if (media_keys_load(&keys, ctl->conf->media_key_file, &e) < 0 ||
	    media_link(&keys, ctl->conf->public_url, frame, time(NULL) + (int64_t)ttl, link, &e) < 0) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	printf("%s\n", link);
	return EXIT_SUCCESS;
}
