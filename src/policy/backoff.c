/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/backoff.h"

int64_t backoff_ms(unsigned attempt, int64_t base_ms, int64_t max_ms, uint32_t random)
{
	int64_t wait = base_ms < max_ms ? base_ms : max_ms;

	for (unsigned i = 1; i < attempt && wait < max_ms; i++)
		wait = wait > max_ms / 2 ? max_ms : wait * 2;
	return wait / 2 + (int64_t)((uint64_t)(wait - wait / 2) * random / UINT32_MAX);
}
