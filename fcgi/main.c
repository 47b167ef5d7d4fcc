/* SPDX-License-Identifier: Apache-2.0
 * camserver.fcgi: leases, status, frames in, events out. One request at a time per process; spawn-fcgi starts as
 * many processes as wanted, and any of them may serve any request. Images have a pool of their own (media.sock), since
 * an archive may be slow and leases must not wait for it; frames another (ingest.sock), since their answers may be held
 * back. */
#include "common/log.h"
#include "common/program.h"
#include "common/spool.h"
#include "fcgi/api.h"
#include "fcgi/rclone.h"
#include "fcgi/serve.h"

#include <stdlib.h>

enum { BODY_KEPT_MAX = 8 * 1024 * 1024 };

int main(int argc, char **argv)
{
	static const struct program program = {
	    "camserver.fcgi", "[options]", "FastCGI program of camserver; spawn-fcgi or a web server starts it.\n"};
	struct conf conf;
	struct api api = {.conf = &conf};
	struct buf body;
	FCGX_Request fcgi;
	unsigned long reconnects = 0;
	struct err e;
	int status = EXIT_FAILURE;

	buf_init(&body, BODY_KEPT_MAX);
	if (program_start(&program, argc, argv, 0, &conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	if (FCGX_IsCGI() || FCGX_Init() != 0 || FCGX_InitRequest(&fcgi, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		log_error("there is no FastCGI socket on standard input; start me with spawn-fcgi, as systemd/ shows");
		goto out;
	}
	api.db = db_new(conf.database_url, program.name, (int)conf.db_timeout_ms);
	if (api.db == NULL) {
		log_error("out of memory");
		goto out;
	}
	api.metrics = metrics_open(conf.run_dir, &e);
	if (api.metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	metrics_join(api.metrics, program.name);
	/* Without the counters nobody would hear of changes. */
	if (conf.answer_cache_ms > 0 && api.metrics != NULL) {
		api.cache = answer_cache_open(conf.run_dir, conf.answer_cache_ms, &e);
		if (api.cache == NULL)
			log_warning("every answer will be the database's: %s", e.msg);
	}
	if (spool_prepare(conf.spool_dir, &e) < 0)
		log_warning("no frames can be taken in: %s", e.msg);

	while (FCGX_Accept_r(&fcgi) == 0) {
		serve(&api, &body, &fcgi);
		FCGX_Finish_r(&fcgi);
		for (; reconnects < db_reconnects(api.db); reconnects++) {
			metrics_add(api.metrics, METRIC_DB_RECONNECTS);
			log_info("the database is back");
		}
	}
	status = EXIT_SUCCESS;
out:
	rclone_free(api.rclone);
	json_object_put(api.queue_full.facts);
	answer_cache_close(api.cache);
	metrics_close(api.metrics);
	db_free(api.db);
	buf_free(&body);
	conf_free(&conf);
	return status;
}
