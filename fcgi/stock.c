/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/stock.h"

#include "common/ident.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
	TABLE_SIZE = 1024,
	MODELS_MAX = 4096, /* more are always asked for one by one */
	FIRST_SIZE = 8,    /* calls in a model's first stock */
	SIZE_MAX_CALLS = 1024,
	REPORT_MAX_CALLS = 2000,      /* at once: the buckets are locked meanwhile */
	REPORT_US = 250 * 1000,       /* calls that are over are reported together */
	AGE_US = 5 * 1000 * 1000,     /* changes that nobody announces are seen after so long */
	IDLE_US = 2 * 1000 * 1000,    /* what nobody uses goes back */
	AGAIN_US = IDLE_US,           /* a model that was asked for twice in this time is worth a stock */
	REFUSED_US = 1 * 1000 * 1000, /* there is not enough: not asked for again so soon */
};

/* A call that is over and not yet in the database's record. */
struct call {
	char *caller;
	int64_t began_us, ended_us;
};

enum state {
	ASKED,     /* the database is being asked for it */
	OPEN,      /* calls may begin */
	CLOSED,    /* no more calls begin; what is unspent goes back */
	ABANDONED, /* asked for, and nobody knows whether it was given: goes back */
};

struct stock {
	TAILQ_ENTRY(stock) link;
	struct model *model;
	enum state state;
	char id[UUID_TEXT_LEN + 1];
	struct json_object *answer;
	int unspent, running;
	int unspent_said; /* as the database knows it */
	struct call *calls;
	int n_calls, n_said; /* not known to be in the record, and of these: in the report that is under way */
	int reported;        /* those before them */
	int size;            /* calls that it was for */
	int64_t opened_us, used_us;
	bool in_report, close_said, ending; /* the report under way is its last */
};

struct model {
	struct model *next_in_slot, *next;
	char name[STOCK_MODEL_MAX + 1];
	struct stock *open, *spare,
	    *asked; /* the one that is used up first, the one after it, and one more under way */
	bool wanted;
	int size; /* of the next stock */
	int64_t asked_us, refused_until_us;
};

struct stocks {
	struct model *slots[TABLE_SIZE], *models;
	int n_models;
	TAILQ_HEAD(stock_list, stock) all; /* the oldest first */
	int64_t due_us;
	bool stopping;
};

#define for_each(k, s) for (struct stock *k = TAILQ_FIRST(&(s)->all); k != NULL; k = TAILQ_NEXT(k, link))

struct stocks *stocks_new(void)
{
	struct stocks *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	TAILQ_INIT(&s->all);
	s->due_us = INT64_MAX;
	return s;
}

/* What was asked for is nowhere any more. */
static void forget(struct stocks *s, struct stock *k)
{
	TAILQ_REMOVE(&s->all, k, link);
	for (int i = 0; i < k->n_calls; i++)
		free(k->calls[i].caller);
	free(k->calls);
	json_object_put(k->answer);
	free(k);
}

void stocks_free(struct stocks *s)
{
	if (s == NULL)
		return;
	while (!TAILQ_EMPTY(&s->all))
		forget(s, TAILQ_FIRST(&s->all));
	for (struct model *m = s->models, *next; m != NULL; m = next) {
		next = m->next;
		free(m);
	}
	free(s);
}

static void due(struct stocks *s, int64_t at_us)
{
	if (at_us < s->due_us)
		s->due_us = at_us;
}

/* --- models */

static struct model **slot_of(struct stocks *s, const char *name)
{
	unsigned hash = 2166136261U;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619U;
	return &s->slots[hash % TABLE_SIZE];
}

/* NULL if it is not known and cannot be. */
static struct model *model_get(struct stocks *s, const char *name)
{
	struct model **slot = slot_of(s, name), *m;

	for (m = *slot; m != NULL; m = m->next_in_slot)
		if (strcmp(m->name, name) == 0)
			return m;
	if (s->n_models == MODELS_MAX || strlen(name) > STOCK_MODEL_MAX)
		return NULL;
	m = calloc(1, sizeof *m);
	if (m == NULL)
		return NULL;
	strcpy(m->name, name);
	m->size = FIRST_SIZE;
	m->next_in_slot = *slot;
	*slot = m;
	m->next = s->models;
	s->models = m;
	s->n_models++;
	return m;
}

static void want(struct stocks *s, struct model *m, int64_t now_us)
{
	if (m->wanted || m->asked != NULL || m->spare != NULL || s->stopping)
		return;
	m->wanted = true;
	due(s, now_us < m->refused_until_us ? m->refused_until_us : now_us);
}

/* --- calls */

/* No more calls begin with it. */
static void close_stock(struct stocks *s, struct stock *k, int64_t now_us)
{
	struct model *m = k->model;

	k->state = CLOSED;
	if (m->spare == k)
		m->spare = NULL;
	if (m->open == k) {
		m->open = m->spare;
		m->spare = NULL;
	}
	due(s, now_us);
}

