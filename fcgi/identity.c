/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/identity.h"

#include "common/ident.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COOKIE_NAME "camserver_session"

enum { COOKIE_HEX_LEN = 64, COOKIE_AGE_SEC = 30 * 24 * 3600, TOKEN_MAX = 256 };

static const char *read_token(struct identity *id, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	const char *token;
	size_t len;

	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL; /* Basic and the like are the web server's business */
	token = authorization + strlen(scheme);
	token += strspn(token, " ");
	len = strlen(token);
	if (len == 0 || len > TOKEN_MAX)
		return "UNAUTHORIZED";
	strcpy(id->token, "\\x");
	return crypto_sha256_hex(token, len, id->token + 2) < 0 ? "INTERNAL_ERROR" : NULL;
}

/* The value of our cookie if it is of the form that we give out, else NULL. */
static const char *find_cookie(const char *header)
{
	size_t name = strlen(COOKIE_NAME);

	for (const char *p = header; p != NULL && *p != '\0';) {
		size_t len;

		p += strspn(p, "; \t");
		len = strcspn(p, ";");
		if (len == name + 1 + COOKIE_HEX_LEN && strncmp(p, COOKIE_NAME "=", name + 1) == 0 &&
		    strspn(p + name + 1, "0123456789abcdef") == COOKIE_HEX_LEN)
			return p + name + 1;
		p += len;
	}
	return NULL;
}

static int set_session(struct identity *id, const char *cookie)
{
	char hash[SHA256_HEX_LEN + 1];

	if (crypto_sha256_hex(cookie, COOKIE_HEX_LEN, hash) < 0)
		return -1;
	memcpy(id->session, hash, SESSION_HEX_LEN);
	id->session[SESSION_HEX_LEN] = '\0';
	return 0;
}

static int new_session(struct identity *id, const struct request *r, struct answer *a, const char *path)
{
	const char *https = request_var(r, "HTTPS");
	char value[COOKIE_HEX_LEN + 1], header[512];

	if (crypto_random_hex(COOKIE_HEX_LEN / 2, value) < 0 || set_session(id, value) < 0)
		return -1;
	snprintf(header, sizeof header, COOKIE_NAME "=%s; Path=%s; Max-Age=%d; HttpOnly; SameSite=Strict%s", value,
	    path, COOKIE_AGE_SEC, https != NULL && strcasecmp(https, "on") == 0 ? "; Secure" : "");
	answer_header(a, "Set-Cookie", header);
	return 0;
}

/* Browsers say where a request comes from; what carries neither header is not a browser's cross-site request. */
static bool cross_site(const struct request *r)
{
	const char *site = request_var(r, "HTTP_SEC_FETCH_SITE");
	const char *origin = request_var(r, "HTTP_ORIGIN"), *host = request_var(r, "HTTP_HOST");
	const char *p;

	if (strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0)
		return false;
	if (site != NULL)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
	if (origin == NULL)
		return false;
	p = strstr(origin, "://");
	return p == NULL || host == NULL || strcasecmp(p + 3, host) != 0;
}

const char *identity_read(
    struct identity *id, const struct request *r, struct answer *a, bool may_be_anonymous, const char *cookie_path)
{
	const char *authorization = request_var(r, "HTTP_AUTHORIZATION"), *cookie, *fault;

	*id = (struct identity){.returning = true};
	if (authorization != NULL) {
		fault = read_token(id, authorization);
		if (fault != NULL || id->token[0] != '\0')
			return fault;
	}
	if (cross_site(r))
		return "CROSS_SITE";
	id->remote_user = request_var(r, "REMOTE_USER");
	if (id->remote_user != NULL)
		return ident_is_text(id->remote_user, REMOTE_USER_MAX) ? NULL : "UNAUTHORIZED";
	if (!may_be_anonymous)
		return NULL;
	cookie = find_cookie(request_var(r, "HTTP_COOKIE"));
	id->returning = cookie != NULL;
	if ((cookie != NULL ? set_session(id, cookie) : new_session(id, r, a, cookie_path)) < 0)
		return "INTERNAL_ERROR";
	return NULL;
}
