/* SPDX-License-Identifier: Apache-2.0
 * A node that speaks another tag schema is told ours, by one dispatcher at a time. */
#ifndef CAM_SCHEMA_PUSH_H
#define CAM_SCHEMA_PUSH_H

#include "dispatcher/dispatcher.h"

/* The node there answered 409 and says that it speaks current. Asks the database whose turn it is to tell it, unless a
 * node is being told already. */
void schema_push_wanted(struct dispatcher *d, const char *base_url, const char *current);

#endif
