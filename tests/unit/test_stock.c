/* SPDX-License-Identifier: Apache-2.0
 * Calls granted in advance: when a stock is asked for, what of it is reported and given back, and that nothing is lost
 * or said twice whatever becomes of an exchange. The database is played by these tests. */
#include "fcgi/stock.h"
#include "common/json.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

enum { MS = 1000, SECOND = 1000 * MS, START = 1000 * SECOND };

struct exchange {
	struct json_object *news, *renew;
	bool any;
};

static int setup(void **state)
{
	*state = stocks_new();
	return *state == NULL;
}

static int teardown(void **state)
{
	stocks_free(*state);
	return 0;
}

static struct exchange say(struct stocks *s, int64_t now)
{
	struct exchange e = {json_object_new_object(), json_object_new_array(), false};

	e.any = stocks_say(s, e.news, e.renew, now);
	return e;
}

static void done(struct exchange *e)
{
	json_object_put(e->news);
	json_object_put(e->renew);
}

/* The n-th of what is asked for ("stock") or reported ("report"). */
static struct json_object *nth(const struct exchange *e, const char *what, size_t n)
{
	struct json_object *list;

	return json_object_object_get_ex(e->news, what, &list) ? json_object_array_get_idx(list, n) : NULL;
}

static size_t count(const struct exchange *e, const char *what)
{
	struct json_object *list;

	return json_object_object_get_ex(e->news, what, &list) ? json_object_array_length(list) : 0;
}

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *m = NULL;

	json_object_object_get_ex(o, name, &m);
	return m;
}

static bool is_true(struct json_object *o, const char *name)
{
	return json_object_get_boolean(member(o, name));
}

/* Answers the only ask; n 0: NO_STOCK. */
static void answer(struct stocks *s, struct exchange *e, int n, int64_t now)
{
	struct json_object *ask = nth(e, "stock", 0), *o = json_object_new_object();

	assert_non_null(ask);
	json_object_object_add(o, "id", json_object_get(member(ask, "id")));
	json_object_object_add(o, "model", json_object_get(member(ask, "model")));
	json_object_object_add(o, "outcome", json_object_new_string(n > 0 ? "STOCK" : "NO_STOCK"));
	json_object_object_add(o, "n", json_object_new_int(n));
	assert_true(stocks_take_answer(s, o, now));
	json_object_put(o);
}

static void heard(struct stocks *s, struct exchange *e, int64_t now)
{
	stocks_heard(s, now);
	done(e);
}

/* A model with n calls in stock. */
static void give(struct stocks *s, const char *model, int n, int64_t now)
{
	struct exchange e;

	assert_null(stocks_begin(s, model, now - MS));
	assert_null(stocks_begin(s, model, now));
	e = say(s, now);
	assert_true(e.any);
	assert_int_equal(count(&e, "stock"), 1);
	answer(s, &e, n, now);
	heard(s, &e, now);
}

static struct stock *begin(struct stocks *s, int64_t now)
{
	struct stock *k = stocks_begin(s, "m", now);

	assert_non_null(k);
	return k;
}

static void call(struct stocks *s, const char *caller, int64_t now, int64_t ms)
{
	stocks_end(s, begin(s, now), caller, now, now + ms * MS);
}

static void recall(struct stocks *s, const char *id, int64_t now)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "id", json_object_new_string(id));
	json_object_object_add(o, "model", json_object_new_string("m"));
	json_object_object_add(o, "outcome", json_object_new_string("RECALLED"));
	assert_true(stocks_take_answer(s, o, now));
	json_object_put(o);
}