struct stock *stocks_begin(struct stocks *s, const char *model, int64_t now_us)
{
	struct model *m = s->stopping ? NULL : model_get(s, model);
	struct stock *k;

	if (m == NULL)
		return NULL;
	k = m->open;
	if (k == NULL) {
		if (m->asked_us != 0 && now_us - m->asked_us < AGAIN_US)
			want(s, m, now_us);
		m->asked_us = now_us;
		return NULL;
	}
	k->unspent--;
	k->running++;
	k->used_us = now_us;
	due(s, now_us + REPORT_US);
	if (k->unspent < k->size - k->size / 4 && m->spare == NULL && !m->wanted && m->asked == NULL) {
		if (now_us - k->opened_us < AGE_US / 4 && m->size < SIZE_MAX_CALLS)
			m->size *= 2;
		want(s, m, now_us);
	}
	if (k->unspent == 0)
		close_stock(s, k, now_us + REPORT_US);
	return k;
}

struct json_object *stock_answer(const struct stock *k)
{
	return k->answer;
}

void stocks_end(struct stocks *s, struct stock *k, const char *caller, int64_t began_us, int64_t now_us)
{
	struct call *longer;

	k->running--;
	due(s, now_us + REPORT_US);
	if ((k->n_calls & (k->n_calls - 1)) == 0) { /* room for twice as many at 1, 2, 4, ... */
		longer = realloc(k->calls, sizeof *k->calls * (size_t)(k->n_calls > 0 ? 2 * k->n_calls : 1));
		if (longer == NULL)
			return; /* the record misses a call */
		k->calls = longer;
	}
	k->calls[k->n_calls] = (struct call){strdup(caller), began_us, now_us};
	if (k->calls[k->n_calls].caller != NULL)
		k->n_calls++;
}

/* --- what the database is told */

static void add_ask(struct stocks *s, struct model *m, struct json_object *list)
{
	struct stock *k = calloc(1, sizeof *k);
	struct json_object *o;

	if (k == NULL)
		return;
	k->model = m;
	k->state = ASKED;
	ident_new_uuid(k->id);
	TAILQ_INSERT_TAIL(&s->all, k, link);
	m->wanted = false;
	m->asked = k;
	o = json_object_new_object();
	json_object_object_add(o, "id", json_object_new_string(k->id));
	json_object_object_add(o, "model", json_object_new_string(m->name));
	json_object_object_add(o, "n", json_object_new_int(m->size));
	json_object_array_add(list, o);
}

static struct json_object *calls_of(struct stock *k, int64_t now_us)
{
	struct json_object *list = json_object_new_array(), *call;

	for (int i = 0; i < k->n_calls; i++) {
		call = json_object_new_array_ext(3);
		json_object_array_add(call, json_object_new_string(k->calls[i].caller));
		json_object_array_add(call, json_object_new_int64(now_us - k->calls[i].began_us));
		json_object_array_add(call, json_object_new_int64(now_us - k->calls[i].ended_us));
		json_object_array_add(list, call);
	}
	k->n_said = k->n_calls;
	return list;
}

static void add_report(struct stock *k, struct json_object *list, int64_t now_us)
{
	struct json_object *o = json_object_new_object();
	bool close = k->state != OPEN;

	k->in_report = true;
	k->ending = close && k->running == 0;
	json_object_object_add(o, "id", json_object_new_string(k->id));
	json_object_object_add(o, "slots", json_object_new_int(close ? k->running : k->running + k->unspent));
	if (k->state != ABANDONED)
		json_object_object_add(o, "unspent", json_object_new_int(k->unspent));
	json_object_object_add(o, "close", json_object_new_boolean(close));
	json_object_object_add(o, "first", json_object_new_int(k->reported));
	json_object_object_add(o, "calls", calls_of(k, now_us));
	json_object_array_add(list, o);
	k->unspent_said = k->unspent;
	k->close_said = close;
}

static bool has_news(const struct stock *k)
{
	if (k->state == ASKED)
		return false;
	return k->n_calls > 0 || k->unspent != k->unspent_said ||
	       (k->state != OPEN && (k->running == 0 || !k->close_said));
}

/* Closes what is old or not used; notes when the next is due. */
static void look_at_time(struct stocks *s, struct stock *k, int64_t now_us)
{
	int64_t until = k->opened_us + AGE_US;

	if (k->state != OPEN)
		return;
	if (k->used_us + IDLE_US < until)
		until = k->used_us + IDLE_US;
	if (now_us < until && !s->stopping) {
		due(s, until);
		return;
	}
	if (k->unspent > k->size / 2 && k->model->size > FIRST_SIZE)
		k->model->size /= 2;
	close_stock(s, k, INT64_MAX);
}

/* What there is to report, the oldest first, as much as is well said at once. */
static struct json_object *reports(struct stocks *s, int64_t now_us)
{
	struct json_object *list = json_object_new_array();
	int calls = 0;

