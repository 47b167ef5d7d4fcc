/* SPDX-License-Identifier: Apache-2.0
 * What handlers work with: the process's resources, and the one database call that a request makes. */
#ifndef CAM_API_H
#define CAM_API_H

#include "common/conf.h"
#include "common/db.h"
#include "common/media.h"
#include "common/metrics.h"
#include "fcgi/answer.h"
#include "fcgi/answer_cache.h"
#include "fcgi/identity.h"
#include "fcgi/query.h"
#include "fcgi/request.h"

#include <json-c/json.h>

struct api {
	const struct conf *conf;
	struct db *db;
	struct metrics *metrics;
	struct answer_cache *cache; /* NULL: every answer is the database's */
	struct media_keys media_keys;
	struct rclone *rclone; /* NULL until an image comes from there */
	struct {
		struct json_object *facts; /* of the last refusal because of the queue; NULL: none */
		int64_t until;             /* it is good until then, a clock_ms() time */
	} queue_full;
	/* of the request at hand */
	struct cache_moment now; /* when it was there to be answered */
	const char *role;
	struct identity identity;
	enum db_status db_status; /* of its api_call() */
};

enum { API_PARAMS_MAX = 10 };

/* The statement of a request: who is calling, and, if they may, the function. The call uses who.user_id, and its own
 * parameters from $5 on. One round trip, one transaction. */
#define API_SQL(call) \
	"SELECT who.denied, CASE WHEN who.denied IS NULL THEN camserver." call " END" \
	" FROM camserver.caller_identify($1::camserver.caller_role, $2::bytea, $3, $4) AS who"

/* Runs an API_SQL statement with its own n parameters. Returns the function's jsonb as an object (the caller puts
 * it back), or NULL after filling in the error answer. */
struct json_object *api_call(struct api *api, struct answer *a, const char *sql, int n, const char *const *params);
/* Answers with what the function said, without the "outcome": with this status if that is the success, else as the
 * error that it names. Takes over result; NULL is an answer that is filled in already. */
void api_answer(struct answer *a, struct json_object *result, const char *success, int status);
/* Something that answers tell of has been changed and committed: nobody on this host repeats one of before. */
void api_changed(struct api *api);
/* The whole of a PUT of something that has a name: checks the query, the name, which is the path's argument, and the
 * JSON object, calls sql with the two, and answers with what it says: 201 for CREATED, 200 for OK. what: "pool". */
void api_put(struct api *api, struct request *r, struct answer *a, const char *sql, const char *what);
/* The query of the request. False after filling in the error answer. */
bool api_query(const struct request *r, struct answer *a, struct query *q, struct query_param *params, size_t n);
/* The "outcome" of an answer; never NULL. */
const char *api_outcome(struct json_object *result);
/* Fills in the answer for a database call that failed and logs what should be known. */
void api_db_error(struct api *api, struct answer *a, enum db_status status, const struct err *e);

#endif