static void asks_for_what_is_called_again(void **state)
{
	struct stocks *s = *state;
	struct exchange e;

	assert_null(stocks_begin(s, "m", START));
	assert_true(stocks_due_us(s) == INT64_MAX); /* once is nothing */
	assert_null(stocks_begin(s, "m", START + 10 * SECOND));
	assert_true(stocks_due_us(s) == INT64_MAX); /* nor is now and then */
	assert_null(stocks_begin(s, "m", START + 10 * SECOND + 5 * MS));
	assert_true(stocks_due_us(s) <= START + 10 * SECOND + 5 * MS);
	e = say(s, START + 10 * SECOND + 5 * MS);
	assert_true(e.any);
	assert_string_equal(json_text(nth(&e, "stock", 0), "model"), "m");
	assert_int_equal(json_number(nth(&e, "stock", 0), "n"), 8);
	assert_null(stocks_begin(s, "m", START + 10 * SECOND + 6 * MS)); /* it is under way */
	done(&e);
	e = say(s, START + 10 * SECOND + 7 * MS);
	assert_false(e.any); /* asked for once */
	done(&e);
	stocks_unheard(s, START);
	stocks_heard(s, START);
}

static void a_refusal_is_respected(void **state)
{
	struct stocks *s = *state;
	struct exchange e;

	assert_null(stocks_begin(s, "m", START));
	assert_null(stocks_begin(s, "m", START));
	e = say(s, START);
	answer(s, &e, 0, START);
	heard(s, &e, START);
	assert_true(stocks_idle(s));
	assert_null(stocks_begin(s, "m", START + 10 * MS));
	e = say(s, START + 10 * MS);
	assert_false(e.any);
	done(&e);
	e = say(s, START + 1010 * MS); /* it is still wanted */
	assert_int_equal(count(&e, "stock"), 1);
	answer(s, &e, 0, START + 1010 * MS);
	heard(s, &e, START + 1010 * MS);
}

static void calls_are_counted_and_reported(void **state)
{
	struct stocks *s = *state;
	struct json_object *report, *first;
	struct exchange e;
	struct stock *k;

	give(s, "m", 8, START);
	assert_int_equal(json_number(stock_answer(begin(s, START)), "n"), 8); /* stays under way */
	call(s, "anna", START, 3);
	e = say(s, START + 10 * MS);
	assert_false(e.any); /* together with others */
	done(&e);
	call(s, "ben", START + 20 * MS, 1);
	e = say(s, START + 300 * MS);
	assert_true(e.any);
	assert_int_equal(json_object_array_length(e.renew), 1);
	report = nth(&e, "report", 0);
	assert_int_equal(json_number(report, "unspent"), 5);
	assert_int_equal(json_number(report, "slots"), 6);
	assert_int_equal(json_number(report, "first"), 0);
	assert_false(is_true(report, "close"));
	assert_int_equal(json_object_array_length(member(report, "calls")), 2);
	first = json_object_array_get_idx(member(report, "calls"), 0);
	assert_string_equal(json_object_get_string(json_object_array_get_idx(first, 0)), "anna");
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(first, 1)), 300 * MS);
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(first, 2)), 297 * MS);
	k = begin(s, START + 301 * MS); /* while the report is under way */
	stocks_end(s, k, "cleo", START + 301 * MS, START + 302 * MS);
	heard(s, &e, START + 303 * MS);
	e = say(s, START + 600 * MS);
	report = nth(&e, "report", 0);
	assert_int_equal(json_number(report, "first"), 2);
	assert_int_equal(json_object_array_length(member(report, "calls")), 1);
	assert_int_equal(json_number(report, "unspent"), 4);
	heard(s, &e, START + 600 * MS);
}

static void what_nobody_heard_is_said_again(void **state)
{
	struct stocks *s = *state;
	struct exchange e;

	give(s, "m", 8, START);
	call(s, "anna", START, 1);
	e = say(s, START + 300 * MS);
	assert_int_equal(json_object_array_length(member(nth(&e, "report", 0), "calls")), 1);
	done(&e);
	stocks_unheard(s, START + 300 * MS);
	e = say(s, START + 301 * MS);
	assert_int_equal(json_number(nth(&e, "report", 0), "first"), 0);
	assert_int_equal(json_number(nth(&e, "report", 0), "unspent"), 7);
	assert_int_equal(json_object_array_length(member(nth(&e, "report", 0), "calls")), 1);
	heard(s, &e, START + 302 * MS);
	assert_false((e = say(s, START + 700 * MS)).any);
	done(&e);
}

