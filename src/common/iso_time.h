/* SPDX-License-Identifier: Apache-2.0
 * Times as people and programs write them. */
#ifndef CAM_ISO_TIME_H
#define CAM_ISO_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum iso_form {
	ISO_8601, /* 2026-01-31T23:59:59, with 'T' or a space, with Z, +09:00, +0900, +09 or no zone (then it is UTC) */
	RFC_3339, /* 2026-01-31T23:59:59+09:00: with 'T' and a whole zone */
};

/* Of years 1970 to 9999, with or without a fraction, of which microseconds are kept. False, with *ret_sec and
 * *ret_us untouched, for anything else and for days that do not exist. */
bool iso_time_parse(const char *s, enum iso_form form, time_t *ret_sec, int *ret_us);

enum { RFC3339_UTC_LEN = 27 };

/* An RFC 3339 time as PostgreSQL reads it, whatever its zone was: in UTC, with microseconds. False, with ret_utc
 * untouched, for anything else. */
bool rfc3339_parse(const char *s, char ret_utc[RFC3339_UTC_LEN + 1]);

#endif
