/* SPDX-License-Identifier: Apache-2.0
 * A query's result for people (columns that line up, wide characters counted as two) or as JSON. */
#ifndef CAM_TABLE_H
#define CAM_TABLE_H

#include <libpq-fe.h>
#include <stdio.h>

void table_print(const PGresult *result, FILE *out);
/* A JSON array of objects; numbers and booleans as such. */
void table_print_json(const PGresult *result, FILE *out);

#endif
