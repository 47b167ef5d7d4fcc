/* SPDX-License-Identifier: Apache-2.0
 * Whether somebody is to be told of a frame. Cooldowns are the database's business. */
#ifndef CAM_NOTIFY_POLICY_H
#define CAM_NOTIFY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

/* The rule that says so - "hazard", "camera_offline", "severity", "unknown" - or NULL. */
const char *notify_rule(const char *const *tags, size_t n, int severity, bool unknown_flag);

#endif
