/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/console.h"

#include "common/crypto.h"
#include "common/ident.h"
#include "common/log.h"
#include "common/media.h"

#include <string.h>
#include <time.h>

/* Links last one to two of these, and change only with it: an answer stays the same, and a browser keeps an image. */
enum { LINK_STEP_SEC = 600, ETAG_LEN = 32 };

struct links {
	struct api *api;
	time_t exp;
};

/* Beside these names stands the uuid of a frame. */
static bool names_frame(const char *name)
{
	return strcmp(name, "frame_uuid") == 0 || strcmp(name, "best_frame_uuid") == 0;
}

/* json-c's objects are changed only after they have been walked through. */
static void add_images(const struct links *links, struct json_object *value)
{
	const char *uuid = NULL;
	char path[MEDIA_LINK_MAX];
	struct err e;

	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			add_images(links, json_object_array_get_idx(value, i));
		return;
	}
	if (!json_object_is_type(value, json_type_object))
		return;
	json_object_object_foreach(value, name, member)
	{
		if (json_object_is_type(member, json_type_string) && names_frame(name))
			uuid = json_object_get_string(member);
		else
			add_images(links, member);
	}
	if (uuid == NULL || !ident_is_uuid(uuid))
		return;
	if (media_link(&links->api->media_keys, links->api->conf->url_prefix, uuid, links->exp, path, &e) < 0)
		log_warning("no link to an image: %s", e.msg);
	else
		json_object_object_add(value, "image", json_object_new_string(path));
}

static void sign_images(struct api *api, struct json_object *result)
{
	struct links links = {api, (time(NULL) / LINK_STEP_SEC + 2) * LINK_STEP_SEC};
	struct err e;

	if (media_keys_load(&api->media_keys, api->conf->media_key_file, &e) < 0)
		log_warning("the console shows no images: %s", e.msg);
	else
		add_images(&links, result);
}

void console_answer(struct api *api, const struct request *r, struct answer *a, struct json_object *result)
{
	char hash[SHA256_HEX_LEN + 1];
	const char *text, *known;
	size_t len;

	if (result == NULL || strcmp(api_outcome(result), "OK") != 0) {
		api_answer(a, result, "OK", 200);
		return;
	}
	sign_images(api, result);
	json_object_object_del(result, "outcome");
	text = json_object_to_json_string_length(result, JSON_C_TO_STRING_PLAIN, &len);
	answer_json(a, 200, result);
	if (crypto_sha256_hex(text, len, hash) < 0)
		return;
	hash[ETAG_LEN] = '\0';
	/* A web server that compresses may have added to the tag what it did. */
	known = request_var(r, "HTTP_IF_NONE_MATCH");
	if (known != NULL && strstr(known, hash) != NULL)
		answer_empty(a, 304);
	answer_etag(a, hash);
}
