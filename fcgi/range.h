/* SPDX-License-Identifier: Apache-2.0
 * The Range header of a request (RFC 9110, section 14), as far as this program serves it: one range of bytes. */
#ifndef CAM_RANGE_H
#define CAM_RANGE_H

#include <stddef.h>

/* RANGE_ALL: there is no range, or none that is understood, and the whole is to be sent. RANGE_NONE: the range has not
 * one byte of the whole, which is 416. */
enum range_kind { RANGE_ALL, RANGE_PART, RANGE_NONE };

/* header may be NULL. first and last are positions in the whole of len bytes, both to be sent. */
enum range_kind range_parse(const char *header, size_t len, size_t *ret_first, size_t *ret_last);

#endif