	for_each(k, s)
	{
		look_at_time(s, k, now_us);
		if (!has_news(k))
			continue;
		if (calls >= REPORT_MAX_CALLS) {
			due(s, now_us);
			continue;
		}
		calls += k->n_calls;
		add_report(k, list, now_us);
	}
	return list;
}

static struct json_object *asks(struct stocks *s, int64_t now_us)
{
	struct json_object *list = json_object_new_array();

	for (struct model *m = s->models; m != NULL; m = m->next) {
		if (m->wanted && now_us >= m->refused_until_us)
			add_ask(s, m, list);
		else if (m->wanted)
			due(s, m->refused_until_us);
	}
	return list;
}

bool stocks_say(struct stocks *s, struct json_object *news, struct json_object *renew, int64_t now_us)
{
	struct json_object *ask, *report;

	if (renew != NULL)
		for_each(k, s) if (k->state == OPEN || k->state == CLOSED)
		    json_object_array_add(renew, json_object_new_string(k->id));
	if (now_us < s->due_us)
		return false;
	s->due_us = INT64_MAX;
	report = reports(s, now_us);
	ask = asks(s, now_us);
	json_object_object_add(news, "stock", ask);
	json_object_object_add(news, "report", report);
	return json_object_array_length(ask) + json_object_array_length(report) > 0;
}

/* --- what the database says */

static void drop_reported(struct stock *k)
{
	for (int i = 0; i < k->n_said; i++)
		free(k->calls[i].caller);
	memmove(k->calls, k->calls + k->n_said, sizeof *k->calls * (size_t)(k->n_calls - k->n_said));
	k->n_calls -= k->n_said;
	k->reported += k->n_said;
	k->n_said = 0;
}

static void heard(struct stocks *s, struct stock *k, int64_t now_us)
{
	k->in_report = false;
	if (k->n_said > 0)
		drop_reported(k);
	if (k->close_said)
		k->unspent = k->unspent_said = 0; /* it went back */
	if (k->ending)
		forget(s, k);
	else if (has_news(k))
		due(s, now_us + REPORT_US);
}

void stocks_heard(struct stocks *s, int64_t now_us)
{
	for (struct stock *k = TAILQ_FIRST(&s->all), *next; k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (k->in_report)
			heard(s, k, now_us);
	}
}

void stocks_unheard(struct stocks *s, int64_t now_us)
{
	for_each(k, s)
	{
		if (k->state == ASKED) {
			k->state = ABANDONED;
			k->model->asked = NULL;
			due(s, now_us);
		} else if (k->in_report) {
			k->unspent_said = -1;
			due(s, now_us);
		}
		k->in_report = k->ending = k->close_said = false;
		k->n_said = 0;
	}
}

/* Of those from which calls may still begin. */
static struct stock *find(struct stocks *s, const char *model, const char *id)
{
	struct model *m = model_get(s, model);

	if (m == NULL)
		return NULL;
	for (size_t i = 0; i < 3; i++) {
		struct stock *k = i == 0 ? m->asked : i == 1 ? m->open : m->spare;

		if (k != NULL && strcmp(k->id, id) == 0)
			return k;
	}
	return NULL;
}

static void open_stock(struct stocks *s, struct stock *k, struct json_object *answer, int64_t now_us)
{
	struct model *m = k->model;

	k->state = OPEN;
	k->answer = json_object_get(answer);
	k->size = k->unspent = k->unspent_said = (int)json_number(answer, "n");
	k->opened_us = k->used_us = now_us;
	if (m->open == NULL)
		m->open = k;
	else
		m->spare = k;
	due(s, s->stopping ? now_us : now_us + IDLE_US);
}

bool stocks_take_answer(struct stocks *s, struct json_object *answer, int64_t now_us)
{
	const char *outcome = json_text(answer, "outcome");
	bool given = strcmp(outcome, "STOCK") == 0, refused = strcmp(outcome, "NO_STOCK") == 0;
	struct stock *k;

	if (!given && !refused && strcmp(outcome, "RECALLED") != 0)
		return false;
	k = find(s, json_text(answer, "model"), json_text(answer, "id"));
	if (k == NULL)
		return true;
	if (k->state == ASKED) {
		k->model->asked = NULL;
		if (given) {
			open_stock(s, k, answer, now_us);
		} else {
			k->model->refused_until_us = now_us + REFUSED_US;
			forget(s, k);
		}
	} else if (k->state == OPEN) {
		k->model->refused_until_us = now_us + REFUSED_US;
		close_stock(s, k, now_us);
	}
	return true;
}

/* --- */

int64_t stocks_due_us(const struct stocks *s)
{
	return s->due_us;
}

void stocks_stop(struct stocks *s, int64_t now_us)
{
	s->stopping = true;
	due(s, now_us);
}

bool stocks_idle(const struct stocks *s)
{
	return TAILQ_EMPTY(&s->all);
}
