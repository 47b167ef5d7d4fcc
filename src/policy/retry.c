/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/retry.h"

static const double first = 20, most = 100, per_call = 0.1;

bool retry_is_safe(enum call_end end, bool repeatable)
{
	switch (end) {
	case CALL_UNREACHABLE:
	case CALL_BUSY:
		return true;
	case CALL_FAULTY:
		return repeatable;
	case CALL_WORKED:
	case CALL_TIMEOUT:
		break;
	}
	return false;
}

static void begin(struct retry_budget *b)
{
	if (!b->begun)
		*b = (struct retry_budget){.left = first, .begun = true};
}

void retry_earn(struct retry_budget *b)
{
	begin(b);
	b->left = b->left + per_call < most ? b->left + per_call : most;
}

bool retry_spend(struct retry_budget *b)
{
	begin(b);
	if (b->left < 1)
		return false;
	b->left -= 1;
	return true;
}
