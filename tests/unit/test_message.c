/* SPDX-License-Identifier: Apache-2.0
 * What notifications say, whom they are about, what a language model's answer is worth, and the notification rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/ident.h"
#include "dispatcher/llm.h"
#include "dispatcher/mail.h"
#include "dispatcher/message.h"
#include "policy/notify.h"

static const char event[] =
    "{\"kind\":\"event\",\"language\":\"ja\",\"channel\":{\"url\":\"http://"
    "secret\"},\"camera_id\":\"c1\",\"display_name\":\"玄関\","
    "\"primary_event\":\"human\",\"severity\":2,\"captured_at\":\"2026-01-02T03:04:05Z\",\"count\":3,\"archive_path\":"
    "\"x\","
    "\"tags\":[{\"tag_id\":\"behavior.loitering\",\"label_ja\":\"うろつき\"},{\"tag_id\":\"odd\",\"label_ja\":null}]}";

static void an_event_says_where_what_and_when(void **state)
{
	struct json_object *facts = json_tokener_parse(event);
	struct message m;

	(void)state;
	message_make(&m, facts, NULL);
	assert_string_equal(m.title, "[警告] 玄関: 人物");
	assert_string_equal(m.text.data, "時刻: 2026-01-02T03:04:05Z\n検知: うろつき, odd\n枚数: 3\n");
	message_free(&m);
	json_object_object_add(facts, "language", json_object_new_string("en"));
	message_make(&m, facts, NULL);
	assert_string_equal(m.title, "[Warning] 玄関: person");
	assert_non_null(strstr(m.text.data, "Seen: behavior.loitering, odd\n"));
	message_free(&m);
	json_object_put(facts);
}

static void a_webhook_has_the_facts_but_no_internals(void **state)
{
	struct json_object *facts = json_tokener_parse(event), *body;
	struct message m;

	(void)state;
	message_make(&m, facts, "http://x/y");
	body = message_webhook(&m, facts);
	assert_false(json_object_object_get_ex(body, "channel", NULL));
	assert_false(json_object_object_get_ex(body, "archive_path", NULL));
	assert_string_equal(json_object_get_string(json_object_object_get(body, "image_url")), "http://x/y");
	assert_string_equal(json_object_get_string(json_object_object_get(body, "primary_event")), "human");
	json_object_put(body);
	message_free(&m);
	json_object_put(facts);
}

static void a_summary_s_items_have_no_internals_either(void **state)
{
	struct json_object *facts = json_tokener_parse("{\"kind\":\"summary\",\"items\":[{\"camera_id\":\"c1\","
						       "\"archive_path\":\"case/1/x.jpg\"},7]}"),
			   *body, *item;
	struct message m;

	(void)state;
	message_make(&m, facts, NULL);
	body = message_webhook(&m, facts);
	item = json_object_array_get_idx(json_object_object_get(body, "items"), 0);
	assert_string_equal(json_object_get_string(json_object_object_get(item, "camera_id")), "c1");
	assert_false(json_object_object_get_ex(item, "archive_path", NULL));
	json_object_put(body);
	message_free(&m);
	json_object_put(facts);
}

static void names_cannot_break_out_of_slack_or_html(void **state)
{
	struct json_object *facts =
	    json_tokener_parse("{\"kind\":\"event\",\"display_name\":\"<script>&\\\"\",\"location_label\":\"<!channel> "
			       "<b>\",\"primary_event\":\"x<y\"}");
	struct json_object *slack;
	struct message m;
	char *html;

	(void)state;
	message_make(&m, facts, "http://x/?a=1&b=\"2");
	slack = message_slack(&m);
	assert_null(strstr(json_object_to_json_string(json_object_object_get(slack, "text")), "<script>"));
	assert_null(
	    strstr(json_object_to_json_string(json_object_array_get_idx(json_object_object_get(slack, "blocks"), 1)),
		"<!channel>"));
	html = message_html(&m, true);
	assert_null(strstr(html, "<script>"));
	assert_null(strstr(html, "<b>"));
	assert_non_null(strstr(html, "href=\"http://x/?a=1&amp;b=&quot;2\""));
	assert_non_null(strstr(html, "cid:frame"));
	free(html);
	json_object_put(slack);
	message_free(&m);
	json_object_put(facts);
}

static void a_summary_lists_what_was_late(void **state)
{
	struct json_object *facts = json_tokener_parse(
	    "{\"kind\":\"summary\",\"severity\":3,\"total\":2,\"items\":["
	    "{\"display_name\":\"a\",\"primary_event\":\"hazard\",\"severity\":3,\"captured_at\":\"T1\",\"tags\":[{"
	    "\"tag_id\":\"hazard.fire\"}]},"
	    "{\"display_name\":\"b\",\"primary_event\":\"human\",\"severity\":2,\"captured_at\":\"T2\"}]}");
	struct message m;

	(void)state;
	message_make(&m, facts, NULL);
	assert_string_equal(m.title, "[緊急] 遅れて届いた通知 2 件のまとめ");
	assert_string_equal(m.text.data, "T1  [緊急] a: 危険 (hazard.fire)\nT2  [警告] b: 人物\n");
	message_free(&m);
	json_object_put(facts);
}

static void odd_facts_do_no_harm(void **state)
{
	static const char *const odd[] = {"{}", "{\"kind\":\"event\",\"tags\":5,\"severity\":\"x\"}",
	    "{\"kind\":\"summary\",\"items\":{}}", "{\"kind\":\"daily\",\"items\":[1,null,[]]}", "{\"kind\":7}"};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct json_object *facts = json_tokener_parse(odd[i]), *body;
		struct message m;

		message_make(&m, facts, NULL);
		body = message_slack(&m);
		json_object_put(body);
		message_free(&m);
		json_object_put(facts);
	}
}

static void a_subject_is_split_between_characters(void **state)
{
	char *text = mail_encode_subject("ああああああああああああああああああああ");

	(void)state;
	assert_non_null(strstr(text, "?=\r\n =?UTF-8?B?"));
	for (char *line = strtok(text, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
		assert_true(strlen(line) <= 76);
	free(text);
	text = mail_encode_subject("abc");
	assert_string_equal(text, "=?UTF-8?B?YWJj?=");
	free(text);
}

static const char *outcome_of(const char *content_json, char *reason, size_t size)
{
	static char outcome[32];
	char body[4096];
	struct json_object *answer, *why;

	snprintf(body, sizeof body, "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":%s}}]}", content_json);
	answer = llm_answer(body, strlen(body));
	snprintf(outcome, sizeof outcome, "%s", json_object_get_string(json_object_object_get(answer, "outcome")));
	why = json_object_object_get(answer, "reason");
	snprintf(reason, size, "%s", why != NULL ? json_object_get_string(why) : "");
	json_object_put(answer);
	return outcome;
}

#define REVIEW "{\\\"summary\\\":\\\"犬\\\",\\\"category\\\":\\\"animal\\\",\\\"severity\\\":1,\\\"confidence\\\":0.7}"

static void a_model_s_answer_is_judged(void **state)
{
	static const struct {
		const char *content, *outcome, *reason;
	} rows[] = {
	    {"\"" REVIEW "\"", "ok", ""},
	    {"\" \\n" REVIEW "\\n\"", "ok", ""},
	    {"\"Sure! " REVIEW " Hope it helps.\"", "ok", "with prose around the JSON"},
	    {"\"```json\\n" REVIEW "\\n```\"", "ok", "with prose around the JSON"},
	    {"\"\"", "nonsense", "the answer is empty"},
	    {"\"  \\n \"", "nonsense", "the answer is empty"},
	    {"null", "nonsense", "the answer is empty"},
	    {"\"A dog.\"", "nonsense", "the answer is not the JSON that was asked for"},
	    {"\"{}\"", "nonsense", "the answer is not the JSON that was asked for"},
	    {"\"{\\\"summary\\\":5}\"", "nonsense", "the answer is not the JSON that was asked for"},
	    {"\"{\\\"summary\\\":\\\"x\\\",\\\"category\\\":\\\"animal\\\",\\\"severity\\\":9,\\\"confidence\\\":0.7}"
	     "\"",
		"nonsense", "the answer is not the JSON that was asked for"},
	    {"\"} {\"", "nonsense", "the answer is not the JSON that was asked for"},
	    {"\"\",\"refusal\":\"I cannot.\"", "refused", "the model refused"},
	};
	char reason[200];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_string_equal(outcome_of(rows[i].content, reason, sizeof reason), rows[i].outcome);
		assert_string_equal(reason, rows[i].reason);
	}
}

/* What the database would refuse must not keep the rest of an answer from being stored. */
static void of_an_answer_only_what_was_asked_for_is_kept(void **state)
{
	static const char body[] =
	    "{\"choices\":[{\"message\":{\"content\":\"{\\\"summary\\\":\\\"犬\\\",\\\"category\\\":\\\"animal\\\","
	    "\\\"severity\\\":1,\\\"confidence\\\":0.5,\\\"x\\\":\\\"\\\\u0000\\\",\\\"y\\\":1e999}\"}}]}";
	struct json_object *answer = llm_answer(body, strlen(body));

	(void)state;
	assert_string_equal(json_object_get_string(json_object_object_get(answer, "outcome")), "ok");
	assert_string_equal(
	    json_object_to_json_string_ext(json_object_object_get(answer, "answer"), JSON_C_TO_STRING_PLAIN),
	    "{\"summary\":\"犬\",\"category\":\"animal\",\"severity\":1,\"confidence\":0.5}");
	json_object_put(answer);
}

