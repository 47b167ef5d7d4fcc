/* SPDX-License-Identifier: Apache-2.0
 * Every error the API can answer with: code, status, message in both languages. One table (errors.c). */
#ifndef CAM_ERRORS_H
#define CAM_ERRORS_H

struct error_def {
	const char *code;
	int status;
	int retry_after; /* seconds for Retry-After where the case gives no better number; 0: no such header */
	const char *ja;
	const char *en;
};

/* Never NULL: an unknown code gives INTERNAL_ERROR. */
const struct error_def *error_find(const char *code);

#endif
