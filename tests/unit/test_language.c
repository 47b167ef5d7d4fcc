/* SPDX-License-Identifier: Apache-2.0
 * Accept-Language: Japanese unless English is wanted more. */
#include "fcgi/language.h"
#include "tests/unit/unit.h"

static void all_are(bool english, const char *const *headers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (language_is_english(headers[i]) != english)
			fail_msg(
			    "%s: not %s", headers[i] != NULL ? headers[i] : "NULL", english ? "English" : "Japanese");
}

#define ENGLISH(...) \
	all_are(true, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))
#define JAPANESE(...) \
	all_are(false, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static void japanese_is_the_default(void **state)
{
	(void)state;
	JAPANESE(NULL, "", " ", ",", "*", "*;q=1", "fr", "de-DE,fr;q=0.9", "ja", "ja-JP", "JA");
}

static void english(void **state)
{
	(void)state;
	ENGLISH(
	    "en", "EN", "en-GB", "en-us", "en-US,en;q=0.9", "fr,en;q=0.3", "en;q=0.1", "en,*;q=0.5", " en ", "\ten");
}

static void the_higher_weight_wins(void **state)
{
	(void)state;
	ENGLISH(
	    "ja;q=0.5,en", "ja;q=0.5, en;q=0.6", "en-GB;q=0.9, ja;q=0.8", "ja;q=0, en;q=0.001", "en;q=1.0,ja;q=0.999");
	JAPANESE("ja,en;q=0.9", "en;q=0.5,ja;q=0.6", "en;q=0.8,ja-JP", "ja,en-US;q=0.7,en;q=0.3");
}

static void equal_weights_are_japanese(void **state)
{
	(void)state;
	JAPANESE("en,ja", "ja,en", "en;q=0.5,ja;q=0.5", "en-US,ja-JP");
}

static void the_best_range_of_a_language_counts(void **state)
{
	(void)state;
	ENGLISH("en;q=0.1,ja;q=0.5,en-GB;q=0.9", "en-GB;q=0.9,ja;q=0.5,en;q=0.1");
	JAPANESE("ja;q=0.1,en;q=0.5,ja-JP;q=0.9");
}

static void weight_zero_is_refused(void **state)
{
	(void)state;
	JAPANESE("en;q=0", "en;q=0.0", "en;q=0.000,*", "en;q=0,fr");
}

static void blanks_and_case_do_not_matter(void **state)
{
	(void)state;
	ENGLISH(
	    "ja;q=0.5 , en ; q=0.6", "ja ;q=0.5,en; q=0.6", "ja;Q=0.5,en;Q=0.9", ",,en,,", "ja; q=0.1,\ten;\tq=0.2");
}

static void other_languages_with_the_same_letters(void **state)
{
	(void)state;
	JAPANESE("eng", "enm", "english", "x-en", "fren", "e", "den-en");
	ENGLISH("jav,en;q=0.1", "jam;q=1,en;q=0.2");
}

static void garbage(void **state)
{
	(void)state;
	JAPANESE(";;;", ";q=1", "=,;,=", "en;q=", "en;q=x", "en;q=-1", "\xff\xfe", "q=en", "-en", "en;q=nan");
	(void)language_is_english("en;");
	(void)language_is_english("en;q");
	(void)language_is_english("en;q=0.5;;;");
	(void)language_is_english("en;q=99999999999999999999999999999999999999");
	(void)language_is_english("ja;q=inf,en;q=inf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(japanese_is_the_default),
	    cmocka_unit_test(english),
	    cmocka_unit_test(the_higher_weight_wins),
	    cmocka_unit_test(equal_weights_are_japanese),
	    cmocka_unit_test(the_best_range_of_a_language_counts),
	    cmocka_unit_test(weight_zero_is_refused),
	    cmocka_unit_test(blanks_and_case_do_not_matter),
	    cmocka_unit_test(other_languages_with_the_same_letters),
	    cmocka_unit_test(garbage),
	};

	return cmocka_run_group_tests_name("fcgi language", tests, NULL, NULL);
}
