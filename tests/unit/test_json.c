/* SPDX-License-Identifier: Apache-2.0
 * Strict JSON from outside. */
#include "common/json.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json_object *parse(const char *text)
{
	struct err e = {""};
	struct json_object *obj = json_parse_object(text, strlen(text), &e);

	if (obj == NULL)
		fail_msg("%s: %s", text, e.msg);
	return obj;
}

/* A heap copy without room to spare, so that the sanitizer sees a read past the end. The contract asks for a NUL. */
static void refuse_bytes(const char *text, size_t len, const char *words)
{
	struct err e = {""};
	char *copy = malloc(len + 1);
	struct json_object *obj;

	assert_non_null(copy);
	memcpy(copy, text, len);
	copy[len] = '\0';
	obj = json_parse_object(copy, len, &e);
	free(copy);
	if (obj != NULL) {
		json_object_put(obj);
		fail_msg("accepted: %s", text);
	}
	assert_true(e.msg[0] != '\0');
	if (words != NULL)
		assert_contains(e.msg, words);
}

static void refuse(const char *text, const char *words)
{
	refuse_bytes(text, strlen(text), words);
}

static void objects(void **state)
{
	(void)state;
	json_object_put(parse("{}"));
	json_object_put(parse(" \t\r\n{ \"a\" : [1, 2, {}] } \t\r\n"));
	json_object_put(parse("{\"a\":\"\xe5\xb1\xb1\xf0\x9f\x93\xb7\"}"));
	json_object_put(parse("{\"a\":\"\\u5c71\\ud83d\\udcf7\"}"));
}

static void not_objects(void **state)
{
	(void)state;
	refuse("", "empty");
	refuse("[]", "JSON object is expected");
	refuse("[{}]", "JSON object is expected");
	refuse("\"text\"", "JSON object is expected");
	refuse("1 ", NULL);
	refuse("null", NULL);
	refuse("true", NULL);
	refuse("   ", NULL);
}

static void incomplete(void **state)
{
	static const char text[] = "{\"camera_id\":\"cam\",\"n\":[1,{\"x\":null}]}";

	(void)state;
	for (size_t len = 1; len < strlen(text); len++)
		refuse_bytes(text, len, NULL);
	refuse("{", "ends in the middle");
	refuse("{\"a\":\"b", "ends in the middle");
}

/* json-c also takes 'single' quotes around names, "1." and bare control characters in strings: harmless. */
static void malformed(void **state)
{
	static const char *const bad[] = {"{a:1}", "{\"a\":1,}", "{\"a\" 1}", "{\"a\":}", "{,}", "{\"a\":01}",
	    "{\"a\":+1}", "{\"a\":.5}", "{\"a\":tru}", "{\"a\":TRUE}", "{\"a\":Null}", "{\"a\":'x'}",
	    "{\"a\":\"\\x41\"}", "{\"a\":\"\\u12g4\"}", "{/* c */}", "{\"a\":[1,]}", "{\"a\":[1 2]}", "}", "{]",
	    "{\"a\":--1}", "{1:2}", "{\"a\":1e}", "{\"a\":-}", "{\"a\":1-2}", "{\"a\":1.2.3}"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuse(bad[i], NULL);
}

static void trailing_garbage(void **state)
{
	(void)state;
	refuse("{} x", NULL);
	refuse("{}{}", NULL);
	refuse("{}\n{}", NULL);
	refuse("{},", NULL);
	refuse("{}]", NULL);
	refuse("{\"a\":1}}", NULL);
	refuse_bytes("{}\0", 3, NULL);
	refuse_bytes("{}\0{}", 5, NULL);
	refuse_bytes("{}  \0 ", 6, NULL);
}

/* {"a":{"a":...1...}} of so many objects. */
static int parses_nested(int depth)
{
	struct err e;
	struct json_object *obj;
	char *text = calloc((size_t)depth + 1, 8), *p = text;

	assert_non_null(text);
	for (int i = 0; i < depth; i++)
		p = stpcpy(p, "{\"a\":");
	*p++ = '1';
	for (int i = 0; i < depth; i++)
		*p++ = '}';
	obj = json_parse_object(text, strlen(text), &e);
	free(text);
	json_object_put(obj);
	return obj != NULL;
}

static void depth(void **state)
{
	(void)state;
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		assert_true(parses_nested(i));
	assert_false(parses_nested(JSON_DEPTH_MAX + 1));
	assert_false(parses_nested(100000));
}

static void broken_utf8(void **state)
{
	static const char *const bad[] = {
	    "\xff",
	    "\x80",
	    "\xc3",
	    "\xc3(",
	    "\xe5\xb1",
	    "\xf0\x9f\x93",
	    "\xfe",
	    "\xf8\x88\x80\x80\x80",
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "{\"a\":\"x%s\"}", bad[i]);
		refuse(text, NULL);
		snprintf(text, sizeof text, "{\"%s\":1}", bad[i]);
		refuse(text, NULL);
	}
}

/* Well-formed byte by byte, yet not UTF-8: PostgreSQL refuses these, so must the parser. */
static void overlong_utf8_and_surrogates(void **state)
{
	static const char *const bad[] = {
	    "\xc0\x80",
	    "\xc0\xaf",
	    "\xe0\x80\xaf",
	    "\xf0\x80\x80\xaf",
	    "\xed\xa0\x80",
	    "\xf4\x90\x80\x80",
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "{\"a\":\"x%s\"}", bad[i]);
		refuse(text, NULL);
	}
}

