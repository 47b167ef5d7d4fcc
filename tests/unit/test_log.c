/* SPDX-License-Identifier: Apache-2.0
 * What a log message is about, as fields of the journal. */
#include "common/log.h"
#include "tests/unit/unit.h"

#include <string.h>

static void objects_become_fields(void **state)
{
	char fields[256];
	int len = log_objects("job %lld (camera %s, frame %s) is dead: %s",
	    "job 17 (camera lobby, frame 0a-1) is dead: no node", fields, sizeof fields);

	(void)state;
	assert_string_equal(fields, "CAMSERVER_JOB=17\nCAMSERVER_CAMERA=lobby\nCAMSERVER_FRAME=0a-1\n");
	assert_int_equal(len, strlen(fields));
}

static void words_that_name_nothing_do_not(void **state)
{
	char fields[256] = "";

	(void)state;
	assert_int_equal(log_objects("no job is left; %s", "no job is left; job 3", fields, sizeof fields), 0);
	assert_int_equal(log_objects("plain", "plain", fields, sizeof fields), 0);
	assert_int_equal(log_objects("job %s", "job ", fields, sizeof fields), 0);
}

static void what_does_not_fit_is_left_out(void **state)
{
	char fields[24];

	(void)state;
	assert_int_equal(
	    log_objects("job %s of pool %s", "job 1 of pool a_very_long_name_of_a_pool", fields, (int)sizeof fields),
	    16);
	assert_string_equal(fields, "CAMSERVER_JOB=1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects_become_fields),
	    cmocka_unit_test(words_that_name_nothing_do_not),
	    cmocka_unit_test(what_does_not_fit_is_left_out),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
