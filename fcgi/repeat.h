/* SPDX-License-Identifier: Apache-2.0
 * Answers that a process may give again for a moment (ANSWER_CACHE_MS), where the caller is known to it. */
#ifndef CAM_REPEAT_H
#define CAM_REPEAT_H

#include "fcgi/api.h"

/* Answers under this key, if that is remembered and the caller may have it; false: the database must be asked. Tells
 * the code of the error that it is, "" for none. */
bool repeat_answer(struct api *api, struct answer *a, const char *key, const char **ret_code);
/* Remembers the answer, which the database just gave and which is JSON, and with it the fact that it proves of the
 * caller. code: the error's, "" for none. good_ms: it will not be wrong sooner by the passing of time alone. */
void repeat_keep(struct api *api, const struct answer *a, const char *key, const char *code, enum caller_fact proves,
    int64_t good_ms);

#endif
