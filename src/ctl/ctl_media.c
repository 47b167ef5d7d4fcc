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

/* 0 if there is such a frame; else says why not. */
static int check_frame(struct ctl *ctl, const char *uuid)
{
	struct json_object *json;
	const char *outcome = "";
	PGresult *row = NULL;
	int result = 0;

	if (!ident_is_uuid(uuid)) {
		fprintf(stderr, "camctl: \"%s\" is not a frame's UUID\n", uuid);
		return -1;
	}
	if (ctl_query(ctl, "SELECT camserver.media_find($1::uuid)", 1, (const char *[]){uuid}, &row) < 0)
		return -1;
	json = json_tokener_parse(PQgetvalue(row, 0, 0));
	PQclear(row);
	(void)json_get_string(json, "outcome", &outcome, NULL);
	if (strcmp(outcome, "OK") != 0) {
		fprintf(stderr, "camctl: there is no frame %s\n", uuid);
		result = -1;
	}
	json_object_put(json);
	return result;
}

int ctl_media_link(struct ctl *ctl)
{
	struct media_keys keys = {0};
	char link[MEDIA_LINK_MAX];
	double ttl;
	struct err e;

	if (ctl_number(ctl, "--ttl", TTL_DEFAULT_SEC, TTL_MIN_SEC, TTL_MAX_SEC, &ttl) < 0 || ctl_left(ctl, 1) < 0)
		return EXIT_FAILURE;
	if (ctl->argc != 1) {
		fprintf(stderr, "camctl: media link takes one frame\n");
		return EXIT_FAILURE;
	}
	if (check_frame(ctl, ctl->argv[0]) < 0)
		return EXIT_FAILURE;
	if (media_keys_load(&keys, ctl->conf->media_key_file, &e) < 0 ||
	    media_link(&keys, ctl->conf->public_url, ctl->argv[0], time(NULL) + (int64_t)ttl, link, &e) < 0) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	printf("%s\n", link);
	return EXIT_SUCCESS;
}