static void a_long_answer_is_cut_between_characters(void **state)
{
	enum { CHARACTERS = 4000 };
	char *body = malloc(CHARACTERS * 3 + 100);
	struct json_object *answer;
	const char *said;
	size_t n;

	(void)state;
	n = (size_t)sprintf(body, "{\"choices\":[{\"message\":{\"content\":\"a");
	for (int i = 0; i < CHARACTERS; i++)
		n += (size_t)sprintf(body + n, "犬");
	sprintf(body + n, "\"}}]}");
	answer = llm_answer(body, strlen(body));
	said = json_object_get_string(json_object_object_get(answer, "answer_text"));
	assert_true(strlen(said) > 7000);
	assert_true(ident_is_utf8(said, strlen(said)));
	json_object_put(answer);
	free(body);
}

static void an_answer_that_is_no_completion_is_nonsense(void **state)
{
	static const char *const bodies[] = {
	    "", "[]", "hello", "{\"choices\":[]}", "{\"choices\":[{}]}", "{\"choices\":[{\"message\":5}]}"};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct json_object *answer = llm_answer(bodies[i], strlen(bodies[i]));

		assert_string_equal(json_object_get_string(json_object_object_get(answer, "outcome")), "nonsense");
		json_object_put(answer);
	}
}

static void who_is_told_of_what(void **state)
{
	const char *fire[] = {"human.presence", "hazard.fire"}, *offline[] = {"camera.offline"},
		   *plain[] = {"hazardous"};

	(void)state;
	assert_string_equal(notify_rule(fire, 2, 0, false), "hazard");
	assert_string_equal(notify_rule(offline, 1, 3, true), "camera_offline");
	assert_null(notify_rule(plain, 1, 1, false));
	assert_string_equal(notify_rule(plain, 1, 2, false), "severity");
	assert_string_equal(notify_rule(NULL, 0, 0, true), "unknown");
	assert_null(notify_rule(NULL, 0, 1, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_event_says_where_what_and_when),
	    cmocka_unit_test(a_webhook_has_the_facts_but_no_internals),
	    cmocka_unit_test(a_summary_s_items_have_no_internals_either),
	    cmocka_unit_test(names_cannot_break_out_of_slack_or_html),
	    cmocka_unit_test(a_summary_lists_what_was_late),
	    cmocka_unit_test(odd_facts_do_no_harm),
	    cmocka_unit_test(a_subject_is_split_between_characters),
	    cmocka_unit_test(a_model_s_answer_is_judged),
	    cmocka_unit_test(of_an_answer_only_what_was_asked_for_is_kept),
	    cmocka_unit_test(a_long_answer_is_cut_between_characters),
	    cmocka_unit_test(an_answer_that_is_no_completion_is_nonsense),
	    cmocka_unit_test(who_is_told_of_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
