/* SPDX-License-Identifier: Apache-2.0
 * Percent-decoding as this program accepts it in an address. */
#ifndef CAM_PERCENT_H
#define CAM_PERCENT_H

/* The byte at *p, decoded; moves *p past it. -1 for a broken escape, and for control characters, NUL and bytes beyond
 * ASCII, which are in no address here. '+' is itself: times with a zone carry one. */
int percent_next(const char **p);

#endif
