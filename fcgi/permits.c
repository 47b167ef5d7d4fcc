/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/permits.h"

#include "common/clock.h"
#include "common/dbq.h"
#include "common/json.h"
#include "common/log.h"
#include "fcgi/pressure.h"
#include "fcgi/wakeup.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RENEW_FIRST_MS = 300,
	RETRY_MS = 250,
	CHANNEL_LEN = 7 + 32,
	KNOWN_SIZE = 256,
	KNOWN_KEY_MAX = 1 + REMOTE_USER_MAX,
	TOKEN_KNOWN_US = 1000 * 1000, /* a revoked token begins no call from a stock after so long */
	OTHERS_KNOWN_US = 60 * 1000 * 1000,
	REFRESH_US = TOKEN_KNOWN_US / 2 /* before the end one caller asks, while the others go on */
};

enum state {
	ASK,      /* to be asked, or asked again */
	ASKED,    /* the database has it */
	WAITING,  /* in the database's queue */
	GIVE_UP,  /* to be taken out of the queue */
	GIVEN_UP, /* the database has that */
	HELD,     /* granted */
	RELEASE,  /* to be given back */
	RELEASED, /* the database has that */
	LEAVE,    /* to be given back or taken out, whichever it is: nobody here waits for the answer any more */
	LEFT,     /* the database has that */
};

/* One request, from the ask to the end of its permit. */
struct entry {
	struct entry *next;
	enum state state;
	char id[UUID_TEXT_LEN + 1];
	struct json_object *ask;
	struct json_object *answer; /* for the thread that waits */
	int event_fd;               /* of that thread; -1: none waits */
	int64_t give_up_at;         /* ASK, ASKED: the database does not answer; WAITING: the deadline */
	bool gone;                  /* the client has hung up */
};

/* Who the database said it is that comes with these credentials. */
struct known {
	char key[KNOWN_KEY_MAX + 1], caller[STOCK_CALLER_MAX + 1];
	int64_t until_us;
	bool refreshing;
};

struct permits {
	const struct conf *conf;
	struct dbq *dbq;
	int wake;             /* of the thread that ticks */
	pthread_mutex_t lock; /* of what stands up to the limits; what is below is that thread's own */
	struct entry *entries;
	bool stopping;
	struct stocks *stocks;
	int64_t stocks_at_us; /* when that thread will look at them */
	struct known known[KNOWN_SIZE];
	struct backpressure_limits limits;
	char holder[UUID_TEXT_LEN + 1], channel[CHANNEL_LEN + 1];
	bool in_flight, notified;
	int64_t poll_at, renew_at, renew_ms, retry_at;
};

static void entry_free(struct entry *e)
{
	json_object_put(e->ask);
	json_object_put(e->answer);
	free(e);
}

/* Hands the thread that waits its answer; takes over answer. */
static void tell(struct entry *e, struct json_object *answer)
{
	json_object_put(e->answer);
	e->answer = answer;
	if (e->event_fd >= 0)
		wakeup_signal(e->event_fd);
}

static void tell_outcome(struct entry *e, const char *outcome)
{
	struct json_object *answer = json_object_new_object();

	json_object_object_add(answer, "outcome", json_object_new_string(outcome));
	tell(e, answer);
}

static struct entry *find(struct permits *p, const char *id)
{
	for (struct entry *e = p->entries; e != NULL; e = e->next)
		if (strcmp(e->id, id) == 0)
			return e;
	return NULL;
}

static void forget(struct permits *p, struct entry *gone)
{
	for (struct entry **e = &p->entries; *e != NULL; e = &(*e)->next) {
		if (*e == gone) {
			*e = gone->next;
			entry_free(gone);
			return;
		}
	}
}

/* --- what the database is told */

static void add_cancel(struct json_object *list, const struct entry *e, bool keep)
{
	struct json_object *o = json_object_new_object(), *model;

	json_object_object_add(o, "id", json_object_new_string(e->id));
	json_object_object_get_ex(e->ask, "model", &model);
	json_object_object_add(o, "model", json_object_get(model));
	json_object_object_add(o, "keep", json_object_new_boolean(keep));
	json_object_array_add(list, o);
}

