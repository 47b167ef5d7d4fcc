/* SPDX-License-Identifier: Apache-2.0
 * One request from its address to its answer: what both FastCGI programs do with each. */
#ifndef CAM_SERVE_H
#define CAM_SERVE_H

#include "fcgi/api.h"

/* Serves the request by the program's route_find(). body is a buffer that is used again for each. */
void serve(struct api *api, struct buf *body, FCGX_Request *fcgi);

#endif
