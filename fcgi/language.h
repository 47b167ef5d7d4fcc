/* SPDX-License-Identifier: Apache-2.0
 * Which of the two languages a client would rather read. */
#ifndef CAM_LANGUAGE_H
#define CAM_LANGUAGE_H

#include <stdbool.h>

/* header is the Accept-Language value or NULL. Japanese unless English is asked for with the higher weight. */
bool language_is_english(const char *header);

#endif