/* An entry's part of the news; its state moves on. True if there is any. */
static bool add_news(struct entry *e, struct json_object *ask, struct json_object *cancel, struct json_object *release)
{
	if (e->answer != NULL && e->state != LEAVE)
		return false; /* decided, only not fetched yet */
	switch (e->state) {
	case ASK:
		json_object_array_add(ask, json_object_get(e->ask));
		e->state = ASKED;
		return true;
	case GIVE_UP:
		add_cancel(cancel, e, !e->gone);
		e->state = GIVEN_UP;
		return true;
	case RELEASE:
		json_object_array_add(release, json_object_new_string(e->id));
		e->state = RELEASED;
		return true;
	case LEAVE:
		add_cancel(cancel, e, false);
		e->state = LEFT;
		return true;
	default:
		return false;
	}
}

static bool is_to_be_renewed(const struct entry *e)
{
	return e->state == HELD || e->state == WAITING || e->state == ASKED || e->state == GIVEN_UP;
}

static bool is_due(const struct permits *p, int64_t now)
{
	return (p->poll_at <= now) || (p->renew_at <= now && (p->entries != NULL || !stocks_idle(p->stocks)));
}

/* Collects what there is to say; NULL if nothing. Called with the lock. */
static struct json_object *collect(struct permits *p, int64_t now)
{
	struct json_object *news = json_object_new_object(), *ask = json_object_new_array(),
			   *cancel = json_object_new_array(), *release = json_object_new_array(), *renew = NULL;
	bool any = is_due(p, now);

	json_object_object_add(news, "ask", ask);
	json_object_object_add(news, "cancel", cancel);
	json_object_object_add(news, "release", release);
	for (struct entry *e = p->entries; e != NULL; e = e->next)
		any |= add_news(e, ask, cancel, release);
	if (p->renew_at <= now) {
		renew = json_object_new_array();
		for (struct entry *e = p->entries; e != NULL; e = e->next)
			if (is_to_be_renewed(e))
				json_object_array_add(renew, json_object_new_string(e->id));
		json_object_object_add(news, "renew", renew);
		p->renew_at = now + p->renew_ms;
	}
	any |= stocks_say(p->stocks, news, renew, clock_us());
	if (any)
		return news;
	json_object_put(news);
	return NULL;
}

/* --- what the database says */

static void take_answer(struct permits *p, struct json_object *o)
{
	const char *outcome = json_text(o, "outcome");
	struct entry *e;
	struct json_object *ms;

	if (stocks_take_answer(p->stocks, o, clock_us()))
		return;
	e = find(p, json_text(o, "id"));
	if (e == NULL)
		return;
	if (e->state == LEFT) {
		forget(p, e);
	} else if (strcmp(outcome, "GRANTED") == 0) {
		e->state = HELD;
		tell(e, json_object_get(o));
	} else if (strcmp(outcome, "WAITING") == 0) {
		if (e->state == ASKED) {
			e->state = WAITING;
			json_object_object_get_ex(o, "deadline_ms", &ms);
			e->give_up_at = clock_ms() + json_object_get_int64(ms);
		}
	} else if (e->state == ASKED || e->state == GIVEN_UP) {
		tell(e, json_object_get(o));
	}
}

static void take_array(struct permits *p, struct json_object *o, const char *name)
{
	struct json_object *list;

	if (!json_object_object_get_ex(o, name, &list))
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++)
		take_answer(p, json_object_array_get_idx(list, i));
}

static void take_limits(struct permits *p, struct json_object *o)
{
	struct json_object *limits;

	if (!json_object_object_get_ex(o, "backpressure", &limits))
		return;
	pressure_read(limits, &p->limits);
	if (p->limits.max < 1)
		p->limits.max = p->conf->gateway_threads;
}

static void take_result(struct permits *p, struct json_object *o)
{
	struct json_object *ms;

	take_limits(p, o);
	stocks_heard(p->stocks, clock_us());
	take_array(p, o, "answers");
	take_array(p, o, "granted");
	if (json_object_object_get_ex(o, "renew_ms", &ms))
		p->renew_ms = json_object_get_int64(ms);
	p->poll_at = json_object_object_get_ex(o, "next_ms", &ms) && ms != NULL ? clock_ms() + json_object_get_int64(ms)
										: INT64_MAX;
	for (struct entry *e = p->entries, *next; e != NULL; e = next) {
		next = e->next;
		if (e->state == RELEASED || e->state == LEFT)
			forget(p, e);
	}
}

