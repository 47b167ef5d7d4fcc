/* SPDX-License-Identifier: Apache-2.0
 * The cameras, and what each saw last. */
#include "common/ident.h"
#include "common/log.h"
#include "fcgi/deliver.h"
#include "fcgi/handlers.h"
#include "fcgi/image.h"

#include <string.h>

void handle_camera_list(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (api_query(r, a, &text, NULL, 0))
		api_answer(a, api_call(api, a, API_SQL("camera_list()"), 0, NULL), "OK", 200);
}

/* Answers with this frame's image; false if it is gone. */
static bool send_image(struct api *api, const struct request *r, struct answer *a, const char *frame_uuid)
{
	char *bytes;
	size_t len;
	struct err e;
	int found;

	if (deliver_known(r, frame_uuid) && image_exists(api->conf->spool_dir, frame_uuid)) {
		answer_empty(a, 304);
		answer_etag(a, frame_uuid);
		return true;
	}
	found = image_read(api->conf->spool_dir, frame_uuid, &bytes, &len, &e);
	if (found < 0)
		log_warning("an image cannot be shown: %s", e.msg);
	if (found > 0)
		deliver_bytes(r, a, frame_uuid, bytes, len);
	return found > 0;
}

void handle_camera_latest(struct api *api, struct request *r, struct answer *a)
{
	/* t: pages change it to make a browser ask again; it means nothing here. */
	struct query_param q[] = {{"t", NULL}};
	struct json_object *result, *frames;
	struct query text;
	bool sent = false;

	if (!api_query(r, a, &text, q, 1))
		return;
	if (!ident_valid(r->args[0])) {
		answer_error(a, "UNKNOWN_CAMERA");
		return;
	}
	result = api_call(api, a, API_SQL("camera_latest($5)"), 1, (const char *[]){r->args[0]});
	if (result == NULL)
		return;
	if (strcmp(api_outcome(result), "OK") != 0) {
		answer_error(a, api_outcome(result));
	} else if (json_object_object_get_ex(result, "frames", &frames)) {
		for (size_t i = 0; i < json_object_array_length(frames) && !sent; i++)
			sent = send_image(api, r, a, json_object_get_string(json_object_array_get_idx(frames, i)));
		if (!sent)
			answer_error(a, "NO_FRAME");
	}
	json_object_put(result);
}
