/* SPDX-License-Identifier: Apache-2.0
 * Times as the API takes them. */
#ifndef CAM_RFC3339_H
#define CAM_RFC3339_H

#include <stdbool.h>

enum { RFC3339_UTC_LEN = 27 };

/* 2026-01-31T23:59:59.123456+09:00: RFC 3339, so with 'T' and a zone, the fraction optional; years 1970 to 9999, only
 * days that exist. Writes the same moment in UTC with microseconds (digits beyond are dropped), as PostgreSQL reads it
 * whatever the zone was. False, with ret_utc untouched, for anything else. */
bool rfc3339_parse(const char *s, char ret_utc[RFC3339_UTC_LEN + 1]);

#endif
