/* SPDX-License-Identifier: Apache-2.0
 * The handlers that routes.c names; each file handle_<subject>.c holds those of one subject. */
#ifndef CAM_HANDLERS_H
#define CAM_HANDLERS_H

#include "fcgi/api.h"

void handle_lease_acquire(struct api *api, struct request *r, struct answer *a);
void handle_lease_heartbeat(struct api *api, struct request *r, struct answer *a);
void handle_lease_release(struct api *api, struct request *r, struct answer *a);

void handle_frame_ingest(struct api *api, struct request *r, struct answer *a);

void handle_camera_list(struct api *api, struct request *r, struct answer *a);
void handle_camera_latest(struct api *api, struct request *r, struct answer *a);

void handle_event_list(struct api *api, struct request *r, struct answer *a);
void handle_event_get(struct api *api, struct request *r, struct answer *a);

void handle_case_attach(struct api *api, struct request *r, struct answer *a);
void handle_case_detach(struct api *api, struct request *r, struct answer *a);

void handle_media_link(struct api *api, struct request *r, struct answer *a);
void handle_media_frame(struct api *api, struct request *r, struct answer *a);

void handle_job_list(struct api *api, struct request *r, struct answer *a);
void handle_job_retry(struct api *api, struct request *r, struct answer *a);
void handle_job_cancel(struct api *api, struct request *r, struct answer *a);

void handle_limits_list(struct api *api, struct request *r, struct answer *a);
void handle_limits_set_global(struct api *api, struct request *r, struct answer *a);
void handle_limits_set_provider(struct api *api, struct request *r, struct answer *a);
void handle_limits_set_model(struct api *api, struct request *r, struct answer *a);

void handle_node_list(struct api *api, struct request *r, struct answer *a);
void handle_node_put(struct api *api, struct request *r, struct answer *a);
void handle_pool_list(struct api *api, struct request *r, struct answer *a);
void handle_pool_get(struct api *api, struct request *r, struct answer *a);
void handle_pool_put(struct api *api, struct request *r, struct answer *a);

void handle_server_put(struct api *api, struct request *r, struct answer *a);

void handle_console_live(struct api *api, struct request *r, struct answer *a);
void handle_console_events(struct api *api, struct request *r, struct answer *a);
void handle_console_event(struct api *api, struct request *r, struct answer *a);
void handle_console_operations(struct api *api, struct request *r, struct answer *a);

void handle_system_status(struct api *api, struct request *r, struct answer *a);
void handle_suggest(struct api *api, struct request *r, struct answer *a);

void handle_healthz(struct api *api, struct request *r, struct answer *a);
void handle_readyz(struct api *api, struct request *r, struct answer *a);
void handle_metrics(struct api *api, struct request *r, struct answer *a);

#endif
