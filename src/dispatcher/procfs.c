/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 256, PATH_BYTES = 512 };

static FILE *open_in(const char *dir, const char *name, struct err *e)
{
	char path[PATH_BYTES];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "re");
	if (f == NULL)
		err_set(e, "%s: %s", path, strerror(errno));
	return f;
}

static int read_cpu(const char *dir, struct procfs_load *ret, struct err *e)
{
	/* user nice system idle iowait irq softirq steal */
	uint64_t v[8] = {0};
	FILE *f = open_in(dir, "stat", e);
	char line[LINE_BYTES];
	int n = 0;

	if (f == NULL)
		return -1;
	/* with the blank: the sum, not cpu0 */
	if (fgets(line, sizeof line, f) != NULL && strncmp(line, "cpu ", 4) == 0)
		n = sscanf(line + 4,
		    "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		    &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	fclose(f);
	if (n < 4)
		return err_set(e, "%s/stat: no cpu line", dir);
	ret->cpu_total = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
	ret->cpu_busy = ret->cpu_total - v[3] - v[4];
	return 0;
}

static int read_memory(const char *dir, struct procfs_load *ret, struct err *e)
{
	static const char *const names[] = {"MemTotal:", "MemAvailable:", "SwapTotal:", "SwapFree:"};
	uint64_t kb[4] = {0};
	unsigned found = 0;
	char line[LINE_BYTES];
	FILE *f = open_in(dir, "meminfo", e);

	if (f == NULL)
		return -1;
	while (fgets(line, sizeof line, f) != NULL)
		for (unsigned i = 0; i < 4; i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0 &&
			    sscanf(line + strlen(names[i]), "%" SCNu64, &kb[i]) == 1)
				found |= 1U << i;
	fclose(f);
	if ((found & 3) != 3 || kb[0] == 0)
		return err_set(e, "%s/meminfo: MemTotal or MemAvailable is missing", dir);
	ret->memory_percent = kb[1] >= kb[0] ? 0 : 100.0 * (double)(kb[0] - kb[1]) / (double)kb[0];
	ret->swap_mb = kb[3] >= kb[2] ? 0 : (double)(kb[2] - kb[3]) / 1024.0;
	return 0;
}

int procfs_read(const char *dir, struct procfs_load *ret, struct err *e)
{
	struct procfs_load load;

	if (read_cpu(dir, &load, e) < 0 || read_memory(dir, &load, e) < 0)
		return -1;
	*ret = load;
	return 0;
}
