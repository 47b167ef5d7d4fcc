/* SPDX-License-Identifier: Apache-2.0
 * Times as ISO 8601 writes them. */
#ifndef CAM_ISO_TIME_H
#define CAM_ISO_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* 2026-01-31T23:59:59, with 'T' or a space, with or without a fraction, with Z, +09:00, +0900, +09 or no zone (then
 * it is UTC). False, with *ret_ms untouched, for anything else and for days that do not exist. */
bool iso_time_parse(const char *s, int64_t *ret_ms);

#endif