/* Nobody knows what of it happened; all of it may be said again. */
static void take_failure(struct permits *p, const char *error)
{
	log_warning("permits: %s", error);
	for (struct entry *e = p->entries; e != NULL; e = e->next) {
		if (e->state == ASKED || e->state == WAITING) {
			e->give_up_at = e->state == ASKED ? e->give_up_at : clock_ms() + p->conf->db_timeout_ms;
			e->state = ASK;
		} else if (e->state == GIVEN_UP) {
			e->state = GIVE_UP;
		} else if (e->state == RELEASED) {
			e->state = RELEASE;
		} else if (e->state == LEFT) {
			e->state = LEAVE;
		}
	}
	stocks_unheard(p->stocks, clock_us());
	p->retry_at = clock_ms() + RETRY_MS;
	p->poll_at = INT64_MAX;
}

static void on_result(void *arg, PGresult *result, const char *error)
{
	struct permits *p = arg;
	struct json_object *o = NULL;

	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK)
		o = json_tokener_parse(PQgetvalue(result, 0, 0));
	pthread_mutex_lock(&p->lock);
	p->in_flight = false;
	if (o != NULL)
		take_result(p, o);
	else
		take_failure(p, error != NULL && *error != '\0' ? error : "the database gave no answer");
	pthread_mutex_unlock(&p->lock);
	json_object_put(o);
}

/* --- the thread that ticks */

/* Deadlines, clients that hung up, a database that stays away. Called with the lock. */
static void look_at_time(struct permits *p, int64_t now)
{
	for (struct entry *e = p->entries; e != NULL; e = e->next) {
		if (e->event_fd < 0 || e->answer != NULL)
			continue;
		if (e->state == WAITING && (e->gone || now >= e->give_up_at)) {
			e->state = GIVE_UP;
			e->give_up_at = now + p->conf->db_timeout_ms;
		} else if (e->state == ASK && e->gone) {
			e->state = LEAVE;
			tell_outcome(e, "CANCELLED");
		} else if ((e->state == ASK || e->state == GIVE_UP) && now >= e->give_up_at) {
			e->state = LEAVE; /* it may wait or be granted without our knowing */
			tell_outcome(e, "DB_UNAVAILABLE");
		}
	}
}

static int64_t next_time(struct permits *p)
{
	int64_t at = p->poll_at, stocks = stocks_due_us(p->stocks);

	p->stocks_at_us = stocks;
	if (stocks != INT64_MAX && stocks / 1000 + 1 < at)
		at = stocks / 1000 + 1;
	if ((p->entries != NULL || !stocks_idle(p->stocks)) && p->renew_at < at)
		at = p->renew_at;
	for (struct entry *e = p->entries; e != NULL; e = e->next)
		if ((e->state == WAITING || e->state == ASK || e->state == GIVE_UP) && e->event_fd >= 0 &&
		    e->give_up_at < at)
			at = e->give_up_at;
	return at > p->retry_at ? at : p->retry_at;
}

static void speak(struct permits *p, int64_t now)
{
	struct json_object *news = NULL;

	pthread_mutex_lock(&p->lock);
	look_at_time(p, now);
	if (!p->in_flight && now >= p->retry_at)
		news = collect(p, now);
	pthread_mutex_unlock(&p->lock);
	if (news == NULL)
		return;
	p->in_flight = true;
	p->poll_at = INT64_MAX;
	if (dbq_submit(p->dbq, "SELECT camserver.permit_exchange($1::uuid, $2::jsonb)", 2,
		(const char *[]){p->holder, json_object_to_json_string_ext(news, JSON_C_TO_STRING_PLAIN)}, on_result,
		p) < 0)
		on_result(p, NULL, "out of memory");
	json_object_put(news);
}

int64_t permits_tick(struct permits *p, int64_t now)
{
	int64_t next;

	p->notified |= dbq_notified(p->dbq);
	if (p->notified && !p->in_flight) {
		p->notified = false;
		p->poll_at = 0;
	}
	speak(p, now);
	pthread_mutex_lock(&p->lock);
	next = p->in_flight ? INT64_MAX : next_time(p);
	pthread_mutex_unlock(&p->lock);
	return next;
}

struct permits *permits_new(const struct conf *conf, struct dbq *dbq, int wake)
{
	struct permits *p = calloc(1, sizeof *p);
	char *c;

