/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/notify.h"

#include <string.h>

enum { SEVERITY_NOTIFY = 2 };

const char *notify_rule(const char *const *tags, size_t n, int severity, bool unknown_flag)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(tags[i], "hazard.", strlen("hazard.")) == 0)
			return "hazard";
	for (size_t i = 0; i < n; i++)
		if (strcmp(tags[i], "camera.offline") == 0)
			return "camera_offline";
	if (severity >= SEVERITY_NOTIFY)
		return "severity";
	return unknown_flag ? "unknown" : NULL;
}
