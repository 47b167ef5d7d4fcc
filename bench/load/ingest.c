/* SPDX-License-Identifier: Apache-2.0
 * The shortest program that takes frames in: file written, named and synced, directory synced, then row and job in one
 * statement. No HTTP, no checks: the limit that POST /api/frames is measured against.
 *   ingest THREADS SECONDS SPOOL CAMERA CAMERAS FILE      libpq's environment says which database */
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

static const char sql[] =
    "WITH f AS (INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes) "
    "VALUES ($1, $2, now(), now(), $3) RETURNING frame_id, camera_id, captured_at) "
    "INSERT INTO camserver.inference_jobs (camera_id, frame_id, captured_at, created_at, available_at) "
    "SELECT camera_id, frame_id, captured_at, now(), now() FROM f";
static char **words;
static char *data;
static long data_len;
static _Atomic long count;
static _Atomic int stop;

static int write_frame(const char *uuid)
{
	char tmp[1024], path[1024];
	int fd, dir;

	snprintf(tmp, sizeof tmp, "%s/infer/%s.tmp", words[0], uuid);
	snprintf(path, sizeof path, "%s/infer/%s.jpg", words[0], uuid);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL, 0660);
	if (fd < 0 || write(fd, data, (size_t)data_len) != data_len || rename(tmp, path) < 0 || fsync(fd) < 0)
		return -1;
	close(fd);
	snprintf(path, sizeof path, "%s/infer", words[0]);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	if (dir < 0 || fsync(dir) < 0)
		return -1;
	close(dir);
	return 0;
}

static void *run(void *arg)
{
	PGconn *conn = PQconnectdb("");
	char camera[128], uuid[UUID_STR_LEN], bytes[24];
	uuid_t u;

	(void)arg;
	PQclear(PQprepare(conn, "in", sql, 3, NULL));
	snprintf(bytes, sizeof bytes, "%ld", data_len);
	while (!stop) {
		PGresult *r;

		uuid_generate(u);
		uuid_unparse_lower(u, uuid);
		snprintf(camera, sizeof camera, "%s%ld", words[1], 1 + count % atol(words[2]));
		if (write_frame(uuid) < 0) {
			perror("ingest");
			exit(1);
		}
		r = PQexecPrepared(conn, "in", 3, (const char *[]){uuid, camera, bytes}, NULL, NULL, 0);
		if (PQresultStatus(r) != PGRES_COMMAND_OK) {
			fprintf(stderr, "ingest: %s", PQerrorMessage(conn));
			exit(1);
		}
		PQclear(r);
		count++;
	}
	PQfinish(conn);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 7 ? atol(argv[1]) : 0;
	pthread_t *ids = calloc((size_t)threads, sizeof *ids);
	double seconds;
	FILE *f;

	if (threads <= 0 || (f = fopen(argv[6], "rb")) == NULL) {
		fprintf(stderr, "usage: ingest THREADS SECONDS SPOOL CAMERA CAMERAS FILE\n");
		return 2;
	}
	fseek(f, 0, SEEK_END);
	data_len = ftell(f);
	rewind(f);
	data = malloc((size_t)data_len);
	if (fread(data, 1, (size_t)data_len, f) != (size_t)data_len)
		return 1;
	fclose(f);
	words = argv + 3;
	seconds = atof(argv[2]);
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	usleep((useconds_t)(seconds * 1e5));
	count = 0;
	usleep((useconds_t)(seconds * 1e6));
	printf("{\"rate\": %.1f}\n", (double)count / seconds);
	stop = 1;
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