	if (p == NULL)
		return NULL;
	p->conf = conf;
	p->dbq = dbq;
	p->wake = wake;
	p->poll_at = INT64_MAX;
	p->renew_ms = RENEW_FIRST_MS;
	p->stocks_at_us = INT64_MAX;
	p->stocks = stocks_new();
	if (p->stocks == NULL) {
		free(p);
		return NULL;
	}
	p->limits = backpressure_default_limits;
	p->limits.max = conf->gateway_threads;
	ident_new_uuid(p->holder);
	c = stpcpy(p->channel, "permit_");
	for (const char *h = p->holder; *h != '\0'; h++)
		if (*h != '-')
			*c++ = *h;
	*c = '\0';
	dbq_listen(p->dbq, p->channel);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void permits_stop(struct permits *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	stocks_stop(p->stocks, clock_us());
	for (struct entry *e = p->entries; e != NULL; e = e->next) {
		if (e->event_fd >= 0 && e->answer == NULL) {
			e->state = LEAVE;
			tell_outcome(e, "SHUTTING_DOWN");
		}
	}
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

bool permits_idle(struct permits *p)
{
	bool idle;

	pthread_mutex_lock(&p->lock);
	idle = p->entries == NULL && stocks_idle(p->stocks);
	pthread_mutex_unlock(&p->lock);
	return idle;
}

void permits_free(struct permits *p)
{
	if (p == NULL)
		return;
	while (p->entries != NULL)
		forget(p, p->entries);
	stocks_free(p->stocks);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The answer, if there is one by now; then nobody waits for the entry any more. */
static struct json_object *collect_answer(struct permits *p, struct entry *e)
{
	struct json_object *answer;

	pthread_mutex_lock(&p->lock);
	answer = e->answer;
	if (answer != NULL) {
		e->answer = NULL;
		e->event_fd = -1;
		if (e->state != HELD && e->state != LEAVE && e->state != LEFT)
			forget(p, e);
	}
	pthread_mutex_unlock(&p->lock);
	return answer;
}

static void mark_gone(struct permits *p, struct entry *e)
{
	pthread_mutex_lock(&p->lock);
	e->gone = true;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

/* Who came first asks first. */
static struct entry **last_of(struct permits *p)
{
	struct entry **e = &p->entries;

	while (*e != NULL)
		e = &(*e)->next;
	return e;
}

/* --- who is calling */

/* The credentials as one text. */
static void key_of(const struct identity *who, char ret[KNOWN_KEY_MAX + 1])
{
	if (who->token[0] != '\0')
		snprintf(ret, KNOWN_KEY_MAX + 1, "t%s", who->token);
	else if (who->remote_user != NULL)
		snprintf(ret, KNOWN_KEY_MAX + 1, "u%s", who->remote_user);
	else
		snprintf(ret, KNOWN_KEY_MAX + 1, "s%s", who->session);
}

static struct known *place_of(struct permits *p, const char *key)
{
	unsigned hash = 2166136261U;

	for (; *key != '\0'; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619U;
	return &p->known[hash % KNOWN_SIZE];
}

static void remember(struct permits *p, const struct identity *who, const char *caller)
{
	char key[KNOWN_KEY_MAX + 1];
	struct known *k;

	key_of(who, key);
	pthread_mutex_lock(&p->lock);
	k = place_of(p, key);
	memcpy(k->key, key, sizeof key);
	snprintf(k->caller, sizeof k->caller, "%s", caller);
	k->refreshing = false;
	k->until_us = clock_us() + (key[0] == 't' ? TOKEN_KNOWN_US : OTHERS_KNOWN_US);
	pthread_mutex_unlock(&p->lock);
}

/* --- asking */

static void wake_for_stocks(struct permits *p)
{
	bool earlier = stocks_due_us(p->stocks) < p->stocks_at_us;

	if (earlier)
		p->stocks_at_us = stocks_due_us(p->stocks);
	pthread_mutex_unlock(&p->lock);
	if (earlier)
		wakeup_signal(p->wake);
}

/* Who it is; NULL: the database has to say. Called with the lock. */
static const char *caller_of(struct permits *p, const struct identity *who, int64_t now_us)
{
	char key[KNOWN_KEY_MAX + 1];
	struct known *k;

	key_of(who, key);
	k = place_of(p, key);
	if (strcmp(k->key, key) != 0 || now_us >= k->until_us)
		return NULL;
	if (now_us < k->until_us - REFRESH_US || k->refreshing)
		return k->caller;
	k->refreshing = true;
	return NULL;
}

/* A call of the model from stock, for a caller that is known. False: the database is to be asked. */
static bool begin_from_stock(struct permits *p, const struct permit_ask *ask, struct permit *ret)
{
	int64_t now = clock_us();
	const char *caller;

	pthread_mutex_lock(&p->lock);
	caller = caller_of(p, ask->who, now);
	if (caller != NULL && (ret->private.stock = stocks_begin(p->stocks, ask->model, now)) != NULL) {
		strcpy(ret->private.caller, caller);
		ret->private.began_us = now;
		ret->decision = stock_answer(ret->private.stock);
		ret->granted = true;
	}
	wake_for_stocks(p);
	return ret->granted;
}

static void add_text(struct json_object *o, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		json_object_object_add(o, name, json_object_new_string(value));
}

static struct json_object *ask_json(const struct permit_ask *ask, const char *id)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "id", id);
	if (ask->who != NULL) {
		add_text(o, "token", ask->who->token);
		add_text(o, "remote_user", ask->who->remote_user);
		add_text(o, "session", ask->who->session);
	}
	add_text(o, "model", ask->model);
	add_text(o, "nodes_of", ask->nodes_of);
	if (ask->list)
		json_object_object_add(o, "list", json_object_new_boolean(true));
	if (ask->nodes)
		json_object_object_add(o, "nodes", json_object_new_boolean(true));
	if (ask->wait_sec >= 0)
		json_object_object_add(o, "wait_ms", json_object_new_int64(ask->wait_sec * 1000));
	return o;
}

/* Joins the entries; the thread that keeps them asks. */
static void enter(struct permits *p, struct entry *e)
{
	pthread_mutex_lock(&p->lock);
	*last_of(p) = e;
	if (p->stopping) {
		e->state = LEAVE;
		tell_outcome(e, "SHUTTING_DOWN");
	}
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

static struct json_object *await_answer(struct permits *p, struct entry *e, int event_fd, int client_fd)
{
	struct pollfd fds[2] = {{.fd = event_fd, .events = POLLIN}, {.fd = client_fd, .events = POLLRDHUP}};
	struct json_object *answer;

	while ((answer = collect_answer(p, e)) == NULL) {
		if (poll(fds, 2, -1) > 0 && (fds[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
			fds[1].fd = -1;
			mark_gone(p, e);
		}
		wakeup_drain(event_fd);
	}
	return answer;
}

void permits_ask(struct permits *p, const struct permit_ask *ask, int event_fd, int client_fd, struct permit *ret)
{
	struct entry *e;

	*ret = (struct permit){0};
	if (ask->model != NULL && begin_from_stock(p, ask, ret))
		return;
	e = calloc(1, sizeof *e);
	if (e == NULL)
		return;
	wakeup_drain(event_fd);
	ident_new_uuid(ret->private.id);
	*e = (struct entry){.ask = ask_json(ask, ret->private.id),
	    .event_fd = event_fd,
	    .give_up_at = clock_ms() + p->conf->db_timeout_ms};
	strcpy(e->id, ret->private.id);
	enter(p, e);
	ret->decision = ret->private.own = await_answer(p, e, event_fd, client_fd);
	ret->granted = strcmp(json_text(ret->decision, "outcome"), "GRANTED") == 0;
	if (ret->granted)
		remember(p, ask->who, json_text(ret->decision, "caller"));
}

static void give_back(struct permits *p, const char *id)
{
	struct entry *e;

	pthread_mutex_lock(&p->lock);
	e = find(p, id);
	if (e != NULL)
		e->state = RELEASE;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

void permits_end(struct permits *p, struct permit *permit)
{
	struct permit_private *own = &permit->private;

	if (own->stock != NULL) {
		pthread_mutex_lock(&p->lock);
		stocks_end(p->stocks, own->stock, own->caller, own->began_us, clock_us());
		wake_for_stocks(p);
	} else if (permit->granted) {
		give_back(p, own->id);
	}
	json_object_put(own->own);
	*permit = (struct permit){0};
}

int64_t permits_waiting(struct permits *p, struct backpressure_limits *ret_limits)
{
	int64_t waiting = 0, asking = 0;

	pthread_mutex_lock(&p->lock);
	for (struct entry *e = p->entries; e != NULL; e = e->next) {
		waiting += e->state == WAITING;
		asking += e->state == ASK || e->state == ASKED;
	}
	*ret_limits = p->limits;
	pthread_mutex_unlock(&p->lock);
	return waiting > 0 ? waiting + asking : 0;
}
