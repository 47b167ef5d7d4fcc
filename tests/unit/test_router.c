/* SPDX-License-Identifier: Apache-2.0
 * Which node gets a call, when a node is left alone and how it comes back, and what may be repeated. */
#include "common/router.h"
#include "policy/balance.h"
#include "policy/node.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 1000000, HOUR = 3600000 };

static struct json_object *candidates(const char *text)
{
	struct json_object *list = json_tokener_parse(text);

	assert_non_null(list);
	return list;
}

static void fill(struct router *r, const char *text, int64_t now)
{
	struct json_object *list = candidates(text);

	router_fill(r, "m", list, now);
	json_object_put(list);
}

#define NODE(name, more) \
	"{\"name\":\"" name "\",\"base_url\":\"http://" name "\",\"max_inflight\":2,\"weight\":1" more "}"
#define TWO "[" NODE("a", "") "," NODE("b", "") "]"

/* A call that ends so after ms; the node's name is in pick. */
static enum route_found call(struct router *r, struct route_pick *pick, enum call_end end, int64_t now, int64_t ms)
{
	enum route_found route = router_choose(r, "m", pick, now);

	if (route == ROUTE_OK)
		router_end(r, "m", pick, end, 0, "because", now + ms);
	return route;
}

static enum route_found call_fresh(struct router *r, char *ret_name, enum call_end end, int64_t now, int64_t ms)
{
	struct route_pick pick = {0};
	enum route_found route = call(r, &pick, end, now, ms);

	if (ret_name != NULL)
		strcpy(ret_name, pick.name);
	return route;
}

/* --- the choice */

static void the_cheaper_of_two(void **state)
{
	const double costs[] = {3, 1, 2};
	unsigned chosen[3] = {0};

	(void)state;
	assert_int_equal(balance_choose(costs, 1, 12345), 0);
	for (uint32_t i = 0; i < 60000; i++)
		chosen[balance_choose(costs, 3, i)]++;
	assert_int_equal(chosen[0], 0); /* any other is cheaper */
	assert_int_equal(chosen[1], 40000);
	assert_int_equal(chosen[2], 20000);
}

static void cost_is_load_times_latency_by_weight(void **state)
{
	struct balance b = {.weight = 1, .inflight = 0, .latency_ms = 10, .sampled_at = NOW};

	(void)state;
	assert_true(balance_cost(&b, 0, NOW) == 10);
	b.inflight = 3;
	assert_true(balance_cost(&b, 0, NOW) == 40);
	b.weight = 2;
	assert_true(balance_cost(&b, 0, NOW) == 20);
	/* What was measured long ago is believed less. */
	assert_true(balance_cost(&b, 0, NOW + 10000) == 20);
	assert_true(balance_cost(&b, 0, NOW + 100000) == 2);
	/* What was never measured costs the usual. */
	b = (struct balance){.weight = 1};
	assert_true(balance_cost(&b, 7, NOW) == 7);
	assert_true(balance_cost(&b, 0, NOW) > 0);
}

static void a_node_that_came_back_ramps_up(void **state)
{
	struct balance b = {.weight = 1, .latency_ms = 10, .sampled_at = NOW, .returned_at = NOW};

	(void)state;
	assert_true(balance_cost(&b, 0, NOW) == 100);
	assert_true(balance_cost(&b, 0, NOW + 5000) == 20);
	assert_true(balance_cost(&b, 0, NOW + 10000) == 10);
}

static void samples_are_smoothed(void **state)
{
	struct balance b = {.weight = 1};

	(void)state;
	balance_sample(&b, 100, NOW);
	assert_true(b.latency_ms == 100);
	balance_sample(&b, 200, NOW + 1);
	assert_true(b.latency_ms > 119 && b.latency_ms < 121);
	balance_sample(&b, 0, NOW + 2);
	assert_true(b.latency_ms > 0);
}

static void the_slow_node_gets_a_smaller_share(void **state)
{
	struct router *r = router_new(false, NULL);
	int a = 0, b = 0;
	int64_t now = NOW;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct route_pick one = {0}, two = {0};

		fill(r, TWO, now);
		assert_int_equal(router_choose(r, "m", &one, now), ROUTE_OK);
		assert_int_equal(router_choose(r, "m", &two, now), ROUTE_OK);
		a += (*one.name == 'a') + (*two.name == 'a');
		b += (*one.name == 'b') + (*two.name == 'b');
		one.since = *one.name == 'b' ? now - 30 : now - 10;
		two.since = *two.name == 'b' ? now - 30 : now - 10;
		router_end(r, "m", &one, CALL_WORKED, 0, NULL, now);
		router_end(r, "m", &two, CALL_WORKED, 0, NULL, now);
		now += 200;
	}
	assert_true(b > 0 && a > 2 * b);
	router_free(r);
}

