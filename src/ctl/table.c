/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
	COLUMNS_MAX = 64,
	OID_BOOL = 16,
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_FLOAT8 = 701,
	OID_NUMERIC = 1700
};

/* Columns on the terminal; what cannot be shown counts as one. */
static int width(const char *s)
{
	mbstate_t state = {0};
	int sum = 0;

	while (*s != '\0') {
		wchar_t c;
		size_t n = mbrtowc(&c, s, MB_CUR_MAX, &state);
		int w;

		if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
			memset(&state, 0, sizeof state);
			n = 1;
			w = 1;
		} else {
			w = wcwidth(c);
		}
		sum += w < 0 ? 1 : w;
		s += n;
	}
	return sum;
}

static bool is_number(const PGresult *result, int column)
{
	Oid type = PQftype(result, column);

	return type == OID_INT2 || type == OID_INT4 || type == OID_INT8 || type == OID_NUMERIC || type == OID_FLOAT8;
}

static void print_cell(const char *text, int pad, bool right, bool last, FILE *out)
{
	int blanks = pad - width(text);

	if (right)
		fprintf(out, "%*s", blanks, "");
	fputs(text, out);
	if (!right && !last)
		fprintf(out, "%*s", blanks, "");
	fputs(last ? "\n" : "  ", out);
}

void table_print(const PGresult *result, FILE *out)
{
	int columns = PQnfields(result), rows = PQntuples(result), widths[COLUMNS_MAX];

	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	for (int c = 0; c < columns; c++) {
		widths[c] = width(PQfname(result, c));
		for (int r = 0; r < rows; r++)
			if (width(PQgetvalue(result, r, c)) > widths[c])
				widths[c] = width(PQgetvalue(result, r, c));
	}
	for (int c = 0; c < columns; c++)
		print_cell(PQfname(result, c), widths[c], is_number(result, c), c == columns - 1, out);
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			print_cell(PQgetvalue(result, r, c), widths[c], is_number(result, c), c == columns - 1, out);
	if (rows == 0)
		fputs("(none)\n", out);
}

static struct json_object *cell_json(const PGresult *result, int r, int c)
{
	const char *text = PQgetvalue(result, r, c);

	if (PQgetisnull(result, r, c))
		return NULL;
	if (PQftype(result, c) == OID_BOOL)
		return json_object_new_boolean(text[0] == 't');
	if (is_number(result, c))
		return json_object_new_double_s(strtod(text, NULL), text);
	return json_object_new_string(text);
}

void table_print_json(const PGresult *result, FILE *out)
{
	struct json_object *list = json_object_new_array();

	for (int r = 0; r < PQntuples(result); r++) {
		struct json_object *row = json_object_new_object();

		for (int c = 0; c < PQnfields(result); c++)
			json_object_object_add(row, PQfname(result, c), cell_json(result, r, c));
		json_object_array_add(list, row);
	}
	fprintf(out, "%s\n",
	    json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(list);
}
