/* SPDX-License-Identifier: Apache-2.0
 * An error as a sentence. Library code fills one and returns; programs decide what to print. */
#ifndef CAM_ERR_H
#define CAM_ERR_H

enum { ERR_MSG_MAX = 1024 };

struct err {
	char msg[ERR_MSG_MAX];
};

/* Writes the sentence (cut at ERR_MSG_MAX). e may be NULL. Always returns -1, so that callers can
 * `return err_set(e, ...)`. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