static void what_was_asked_for_in_vain_is_given_back_whole(void **state)
{
	struct stocks *s = *state;
	struct json_object *report;
	struct exchange e;

	assert_null(stocks_begin(s, "m", START));
	assert_null(stocks_begin(s, "m", START));
	e = say(s, START);
	done(&e);
	stocks_unheard(s, START);
	e = say(s, START + MS);
	report = nth(&e, "report", 0);
	assert_true(is_true(report, "close"));
	assert_int_equal(json_number(report, "slots"), 0);
	assert_null(member(report, "unspent")); /* whatever it was */
	assert_int_equal(count(&e, "stock"), 0);
	heard(s, &e, START + MS);
	assert_true(stocks_idle(s));
}

static void a_spent_stock_shrinks_with_its_calls(void **state)
{
	struct stocks *s = *state;
	struct stock *k[2];
	struct exchange e;

	give(s, "m", 2, START);
	k[0] = begin(s, START);
	k[1] = begin(s, START);
	assert_null(stocks_begin(s, "m", START));
	stocks_end(s, k[0], "a", START, START + MS);
	e = say(s, START + 300 * MS);
	assert_true(is_true(nth(&e, "report", 0), "close"));
	assert_int_equal(json_number(nth(&e, "report", 0), "slots"), 1);
	assert_int_equal(json_number(nth(&e, "report", 0), "unspent"), 0);
	answer(s, &e, 0, START + 300 * MS); /* the next one, which was wanted */
	heard(s, &e, START + 300 * MS);
	assert_false((e = say(s, START + 600 * MS)).any);
	done(&e);
	stocks_end(s, k[1], "b", START, START + 700 * MS);
	e = say(s, START + 1000 * MS);
	assert_int_equal(json_number(nth(&e, "report", 0), "slots"), 0);
	assert_int_equal(json_number(nth(&e, "report", 0), "first"), 1);
	heard(s, &e, START + 1000 * MS);
	assert_true(stocks_idle(s));
}

static void what_is_recalled_goes_back_at_once(void **state)
{
	struct stocks *s = *state;
	struct json_object *report;
	struct stock *running;
	struct exchange e;

	give(s, "m", 8, START);
	running = begin(s, START);
	e = say(s, START + 300 * MS);
	recall(s, json_text(nth(&e, "report", 0), "id"), START + 300 * MS);
	heard(s, &e, START + 300 * MS);
	assert_null(stocks_begin(s, "m", START + 300 * MS));
	e = say(s, START + 300 * MS);
	report = nth(&e, "report", 0);
	assert_true(is_true(report, "close"));
	assert_int_equal(json_number(report, "unspent"), 7);
	assert_int_equal(json_number(report, "slots"), 1);
	heard(s, &e, START + 300 * MS);
	stocks_end(s, running, "a", START, START + 900 * MS);
	e = say(s, START + 1200 * MS);
	assert_int_equal(json_number(nth(&e, "report", 0), "unspent"), 0); /* given back once */
	assert_int_equal(json_number(nth(&e, "report", 0), "slots"), 0);
	heard(s, &e, START + 1200 * MS);
	assert_true(stocks_idle(s));
}

static void what_nobody_uses_and_what_is_old_goes_back(void **state)
{
	struct stocks *s = *state;
	struct exchange e;

	give(s, "m", 8, START);
	assert_true(stocks_due_us(s) <= START + 2 * SECOND);
	e = say(s, START + 2 * SECOND);
	assert_true(is_true(nth(&e, "report", 0), "close"));
	assert_int_equal(json_number(nth(&e, "report", 0), "unspent"), 8);
	heard(s, &e, START + 2 * SECOND);
	assert_true(stocks_idle(s));

	give(s, "m", 100, START + 20 * SECOND);
	for (int64_t t = 0; t < 5; t++) {
		call(s, "a", START + (20 + t) * SECOND, 1);
		e = say(s, START + (20 + t) * SECOND + 300 * MS);
		assert_false(is_true(nth(&e, "report", 0), "close"));
		heard(s, &e, START + (20 + t) * SECOND + 300 * MS);
	}
	e = say(s, START + 25 * SECOND);
	assert_true(is_true(nth(&e, "report", 0), "close"));
	assert_int_equal(json_number(nth(&e, "report", 0), "unspent"), 95);
	heard(s, &e, START + 25 * SECOND);
}