/* --- the cache */

static void candidates_are_good_for_five_seconds(void **state)
{
	struct router *r = router_new(false, NULL);
	char name[IDENT_MAX + 1];

	(void)state;
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW, 1), ROUTE_UNKNOWN);
	assert_false(router_knows(r, "m", NOW));
	fill(r, TWO, NOW);
	assert_true(router_knows(r, "m", NOW + 4999));
	assert_int_equal(call_fresh(r, name, CALL_WORKED, NOW + 4999, 1), ROUTE_OK);
	assert_false(router_knows(r, "m", NOW + 5000));
	assert_int_equal(call_fresh(r, name, CALL_WORKED, NOW + 5000, 1), ROUTE_UNKNOWN);
	fill(r, TWO, NOW + 5000);
	assert_true(router_knows(r, "m", NOW + 5000));
	router_invalidate(r);
	assert_false(router_knows(r, "m", NOW + 5000));
	fill(r, "[]", NOW + 5000);
	assert_int_equal(call_fresh(r, name, CALL_WORKED, NOW + 5000, 1), ROUTE_NONE);
	router_free(r);
}

static void the_cache_holds_a_thousand_models(void **state)
{
	struct router *r = router_new(false, NULL);
	struct json_object *list = candidates(TWO);
	unsigned known = 0;
	char model[16];

	(void)state;
	for (int i = 0; i < 1500; i++) {
		snprintf(model, sizeof model, "m%d", i);
		router_fill(r, model, list, NOW);
	}
	for (int i = 0; i < 1500; i++) {
		snprintf(model, sizeof model, "m%d", i);
		known += router_knows(r, model, NOW);
	}
	assert_int_equal(known, 1000);
	assert_true(router_knows(r, "m1499", NOW));
	assert_false(router_knows(r, "m499", NOW));
	json_object_put(list);
	router_free(r);
}

/* --- full, and nobody there */

static void full_is_not_nobody_there(void **state)
{
	struct router *r = router_new(false, NULL);
	struct route_pick picks[4] = {0}, more = {0};

	(void)state;
	fill(r, TWO, NOW);
	for (int i = 0; i < 4; i++)
		assert_int_equal(router_choose(r, "m", &picks[i], NOW), ROUTE_OK);
	assert_int_equal(router_choose(r, "m", &more, NOW), ROUTE_FULL);
	router_drop(r, &picks[0]);
	assert_int_equal(router_choose(r, "m", &more, NOW), ROUTE_OK);
	router_drop(r, &more);
	for (int i = 1; i < 4; i++)
		router_end(r, "m", &picks[i], CALL_UNREACHABLE, 0, "refused", NOW);
	more = (struct route_pick){0};
	assert_int_equal(router_choose(r, "m", &more, NOW), ROUTE_DOWN);
	assert_true(more.retry_after_ms > 0 && more.retry_after_ms <= 1000);
	fill(r, "[" NODE("a", ",\"draining\":true") "]", NOW);
	assert_int_equal(router_choose(r, "m", &more, NOW), ROUTE_DOWN);
	router_free(r);
}

static void a_look_takes_no_place(void **state)
{
	struct router *r = router_new(true, NULL);
	struct route_pick first = {0}, second = {0};
	long wait = -1;

	(void)state;
	assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_UNKNOWN);
	fill(r, "[]", NOW);
	assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_NONE);
	fill(r, "[" NODE("a", "") "]", NOW);
	for (int i = 0; i < 5; i++) /* of two places */
		assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_OK);
	assert_int_equal(router_choose(r, "m", &first, NOW), ROUTE_OK);
	assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_OK);
	assert_int_equal(router_choose(r, "m", &second, NOW), ROUTE_OK);
	assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_FULL);
	assert_true(wait > 0);
	router_end(r, "m", &first, CALL_UNREACHABLE, 0, "gone", NOW);
	assert_int_equal(router_look(r, "m", &wait, NOW), ROUTE_DOWN);
	assert_true(wait > 0);
	router_drop(r, &second);
	router_free(r);
}

static void a_busy_node_is_given_its_time(void **state)
{
	struct router *r = router_new(false, NULL);
	struct route_pick pick = {0};

	(void)state;
	fill(r, "[" NODE("a", "") "]", NOW);
	assert_int_equal(router_choose(r, "m", &pick, NOW), ROUTE_OK);
	router_end(r, "m", &pick, CALL_BUSY, 3000, "429", NOW);
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW + 2999, 1), ROUTE_FULL);
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW + 3000, 1), ROUTE_OK);
	router_free(r);
}

/* --- ejection and return */

