/* SPDX-License-Identifier: Apache-2.0
 * camctl token: bearer tokens for programs. The token is shown once; only its hash is kept. */
#include "common/crypto.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_BYTES = 24 };

int ctl_token_create(struct ctl *ctl)
{
	const char *role = ctl_option(ctl, "--role", "viewer"), *days = ctl_option(ctl, "--days", NULL);
	char token[sizeof "cam_" + 2 * TOKEN_BYTES] = "cam_", hash[SHA256_HEX_LEN + 3] = "\\x";

	if (ctl->argc != 1) {
		fprintf(stderr, "camctl: token create takes one name\n");
		return EXIT_FAILURE;
	}
	if (crypto_random_hex(TOKEN_BYTES, token + strlen("cam_")) < 0 ||
	    crypto_sha256_hex(token, strlen(token), hash + 2) < 0) {
		fprintf(stderr, "camctl: no random numbers\n");
		return EXIT_FAILURE;
	}
	if (ctl_do(ctl,
		"SELECT camserver.token_create($1, $2::camserver.caller_role, $3::bytea, make_interval(days => "
		"$4::integer))",
		4, (const char *[]){ctl->argv[0], role, hash, days}) < 0)
		return EXIT_FAILURE;
	fprintf(stderr, "Token %s (%s). It is not shown again:\n", ctl->argv[0], role);
	printf("%s\n", token);
	return EXIT_SUCCESS;
}

int ctl_token_list(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.token_list", 0, NULL);
}

int ctl_token_revoke(struct ctl *ctl)
{
	PGresult *result = NULL;
	bool done;

	if (ctl_query(ctl, "SELECT camserver.token_revoke($1)", 1, (const char *[]){ctl->argv[0]}, &result) < 0)
		return EXIT_FAILURE;
	done = PQgetvalue(result, 0, 0)[0] == 't';
	PQclear(result);
	if (!done)
		fprintf(stderr, "camctl: there is no live token %s\n", ctl->argv[0]);
	else
		printf("token %s revoked\n", ctl->argv[0]);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
