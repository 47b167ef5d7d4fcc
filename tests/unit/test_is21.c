/* SPDX-License-Identifier: Apache-2.0
 * The inference protocol's answers: what is normal, what is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dispatcher/is21.h"

#include <stdio.h>
#include <string.h>

static void refuse(const char *text, const char *why)
{
	struct is21_result r;
	struct err e = {""};

	assert_int_equal(is21_parse(text, strlen(text), &r, &e), -1);
	if (strstr(e.msg, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", e.msg, why);
}

static struct is21_result accept(const char *text)
{
	struct is21_result r;
	struct err e = {""};

	if (is21_parse(text, strlen(text), &r, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

static void a_full_answer(void **state)
{
	struct is21_result r =
	    accept("{\"schema_version\":\"v1\",\"analyzed\":true,\"detected\":true,\"primary_event\":\"human\","
		   "\"tags\":[\"human.presence\",\"x\"],\"confidence\":0.5,\"severity\":2,\"unknown_flag\":false,"
		   "\"count_hint\":3,\"bboxes\":[],\"metrics\":{\"blur_score\":12.5},\"extra\":{}}");

	(void)state;
	assert_true(r.detected);
	assert_string_equal(r.schema_version, "v1");
	assert_string_equal(r.primary_event, "human");
	assert_int_equal(r.n_tags, 2);
	assert_string_equal(r.tags[1], "x");
	assert_int_equal(r.severity, 2);
	assert_int_equal(r.count_hint, 3);
	assert_true(r.has_confidence && r.has_count && r.has_blur);
	assert_true(r.blur_score > 12.4 && r.blur_score < 12.6);
	assert_true(json_object_object_get_ex(r.body, "extra", NULL));
	is21_free(&r);
}

static void missing_fields_have_meanings(void **state)
{
	struct is21_result r = accept("{\"primary_event\":\"none\"}");

	(void)state;
	assert_false(r.detected || r.unknown_flag || r.has_confidence || r.has_count || r.has_blur);
	is21_free(&r);
	r = accept("{\"detected\":true}");
	assert_string_equal(r.primary_event, "unknown");
	assert_true(r.unknown_flag);
	is21_free(&r);
	r = accept("{\"detected\":false,\"confidence\":null,\"tags\":null,\"severity\":null,\"count_hint\":null}");
	assert_string_equal(r.primary_event, "none");
	is21_free(&r);
}

static void wrong_types_are_named(void **state)
{
	(void)state;
	refuse("[]", "object");
	refuse("<html>", "JSON");
	refuse("{\"detected\":true,\"primary_event\":\"hu", "ends");
	refuse("{}", "neither");
	refuse("{\"detected\":\"yes\"}", "detected");
	refuse("{\"detected\":true,\"primary_event\":7}", "primary_event");
	refuse("{\"detected\":true,\"primary_event\":\"two words\"}", "plain word");
	refuse("{\"detected\":true,\"severity\":4}", "severity");
	refuse("{\"detected\":true,\"severity\":1.5}", "whole");
	refuse("{\"detected\":true,\"severity\":\"2\"}", "severity");
	refuse("{\"detected\":true,\"confidence\":1.01}", "confidence");
	refuse("{\"detected\":true,\"confidence\":NaN}", "");
	refuse("{\"detected\":true,\"tags\":\"x\"}", "array");
	refuse("{\"detected\":true,\"tags\":[1]}", "strings");
	refuse("{\"detected\":true,\"tags\":[\"\"]}", "tag");
	refuse("{\"detected\":true,\"tags\":[\"a\\u0000b\"]}", "tag");
	refuse("{\"detected\":true,\"count_hint\":-1}", "count_hint");
	refuse("{\"detected\":true,\"analyzed\":false}", "did not analyse");
}

static void too_many_tags(void **state)
{
	char text[4096] = "{\"detected\":true,\"tags\":[\"t\"";

	(void)state;
	for (int i = 0; i < IS21_TAGS_MAX; i++)
		strcat(text, ",\"t\"");
	strcat(text, "]}");
	refuse(text, "tags");
}

static void mismatches(void **state)
{
	static const struct {
		const char *text, *current;
	} cases[] = {
	    {"{\"error\":\"schema_mismatch\",\"current\":\"v1\"}", "v1"},
	    {"{\"detail\":{\"error\":\"schema_mismatch\",\"current\":\"v2\"}}", "v2"},
	    {"{\"detail\":\"text\",\"current\":\"v3\"}", "v3"},
	    {"{}", ""},
	    {"nonsense", ""},
	};
	char current[IS21_SCHEMA_VERSION_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		is21_mismatch(cases[i].text, strlen(cases[i].text), current);
		assert_string_equal(current, cases[i].current);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_full_answer),
	    cmocka_unit_test(missing_fields_have_meanings),
	    cmocka_unit_test(wrong_types_are_named),
	    cmocka_unit_test(too_many_tags),
	    cmocka_unit_test(mismatches),
	};

	return cmocka_run_group_tests_name("dispatcher is21", tests, NULL, NULL);
}