/* Five calls that go to the node, whatever the choice would rather, fail there. */
static void fail_until_ejected(struct router *r, const char *name, int64_t now)
{
	for (int failed = 0; failed < 5; failed++) {
		struct route_pick picks[8] = {0};
		int n = 0;

		do
			assert_int_equal(router_choose(r, "m", &picks[n], now), ROUTE_OK);
		while (strcmp(picks[n].name, name) != 0 && ++n < 8);
		router_end(r, "m", &picks[n], CALL_FAULTY, 0, "500", now);
		while (n > 0)
			router_drop(r, &picks[--n]);
	}
}

/* Whether as many calls as there can be find their way to the node. */
static bool is_called(struct router *r, const char *name, int64_t now)
{
	struct route_pick picks[8] = {0};
	bool found = false;
	int n = 0;

	while (n < 8 && router_choose(r, "m", &picks[n], now) == ROUTE_OK)
		found |= strcmp(picks[n++].name, name) == 0;
	while (n > 0)
		router_drop(r, &picks[--n]);
	return found;
}

static void five_failures_eject_for_thirty_seconds_then_sixty(void **state)
{
	struct router *r = router_new(false, NULL);
	int64_t now = NOW;
	char url[500];
	bool http2;

	(void)state;
	for (int times = 1; times <= 2; times++) {
		struct router_node *n;

		fill(r, TWO, now);
		fail_until_ejected(r, "b", now);
		assert_false(is_called(r, "b", now));
		assert_null(router_probe(r, url, sizeof url, &http2, now + times * 30000 - 1));
		assert_int_equal(router_probe_at(r), now + times * 30000);
		now += times * 30000;
		n = router_probe(r, url, sizeof url, &http2, now);
		assert_non_null(n);
		assert_string_equal(url, "http://b/healthz");
		assert_null(router_probe(r, url, sizeof url, &http2, now)); /* one at a time */
		fill(r, TWO, now);
		assert_false(is_called(r, "b", now)); /* not by calls */
		router_probed(r, n, true, NULL, now);
		assert_true(is_called(r, "b", now));
	}
	router_free(r);
}

static void a_probe_that_fails_waits_longer(void **state)
{
	struct router *r = router_new(false, NULL);
	struct router_node *n;
	char url[500];
	bool http2;

	(void)state;
	fill(r, "[" NODE("a", "") "]", NOW);
	assert_int_equal(call_fresh(r, NULL, CALL_UNREACHABLE, NOW, 0), ROUTE_OK);
	n = router_probe(r, url, sizeof url, &http2, NOW + 500);
	assert_non_null(n);
	router_probed(r, n, false, "refused", NOW + 500);
	assert_null(router_probe(r, url, sizeof url, &http2, NOW + 900));
	n = router_probe(r, url, sizeof url, &http2, NOW + 1501);
	assert_non_null(n);
	router_probed(r, n, true, NULL, NOW + 1501);
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW + 1501, 1), ROUTE_OK);
	router_free(r);
}

static void the_last_node_is_never_ejected(void **state)
{
	struct router *r = router_new(false, NULL), *patient = router_new(true, NULL);

	(void)state;
	fill(r, TWO, NOW);
	fail_until_ejected(r, "b", NOW);
	for (int i = 0; i < 20; i++)
		assert_int_equal(call_fresh(r, NULL, CALL_FAULTY, NOW, 0), ROUTE_OK);
	/* For jobs, which can wait, it gets pauses. */
	fill(patient, "[" NODE("a", "") "]", NOW);
	for (int i = 0; i < 5; i++)
		assert_int_equal(call_fresh(patient, NULL, CALL_FAULTY, NOW, 0), ROUTE_OK);
	assert_int_equal(call_fresh(patient, NULL, CALL_WORKED, NOW, 0), ROUTE_FULL);
	assert_int_equal(call_fresh(patient, NULL, CALL_WORKED, NOW + 15000, 0), ROUTE_UNKNOWN);
	fill(patient, "[" NODE("a", "") "]", NOW + 15000);
	assert_int_equal(call_fresh(patient, NULL, CALL_WORKED, NOW + 15000, 0), ROUTE_OK);
	router_free(r);
	router_free(patient);
}

static void what_others_found_counts(void **state)
{
	struct router *r = router_new(false, NULL);

	(void)state;
	fill(r, "[" NODE("a", "") "," NODE("b", ",\"out_ms\":20000") "]", NOW);
	assert_false(is_called(r, "b", NOW));
	/* They say that it is back. */
	fill(r, TWO, NOW + 1000);
	assert_true(is_called(r, "b", NOW + 1000));
	/* Not if nobody would be left. */
	fill(r, "[" NODE("a", ",\"out_ms\":20000") "," NODE("b", ",\"out_ms\":20000") "]", NOW + 2000);
	assert_true(is_called(r, "a", NOW + 2000) != is_called(r, "b", NOW + 2000));
	router_free(r);
}

