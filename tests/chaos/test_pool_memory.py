# SPDX-License-Identifier: Apache-2.0
"""A worker that outgrows its memory_mb: the kernel ends it in the middle of a call, and the reason says why."""

import os
import subprocess

from harness import test, unique, wait_until
from pools import drop_pool, engine, reason, rows

# Well for any call but /eat, for which it takes 256 MB.
EATER = r"""
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(getenv("PORT")))};
	static const char ok[] = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&a, sizeof a) < 0 || listen(s, 9) < 0)
		return 1;
	for (;;) {
		char text[4096] = "";
		int c = accept(s, NULL, NULL);

		if (read(c, text, sizeof text - 1) > 0 && strstr(text, " /eat") != NULL)
			for (int i = 0; i < 256; i++)
				memset(malloc(1 << 20), i + 1, 1 << 20);
		if (write(c, ok, sizeof ok - 1) < 0)
			return 2;
		close(c);
	}
}
"""


def out_of_memory(stack):
    """With the engine that is there; returns the reason that the worker's row keeps."""
    base, pool = f"{stack.directory}/{unique('eater')}", unique("pool")
    os.makedirs(f"{base}/rootfs/bin")
    with open(f"{base}/eater.c", "w") as f:
        f.write(EATER)
    subprocess.run(["gcc", "-O0", "-static", "-o", f"{base}/rootfs/bin/eater", f"{base}/eater.c"], check=True)
    subprocess.run(["tar", "-C", f"{base}/rootfs", "-cf", f"{base}/rootfs.tar", "."], check=True)
    engine(stack).client("import", f"{base}/rootfs.tar", "localhost/eater:test")
    wait_until(lambda: f"the container engine at {engine(stack).socket} answers" in stack.log("manager"), what="the engine")
    stack.camctl("pool", "add", pool, "image=localhost/eater:test", "command=/bin/eater", "health_path=/", "call_path=/eat", "memory_mb=32",
                 "max_capacity=1", "acquire_timeout_sec=60", "stop_grace_sec=1")
    done = stack.camctl("pool", "call", pool, check=False)
    assert done.returncode == 1 and "the call failed" in done.stderr, done.stderr
    worker = wait_until(lambda: rows(stack, pool, "gone"), 60, "the eviction").pop()
    why = reason(stack, worker)
    assert "out of memory" in why or "want of memory" in why, why
    stack.camctl("pool", "set", pool, "call_path=/")
    assert "started for this call" in stack.camctl("pool", "call", pool).stderr
    drop_pool(stack, pool)
    return why


@test(fronts=None)
def a_container_that_runs_out_of_memory_is_evicted_with_the_reason(stack):
    out_of_memory(stack)
