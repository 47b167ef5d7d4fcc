/* SPDX-License-Identifier: Apache-2.0 */
#include "common/ident.h"

#include <string.h>
#include <uuid/uuid.h>

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool ident_valid(const char *s)
{
	size_t len = strnlen(s, IDENT_MAX + 1);

	if (len == 0 || len > IDENT_MAX || !is_alnum(s[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_alnum(s[i]) && s[i] != '_' && s[i] != '.' && s[i] != '-')
			return false;
	return true;
}

bool ident_is_uuid(const char *s)
{
	uuid_t u;

	return strnlen(s, UUID_TEXT_LEN + 1) == UUID_TEXT_LEN && uuid_parse(s, u) == 0;
}

void ident_lower_uuid(const char *s, char ret_uuid[UUID_TEXT_LEN + 1])
{
	for (size_t i = 0; i < UUID_TEXT_LEN; i++)
		ret_uuid[i] = (char)(s[i] >= 'A' && s[i] <= 'F' ? s[i] + ('a' - 'A') : s[i]);
	ret_uuid[UUID_TEXT_LEN] = '\0';
}

bool ident_is_path(const char *s)
{
	size_t len = strnlen(s, IDENT_PATH_MAX + 1);
	bool begins = true; /* a segment, here */

	if (len > IDENT_PATH_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (begins && (s[i] == '.' || s[i] == '/'))
			return false;
		if (!is_alnum(s[i]) && s[i] != '_' && s[i] != '.' && s[i] != '-' && s[i] != '/')
			return false;
		begins = s[i] == '/';
	}
	return !begins;
}

void ident_new_uuid(char ret_uuid[UUID_TEXT_LEN + 1])
{
	uuid_t u;

	uuid_generate_random(u);
	uuid_unparse_lower(u, ret_uuid);
}

/* Length of the well-formed UTF-8 sequence at s of which len bytes may be read, 0 if there is none. */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char mask, lead;
		unsigned min;
	} forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t n = 0; n < 4; n++) {
		unsigned cp;

		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		if (n >= len)
			return 0;
		cp = s[0] & (unsigned char)~forms[n].mask;
		for (size_t i = 1; i <= n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			cp = cp << 6 | (s[i] & 0x3f);
		}
		if (cp < forms[n].min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
			return 0;
		return n + 1;
	}
	return 0;
}

bool ident_is_utf8(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

void ident_clean(char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n == 0 || (unsigned char)s[i] < 0x20 || s[i] == 0x7f) {
			s[i] = '?';
			n = 1;
		}
	}
}

bool ident_is_text(const char *s, size_t max_bytes)
{
	size_t len = strnlen(s, max_bytes + 1);

	if (len == 0 || len > max_bytes)
		return false;
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n == 0 || (unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	}
	return true;
}