static void another_address_is_another_node(void **state)
{
	struct router *r = router_new(false, NULL);

	(void)state;
	fill(r, "[" NODE("a", "") "]", NOW);
	assert_int_equal(call_fresh(r, NULL, CALL_UNREACHABLE, NOW, 0), ROUTE_OK);
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW, 0), ROUTE_DOWN);
	fill(r, "[{\"name\":\"a\",\"base_url\":\"http://elsewhere\",\"max_inflight\":1,\"weight\":1}]", NOW);
	assert_int_equal(call_fresh(r, NULL, CALL_WORKED, NOW, 0), ROUTE_OK);
	router_free(r);
}

/* --- repetition */

static void a_repetition_goes_elsewhere(void **state)
{
	struct router *r = router_new(false, NULL);

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct route_pick pick = {0};
		char first[IDENT_MAX + 1];

		fill(r, TWO, NOW + i * HOUR);
		assert_int_equal(call(r, &pick, CALL_BUSY, NOW + i * HOUR, 0), ROUTE_OK);
		strcpy(first, pick.name);
		assert_int_equal(call(r, &pick, CALL_WORKED, NOW + i * HOUR, 0), ROUTE_OK);
		assert_string_not_equal(first, pick.name);
		assert_int_equal(call(r, &pick, CALL_WORKED, NOW + i * HOUR, 0), ROUTE_DOWN);
	}
	router_free(r);
}

static void what_is_safe_to_repeat(void **state)
{
	(void)state;
	for (int repeatable = 0; repeatable < 2; repeatable++) {
		assert_true(retry_is_safe(CALL_UNREACHABLE, repeatable));
		assert_true(retry_is_safe(CALL_BUSY, repeatable));
		assert_int_equal(retry_is_safe(CALL_FAULTY, repeatable), repeatable);
		assert_false(retry_is_safe(CALL_TIMEOUT, repeatable));
		assert_false(retry_is_safe(CALL_WORKED, repeatable));
	}
}

static void repetitions_are_a_tenth_of_the_calls(void **state)
{
	struct retry_budget b = {0};
	unsigned spent = 0;

	(void)state;
	while (retry_spend(&b))
		spent++;
	assert_int_equal(spent, 20);
	for (int i = 0; i < 1000; i++) {
		retry_earn(&b);
		spent += retry_spend(&b);
	}
	assert_in_range(spent, 20 + 98, 20 + 100);
	for (int i = 0; i < 100000; i++)
		retry_earn(&b);
	for (spent = 0; retry_spend(&b);)
		spent++;
	assert_int_equal(spent, 100);
}

/* --- reports */

static void others_are_told_at_once_and_only_once(void **state)
{
	struct router *r = router_new(false, NULL);
	struct json_object *news, *o, *out;

	(void)state;
	fill(r, TWO, NOW);
	assert_null(router_news(r, false, NOW));
	fail_until_ejected(r, "b", NOW);
	news = router_news(r, false, NOW);
	assert_int_equal(json_object_array_length(news), 1);
	o = json_object_array_get_idx(news, 0);
	json_object_object_get_ex(o, "out_ms", &out);
	assert_int_equal(json_object_get_int64(out), 30000);
	json_object_put(news);
	assert_null(router_news(r, false, NOW));
	news = router_news(r, true, NOW);
	assert_int_equal(json_object_array_length(news), 2);
	json_object_put(news);
	router_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_cheaper_of_two),
	    cmocka_unit_test(cost_is_load_times_latency_by_weight),
	    cmocka_unit_test(a_node_that_came_back_ramps_up),
	    cmocka_unit_test(samples_are_smoothed),
	    cmocka_unit_test(the_slow_node_gets_a_smaller_share),
	    cmocka_unit_test(candidates_are_good_for_five_seconds),
	    cmocka_unit_test(the_cache_holds_a_thousand_models),
	    cmocka_unit_test(full_is_not_nobody_there),
	    cmocka_unit_test(a_look_takes_no_place),
	    cmocka_unit_test(a_busy_node_is_given_its_time),
	    cmocka_unit_test(five_failures_eject_for_thirty_seconds_then_sixty),
	    cmocka_unit_test(a_probe_that_fails_waits_longer),
	    cmocka_unit_test(the_last_node_is_never_ejected),
	    cmocka_unit_test(what_others_found_counts),
	    cmocka_unit_test(another_address_is_another_node),
	    cmocka_unit_test(a_repetition_goes_elsewhere),
	    cmocka_unit_test(what_is_safe_to_repeat),
	    cmocka_unit_test(repetitions_are_a_tenth_of_the_calls),
	    cmocka_unit_test(others_are_told_at_once_and_only_once),
	};

	return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
