/* SPDX-License-Identifier: Apache-2.0
 * What the answers to the console's pages have in common. */
#ifndef CAM_CONSOLE_H
#define CAM_CONSOLE_H

#include "fcgi/api.h"

/* Answers with what the function said, as api_answer() does, but with a signed path ("image") beside each uuid of a
 * frame whose image may be there, so that a page can show it whoever signed in how; and with an ETag: a client that
 * has this very body gets 304. Takes over result; NULL is an answer that is filled in already. */
void console_answer(struct api *api, const struct request *r, struct answer *a, struct json_object *result);

#endif