static void the_next_one_is_there_before_it_is_needed(void **state)
{
	struct stocks *s = *state;
	struct exchange e;

	give(s, "m", 8, START);
	for (int i = 0; i < 3; i++)
		call(s, "a", START + i * MS, 1);
	e = say(s, START + 3 * MS);
	assert_int_equal(count(&e, "stock"), 1);
	assert_int_equal(json_number(nth(&e, "stock", 0), "n"), 16); /* it went fast: a bigger one */
	answer(s, &e, 16, START + 4 * MS);
	heard(s, &e, START + 4 * MS);
	for (int i = 0; i < 5 + 16; i++)
		call(s, "a", START + 5 * MS, 1);
	assert_null(stocks_begin(s, "m", START + 6 * MS));
}

static size_t reported_calls(const struct exchange *e)
{
	size_t calls = 0;

	for (size_t i = 0; i < count(e, "report"); i++)
		calls += json_object_array_length(member(nth(e, "report", i), "calls"));
	return calls;
}

static void too_much_for_one_report_comes_in_several(void **state)
{
	struct stocks *s = *state;
	struct exchange e;
	size_t calls;
	char model[16];
	struct stock *k;

	for (int m = 0; m < 5; m++) {
		snprintf(model, sizeof model, "m%d", m);
		give(s, model, 1000, START);
	}
	for (int i = 0; i < 5 * 900; i++) {
		snprintf(model, sizeof model, "m%d", i % 5);
		k = stocks_begin(s, model, START);
		assert_non_null(k);
		stocks_end(s, k, "a", START, START);
	}
	e = say(s, START + SECOND);
	calls = reported_calls(&e);
	assert_in_range(calls, 2000, 2900);
	heard(s, &e, START + SECOND);
	assert_true(stocks_due_us(s) <= START + SECOND); /* there is more */
	e = say(s, START + SECOND);
	assert_int_equal(calls + reported_calls(&e), 5 * 900);
	heard(s, &e, START + SECOND);
}

static void nothing_is_begun_while_stopping(void **state)
{
	struct stocks *s = *state;
	struct stock *running;
	struct exchange e;

	give(s, "m", 8, START);
	running = begin(s, START);
	stocks_stop(s, START + MS);
	assert_null(stocks_begin(s, "m", START + MS));
	e = say(s, START + MS);
	assert_true(is_true(nth(&e, "report", 0), "close"));
	heard(s, &e, START + MS);
	assert_false(stocks_idle(s));
	stocks_end(s, running, "a", START, START + 2 * MS);
	e = say(s, START + 300 * MS);
	heard(s, &e, START + 300 * MS);
	assert_true(stocks_idle(s));
}

static void other_answers_are_none_of_its_business(void **state)
{
	struct json_object *o = json_tokener_parse("{\"id\":\"x\",\"model\":\"m\",\"outcome\":\"GRANTED\"}");

	assert_false(stocks_take_answer(*state, o, START));
	json_object_put(o);
	o = json_tokener_parse("{\"id\":\"x\",\"model\":\"m\",\"outcome\":\"RECALLED\"}");
	assert_true(stocks_take_answer(*state, o, START)); /* of one that is over */
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(asks_for_what_is_called_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_refusal_is_respected, setup, teardown),
	    cmocka_unit_test_setup_teardown(calls_are_counted_and_reported, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_nobody_heard_is_said_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_was_asked_for_in_vain_is_given_back_whole, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_spent_stock_shrinks_with_its_calls, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_recalled_goes_back_at_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_nobody_uses_and_what_is_old_goes_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_next_one_is_there_before_it_is_needed, setup, teardown),
	    cmocka_unit_test_setup_teardown(too_much_for_one_report_comes_in_several, setup, teardown),
	    cmocka_unit_test_setup_teardown(nothing_is_begun_while_stopping, setup, teardown),
	    cmocka_unit_test_setup_teardown(other_answers_are_none_of_its_business, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