static void strings(void **state)
{
	struct json_object *obj =
	    parse("{\"s\":\"text\",\"empty\":\"\",\"z\":null,\"n\":1,\"b\":true,\"l\":[],\"o\":{}}");
	const char *s = "before";
	struct err e = {""};

	(void)state;
	assert_int_equal(json_get_string(obj, "s", &s, &e), 0);
	assert_string_equal(s, "text");
	assert_int_equal(json_get_string(obj, "empty", &s, &e), 0);
	assert_string_equal(s, "");
	s = "before";
	assert_int_equal(json_get_string(obj, "absent", &s, &e), 0);
	assert_int_equal(json_get_string(obj, "z", &s, &e), 0);
	assert_int_equal(json_get_string(obj, "n", &s, &e), -1);
	assert_contains(e.msg, "\"n\" must be a string, not a int");
	assert_int_equal(json_get_string(obj, "b", &s, &e), -1);
	assert_int_equal(json_get_string(obj, "l", &s, &e), -1);
	assert_int_equal(json_get_string(obj, "o", &s, NULL), -1);
	assert_string_equal(s, "before");
	json_object_put(obj);
}

static void nul_in_a_string(void **state)
{
	struct json_object *obj = parse("{\"s\":\"cam\\u0000x\",\"t\":\"\\u0000\"}");
	const char *s = "before";
	struct err e = {""};

	(void)state;
	assert_int_equal(json_get_string(obj, "s", &s, &e), -1);
	assert_contains(e.msg, "NUL");
	assert_int_equal(json_get_string(obj, "t", &s, &e), -1);
	assert_string_equal(s, "before");
	json_object_put(obj);
	refuse_bytes("{\"a\":\"b\0c\"}", 11, NULL);
}

static void string_length(void **state)
{
	char text[JSON_STRING_MAX + 16] = "{\"s\":\"";
	size_t start = strlen(text);
	struct json_object *obj;
	const char *s = NULL;
	struct err e = {""};

	(void)state;
	memset(text + start, 'x', JSON_STRING_MAX);
	strcpy(text + start + JSON_STRING_MAX, "\"}");
	obj = parse(text);
	assert_int_equal(json_get_string(obj, "s", &s, &e), 0);
	assert_int_equal(strlen(s), JSON_STRING_MAX);
	json_object_put(obj);
	strcpy(text + start + JSON_STRING_MAX, "x\"}");
	obj = parse(text);
	assert_int_equal(json_get_string(obj, "s", &s, &e), -1);
	assert_contains(e.msg, "\"s\" is longer than 4096 bytes");
	json_object_put(obj);
}

static void booleans(void **state)
{
	struct json_object *obj = parse("{\"t\":true,\"f\":false,\"z\":null,\"n\":1,\"s\":\"true\"}");
	bool b = false;
	struct err e = {""};

	(void)state;
	assert_int_equal(json_get_bool(obj, "t", &b, &e), 0);
	assert_true(b);
	assert_int_equal(json_get_bool(obj, "z", &b, &e), 0);
	assert_int_equal(json_get_bool(obj, "absent", &b, &e), 0);
	assert_true(b);
	assert_int_equal(json_get_bool(obj, "f", &b, &e), 0);
	assert_false(b);
	b = true;
	assert_int_equal(json_get_bool(obj, "n", &b, &e), -1);
	assert_contains(e.msg, "\"n\"");
	assert_int_equal(json_get_bool(obj, "s", &b, &e), -1);
	assert_true(b);
	json_object_put(obj);
}

static void numbers(void **state)
{
	struct json_object *obj = parse("{\"i\":-42,\"d\":2.5,\"s\":\"7\",\"z\":null,\"big\":9007199254740993}");
	int64_t i = 5;
	double d = 5;
	struct err e = {""};

	(void)state;
	assert_int_equal(json_get_int64(obj, "absent", &i, &e), 0);
	assert_int_equal(json_get_int64(obj, "z", &i, &e), 0);
	assert_int_equal(i, 5);
	assert_int_equal(json_get_int64(obj, "i", &i, &e), 0);
	assert_int_equal(i, -42);
	assert_int_equal(json_get_int64(obj, "big", &i, &e), 0);
	assert_int_equal(i, 9007199254740993);
	assert_int_equal(json_get_int64(obj, "d", &i, &e), -1);
	assert_int_equal(json_get_int64(obj, "s", &i, &e), -1);
	assert_contains(e.msg, "\"s\" must be a int, not a string");
	assert_int_equal(i, 9007199254740993);

	assert_int_equal(json_get_double(obj, "d", &d, &e), 0);
	assert_true(d > 2.49 && d < 2.51);
	assert_int_equal(json_get_double(obj, "i", &d, &e), 0); /* a whole number is a number */
	assert_true(d < -41.9 && d > -42.1);
	assert_int_equal(json_get_double(obj, "s", &d, &e), -1);
	json_object_put(obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects),
	    cmocka_unit_test(not_objects),
	    cmocka_unit_test(incomplete),
	    cmocka_unit_test(malformed),
	    cmocka_unit_test(trailing_garbage),
	    cmocka_unit_test(depth),
	    cmocka_unit_test(broken_utf8),
	    cmocka_unit_test(overlong_utf8_and_surrogates),
	    cmocka_unit_test(strings),
	    cmocka_unit_test(nul_in_a_string),
	    cmocka_unit_test(string_length),
	    cmocka_unit_test(booleans),
	    cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
