/* SPDX-License-Identifier: Apache-2.0
 * Workers as containers, by the Engine API of Docker or Podman over its unix socket. Labels say which pool and worker a
 * container is, and which manager's; whatever carries this manager's label and no row is removed. */
#ifndef CAM_DRIVER_DOCKER_H
#define CAM_DRIVER_DOCKER_H

#include "manager/manager.h"

struct docker *docker_new(struct manager *m);
void docker_free(struct docker *d);
/* Keeps the stream of events open and looks at all containers now and then. */
int64_t docker_tick(struct manager *m, int64_t now);
/* The containers have been looked for at least once; docker_sees(): and could be seen the last time. */
bool docker_tried(const struct docker *d);
bool docker_sees(const struct docker *d);

#endif
