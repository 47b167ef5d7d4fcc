/* SPDX-License-Identifier: Apache-2.0
 * The body of a model call: what is found in it, what is refused, and that nothing but the model's name changes. json-c
 * is the judge of what is JSON. */
#include "fcgi/call_body.h"
#include "tests/unit/unit.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_MAX = 1 << 20, MUTATIONS = 200000 };

/* A heap copy without room to spare, so that the sanitizer sees a read past the end; a NUL ends it, as the contract of
 * a buffer has it. */
static int read_copy(const char *text, size_t len, struct call_body *body, char **ret, struct err *e)
{
	*ret = malloc(len + 1);
	assert_non_null(*ret);
	memcpy(*ret, text, len);
	(*ret)[len] = '\0';
	return call_body_read(*ret, len, body, e);
}

static void accept_body(const char *text, const char *model, const char *rewritten)
{
	struct err e = {""};
	struct call_body body;
	struct buf out;
	char *copy;

	if (read_copy(text, strlen(text), &body, &copy, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	assert_true(body.has_model == (model != NULL));
	if (model != NULL)
		assert_string_equal(body.model, model);
	buf_init(&out, OUT_MAX);
	assert_int_equal(call_body_write(&body, "there/m:1", &out), 0);
	assert_string_equal(out.data, rewritten);
	buf_reset(&out);
	assert_int_equal(call_body_write(&body, NULL, &out), 0);
	assert_string_equal(out.data, text);
	buf_free(&out);
	free(copy);
}

static void refuse_bytes(const char *text, size_t len, const char *words)
{
	struct err e = {""};
	struct call_body body;
	char *copy;

	if (read_copy(text, len, &body, &copy, &e) == 0)
		fail_msg("accepted: %s", text);
	free(copy);
	assert_contains(e.msg, words);
}

static void refuse(const char *text, const char *words)
{
	refuse_bytes(text, strlen(text), words);
}

static void the_name_is_replaced_and_nothing_else(void **state)
{
	(void)state;
	accept_body("{\"model\":\"m\",\"n\":1.50}", "m", "{\"model\":\"there/m:1\",\"n\":1.50}");
	accept_body(" { \"n\" : 123456789012345678901234567890 , \"model\" :  \"m\" } ", "m",
	    " { \"n\" : 123456789012345678901234567890 , \"model\" :  \"there/m:1\" } ");
	accept_body("{\"a\":{\"model\":\"inner\"},\"model\":\"m\",\"b\":[{\"model\":1}]}", "m",
	    "{\"a\":{\"model\":\"inner\"},\"model\":\"there/m:1\",\"b\":[{\"model\":1}]}");
	accept_body("{\"mod\\u0065l\":\"a\\/b\"}", "a/b", "{\"mod\\u0065l\":\"there/m:1\"}");
}

static void a_name_is_put_in(void **state)
{
	(void)state;
	accept_body("{}", NULL, "{\"model\":\"there/m:1\"}");
	accept_body(" {\n } ", NULL, " {\"model\":\"there/m:1\"\n } ");
	accept_body("{\"x\":[]}", NULL, "{\"model\":\"there/m:1\",\"x\":[]}");
}

static void a_name_that_needs_quoting(void **state)
{
	struct call_body body;
	struct buf out;
	struct err e;

	(void)state;
	assert_int_equal(call_body_read("{\"model\":\"m\"}", 13, &body, &e), 0);
	buf_init(&out, OUT_MAX);
	assert_int_equal(call_body_write(&body, "a\"b\\c", &out), 0);
	assert_string_equal(out.data, "{\"model\":\"a\\\"b\\\\c\"}");
	buf_free(&out);
	buf_init(&out, 10);
	assert_int_equal(call_body_write(&body, "m", &out), -1);
	buf_free(&out);
}

static void names_that_no_model_has(void **state)
{
	char text[300] = "{\"model\":\"";
	struct call_body body;
	struct err e;

	(void)state;
	memset(text + strlen(text), 'm', 200);
	strcat(text, "\"}");
	assert_int_equal(call_body_read(text, strlen(text), &body, &e), 0);
	assert_int_equal(strlen(body.model), CALL_BODY_MODEL_MAX + 1);
	accept_body("{\"model\":\"\xe5\xb1\xb1\\u5c71\\n\"}", "?????", "{\"model\":\"there/m:1\"}");
	accept_body("{\"model\":\"\"}", "", "{\"model\":\"there/m:1\"}");
}

static void what_is_asked(void **state)
{
	struct call_body body;
	struct err e;

	(void)state;
	assert_int_equal(call_body_read("{\"messages\":[],\"x\":{\"prompt\":1}}", 32, &body, &e), 0);
	assert_true(body.has_messages && !body.has_prompt && !body.has_input);
	assert_int_equal(call_body_read("{\"input\":\"\",\"prompt\":null}", 26, &body, &e), 0);
	assert_true(!body.has_messages && body.has_prompt && body.has_input);
}

static void what_is_refused(void **state)
{
	char deep[200];

	(void)state;
	refuse("", "empty");
	refuse(" \n", "empty");
	refuse("[]", "object is expected");
	refuse("\"x\"", "object is expected");
	refuse("{\"model\":1}", "must be a string");
	refuse("{\"model\":\"a\",\"model\":\"b\"}", "twice");
	refuse("{} {}", "something after");
	refuse("{\"a\":\"\xff\"}", "UTF-8");
	refuse("{\"a\":01}", "near byte 6");
	refuse("{\"a\":1,}", "near byte 7");
	refuse("{'a':1}", "near byte 1");
	refuse("{\"a\":\"line\nbreak\"}", "near byte");
	refuse("{\"a\":nul}", "near byte");
	refuse("{\"a\":\"\\x\"}", "near byte");
	refuse("{\"a\":\"\\u12g4\"}", "near byte");
	refuse("{\"a\":- 1}", "near byte");
	refuse("{\"a\":1.}", "near byte");
	refuse_bytes("{\"a\":\"b\0c\"}", 11, "near byte");
	memset(deep, '[', sizeof deep - 1);
	memcpy(deep, "{\"a\":", 5);
	deep[sizeof deep - 1] = '\0';
	refuse(deep, "deeply");
}

static void what_ends_in_the_middle(void **state)
{
	static const char text[] = "{\"model\":\"m\",\"n\":[1.5e3,{\"x\":null,\"y\":true}],\"s\":\"\\u00e9\"}";
	struct call_body body;
	struct err e;

	(void)state;
	assert_int_equal(call_body_read(text, strlen(text), &body, &e), 0);
	for (size_t len = 1; len < strlen(text); len++)
		refuse_bytes(text, len, "");
	refuse("{\"a\":\"b", "ends in the middle");
	refuse("{", "ends in the middle");
}

static struct json_object *judge(const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(2 * CALL_BODY_DEPTH_MAX);
	struct json_object *o;

	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tok, text, (int)len);
	json_tokener_free(tok);
	return o;
}

/* Whatever is taken is JSON in json-c's eyes too, and stays it, with the model's name in it. */
static void mutations(void **state)
{
	static const char seed[] =
	    "{\"model\":\"a/b\",\"n\":[1,-0.5e+3,{\"x\":null}],\"messages\":[{\"c\":\"\\u00e9\\\\\"}],\"t\":true}";
	static const char bits[] = "{}[]\",:\\u0e+-.1atfn \t";
	struct json_object *o, *name;
	struct call_body body;
	unsigned accepted = 0;
	struct buf out;
	struct err e;

	(void)state;
	srand(7);
	buf_init(&out, OUT_MAX);
	for (int i = 0; i < MUTATIONS; i++) {
		char text[sizeof seed];

		memcpy(text, seed, sizeof seed);
		for (int n = 1 + rand() % 3; n > 0; n--)
			text[(size_t)rand() % (sizeof seed - 1)] = bits[(size_t)rand() % (sizeof bits - 1)];
		if (call_body_read(text, strlen(text), &body, &e) < 0)
			continue;
		accepted++;
		buf_reset(&out);
		assert_int_equal(call_body_write(&body, "other", &out), 0);
		o = judge(out.data, out.len);
		if (o == NULL || !json_object_object_get_ex(o, "model", &name) ||
		    strcmp(json_object_get_string(name), "other") != 0)
			fail_msg("%s became %s", text, out.data);
		json_object_put(o);
	}
	buf_free(&out);
	assert_true(accepted > MUTATIONS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_name_is_replaced_and_nothing_else),
	    cmocka_unit_test(a_name_is_put_in),
	    cmocka_unit_test(a_name_that_needs_quoting),
	    cmocka_unit_test(names_that_no_model_has),
	    cmocka_unit_test(what_is_asked),
	    cmocka_unit_test(what_is_refused),
	    cmocka_unit_test(what_ends_in_the_middle),
	    cmocka_unit_test(mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
