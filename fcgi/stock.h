/* SPDX-License-Identifier: Apache-2.0
 * Calls that this process was granted in advance. Where a model has plenty and is called again and again, the database
 * gives a stock of calls in one go (permit_stock), and each of them begins and ends here without asking. A stock that
 * is called back because somebody must wait, that nobody uses, or that is old goes back. No I/O and no lock: the
 * caller, permits.c, has both. */
#ifndef CAM_STOCK_H
#define CAM_STOCK_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct stocks;
struct stock;

enum { STOCK_MODEL_MAX = 128, STOCK_CALLER_MAX = 200 };

/* NULL: out of memory. */
struct stocks *stocks_new(void);
/* No call may be under way. NULL is allowed. */
void stocks_free(struct stocks *s);

/* Begins a call. NULL: there is nothing in stock, the database is to be asked; that the model is wanted is noted. */
struct stock *stocks_begin(struct stocks *s, const char *model, int64_t now_us);
/* What the database said when it gave the stock, as it is for each of its calls. Valid until stocks_end(). */
struct json_object *stock_answer(const struct stock *k);
/* The call is over. */
void stocks_end(struct stocks *s, struct stock *k, const char *caller, int64_t began_us, int64_t now_us);

/* Adds "stock" and "report" to what the database is told, and to renew, if that is not NULL, what is to be renewed.
 * True if there is anything to ask or to report. It must be followed by one of the two below before the next. */
bool stocks_say(struct stocks *s, struct json_object *news, struct json_object *renew, int64_t now_us);
/* The database has heard it. */
void stocks_heard(struct stocks *s, int64_t now_us);
/* Nobody knows whether it has: all is said again, what was asked for is given back unused. */
void stocks_unheard(struct stocks *s, int64_t now_us);
/* Takes one of the database's answers: STOCK, NO_STOCK or RECALLED. False: it is about something else. */
bool stocks_take_answer(struct stocks *s, struct json_object *answer, int64_t now_us);

/* When there will be something to say; INT64_MAX: not before something happens. */
int64_t stocks_due_us(const struct stocks *s);
/* From now on nothing is begun, and everything goes back. */
void stocks_stop(struct stocks *s, int64_t now_us);
/* All is given back. */
bool stocks_idle(const struct stocks *s);

#endif
