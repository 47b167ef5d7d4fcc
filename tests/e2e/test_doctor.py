# SPDX-License-Identifier: Apache-2.0
"""camctl doctor: each of these faults is made, found, and its fix named; and what is well is not complained about."""

import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess

from harness import test, unique, wait_until


def examine(stack, *options, env=None):
    """The findings that are not ok, as {check: [finding + fix]}; whatever is not well has a fix."""
    done = stack.run(f"{stack.prefix}/bin/camctl", "-c", stack.conf, *options, "doctor", "--json",
                     env=dict(os.environ, **env) if env else None)
    rows = json.loads(done.stdout)
    assert all(bool(r["fix"]) == (r["level"] != "ok") for r in rows), rows
    assert (done.returncode == 0) == all(r["level"] != "problem" for r in rows), (done.returncode, rows)
    found = {}
    for r in rows:
        if r["level"] != "ok":
            found.setdefault(r["check"], []).append(f"{r['level']}: {r['finding']} | {r['fix']}")
    return found


def says(found, check, *pieces):
    text = "\n".join(found.get(check, []))
    assert all(p in text for p in pieces), (check, pieces, found)


@contextlib.contextmanager
def changed(undo):
    try:
        yield
    finally:
        undo()


@test(fronts=None)
def the_doctor_is_content_with_a_stack_that_works(stack):
    found = examine(stack)
    for check in ("run", "database", "schema", "clock", "spool", "archive", "socket", "media key", "node", "web server", "sweeps"):
        assert check not in found, found
    lines = stack.camctl("doctor", check=False).stdout
    assert "ok       database" in lines and re.search(r"^\d+ problems?, ", lines, re.M), lines


@test(fronts=None)
def fault_1_the_database_is_down(stack):
    def undo():
        stack.stack("start", "pg")
        if stack.connection is not None:
            stack.connection.close()
    stack.stack("stop", "pg")
    with changed(undo):
        says(examine(stack), "database", "problem", "systemctl start postgresql")
    assert "database" not in examine(stack)


@test(fronts=None)
def fault_2_the_schema_is_old(stack):
    newest, name = stack.one("SELECT max(version) FROM camserver.schema_migrations"), unique("old")
    url = f"ADMIN_DATABASE_URL=host={stack.pg_host} user={stack.admin} dbname={name}"
    stack.sql(f"CREATE DATABASE {name}")
    with changed(lambda: stack.sql(f"DROP DATABASE {name}")):
        says(examine(stack, "-o", url), "schema", "problem", "no camserver schema", "camctl db migrate")
        stack.camctl("-o", url, "db", "migrate", "--to", str(newest - 1))
        says(examine(stack, "-o", url), "schema", "problem", f"version {newest - 1}", "camctl db migrate")
        stack.camctl("-o", url, "db", "migrate")
        assert "schema" not in examine(stack, "-o", url)


@test(fronts=None)
def fault_3_the_web_server_may_not_use_the_socket(stack):
    path = glob.glob(f"{os.path.dirname(stack.pg_host)}/run/camserver.sock")[0]
    before = os.stat(path)

    def undo():
        os.chown(path, before.st_uid, before.st_gid)
        os.chmod(path, before.st_mode & 0o777)
    with changed(undo):
        if os.getuid() == 0:
            os.chown(path, 0, 0)
            os.chmod(path, 0o600)
        else:
            os.chmod(path, 0)
        says(examine(stack), "socket", "problem", "may not use", "camserver.sock", "systemctl restart camserver-fcgi")
    assert "socket" not in examine(stack)


@test(fronts=None)
def fault_3b_nobody_serves_a_socket(stack):
    stack.stack("stop", "gateway")
    with changed(lambda: stack.stack("start", "gateway")):
        says(examine(stack), "socket", "nobody serves", "gateway.sock", "systemctl start camserver-gateway")


@test(fronts=None)
def fault_4_the_spool_is_full(stack):
    """A file system of its own, filled for real; only root can mount one."""
    if os.getuid() != 0:
        return
    place = f"{stack.directory}/{unique('full')}"
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "tmpfs", place], check=True)
    with changed(lambda: subprocess.run(["umount", place], check=True)):
        assert "spool" not in examine(stack, "-o", f"SPOOL_DIR={place}")
        with open(f"{place}/filler", "wb") as f, contextlib.suppress(OSError):
            f.write(bytes(2 * 1024 * 1024))
        says(examine(stack, "-o", f"SPOOL_DIR={place}"), "spool", "problem", "is full", "free space")


@test(fronts=None)
def fault_5_the_spool_cannot_be_written(stack):
    path = f"{stack.directory}/spool/infer"
    mode, owner = os.stat(path).st_mode & 0o7777, os.stat(path)

    def undo():
        os.chown(path, owner.st_uid, owner.st_gid)
        os.chmod(path, mode)
    with changed(undo):
        if os.getuid() == 0:
            os.chown(path, 0, 0)
        os.chmod(path, 0o555)
        says(examine(stack), "spool", "problem", "not writable", "install -d -o")
    assert "spool" not in examine(stack)


@test(fronts=None)
def fault_6_there_is_no_inference_node(stack):
    stack.stack("stop", "analyzer")
    with changed(lambda: stack.stack("start", "analyzer")):
        says(examine(stack), "node", "problem", "no inference node", "camserver-analyzer", "IS21_BASE_URL")


@test(fronts=None, needs=("plain",))
def fault_7_the_clocks_disagree(stack):
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0]
    for offset, text in (("-3600", "behind"), ("+3600", "ahead of")):
        found = examine(stack, env={"LD_PRELOAD": library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
        says(found, "clock", "problem", text, "timedatectl")


@test(fronts=None)
def fault_8_a_dispatcher_is_stale(stack):
    host = unique("gone-host")
    stack.sql("INSERT INTO camserver.dispatchers (dispatcher_id, host, pid, version, started_at, last_heartbeat) VALUES"
              " (gen_random_uuid(), %s, 1, 'x', now() - interval '1 hour', now() - interval '50 minutes')", host)
    with changed(lambda: stack.sql("DELETE FROM camserver.dispatchers WHERE host = %s", host)):
        says(examine(stack), "dispatcher", "problem", "stale", host, "systemctl restart cam-dispatcher")
    assert "dispatcher" not in examine(stack)


@test(fronts=None)
def fault_8b_no_dispatcher_runs(stack):
    stack.stack("stop", "dispatcher")
    with changed(lambda: stack.stack("start", "dispatcher")):
        # Those that other tests killed count as alive for a while.
        found = wait_until(lambda: (f := examine(stack)) and "none runs" in str(f) and f, 60, "no dispatcher")
        says(found, "dispatcher", "problem", "none runs", "systemctl start cam-dispatcher")
    wait_until(lambda: "dispatcher" not in examine(stack), 60, "a dispatcher")


@test(fronts=None)
def fault_9_the_web_server_is_not_wired(stack):
    """A web server as it is before lighttpd-enable-mod; then none at all."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    conf = f"{stack.directory}/{unique('bare')}.conf"
    with open(conf, "w") as f:
        f.write(f'server.bind = "127.0.0.1"\nserver.port = {port}\nserver.document-root = "{stack.directory}/tmp"\n')
    server = subprocess.Popen([shutil.which("lighttpd", path="/usr/sbin:/usr/bin"), "-D", "-f", conf],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, what="the bare web server")
        says(examine(stack, "-o", f"PUBLIC_URL=http://127.0.0.1:{port}"), "web server", "problem", "status 404",
             "lighttpd-enable-mod camserver", "a2enconf camserver")
    finally:
        server.terminate()
        server.wait()
    says(examine(stack, "-o", f"PUBLIC_URL=http://127.0.0.1:{port}"), "web server", "problem", "start the web server")


@test(fronts=None)
def fault_10_jobs_are_dead(stack):
    camera = unique("cam")
    stack.sql("SELECT camserver.camera_set(%s)", camera)
    stack.sql("INSERT INTO camserver.inference_jobs (camera_id, kind, status, attempt, captured_at, created_at, available_at, finished_at, last_error)"
              " VALUES (%s, 'notify', 'dead', 5, now(), now(), now(), now(), 'nobody listens')", camera)
    with changed(lambda: stack.sql("DELETE FROM camserver.inference_jobs WHERE camera_id = %s", camera)):
        says(examine(stack), "jobs", "problem", "dead jobs", "camctl jobs --status dead", "camctl jobs retry --all-dead")


@test(fronts=None)
def somebody_else_is_told_to_be_root_and_nothing_wrong(stack):
    """Whoever forgets sudo must not be told to mend what is well. Only root can be somebody else here."""
    if os.getuid() != 0:
        return
    place = f"{stack.directory}/{unique('keys')}"
    os.makedirs(f"{place}/credentials", mode=0o700)
    os.chmod(place, 0o755)
    with open(f"{place}/credentials/admin.pgpass", "w") as f:
        f.write("*:*:*:camserver_admin:secret\n")
    command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", f"{stack.prefix}/bin/camctl", "-c", stack.conf,
               "-o", f"ADMIN_PASSFILE={place}/credentials/admin.pgpass", "-o", "ADMIN_DATABASE_URL=postgresql://127.0.0.1:1/none"]
    rows = json.loads(stack.run(*command, "doctor", "--json").stdout)
    wrong = {r["check"]: r["fix"] for r in rows if r["level"] != "ok"}
    assert set(wrong) == {"user", "database"} and all("sudo" in fix for fix in wrong.values()), wrong
    assert "sudo" in stack.run(*command, "status").stderr


@test(fronts=None)
def the_key_of_links_must_be_readable(stack):
    found = examine(stack, "-o", f"MEDIA_KEY_FILE={stack.directory}/no.key")
    says(found, "media key", "problem", "camctl media rotate-key")


@test(fronts=None)
def man_pages_name_every_option_and_every_command(stack):
    pages = {os.path.basename(p): open(p).read().replace("\\-", "-") for p in glob.glob(f"{stack.prefix}/share/man/man*/*")}
    assert sorted(pages) == ["cam-analyzer.8", "cam-dispatcher.8", "cam-manager.8", "camctl.1", "camserver.conf.5",
                             "camserver.fcgi.8", "gateway.fcgi.8"], sorted(pages)
    words = [line.split("=")[0] for line in stack.camctl("config", "show").stdout.splitlines() if not line.startswith("#")]
    assert len(words) > 30
    for word in words:
        assert f"\\fB{word}\\fR" in pages["camserver.conf.5"], word
    commands = [line.strip() for line in stack.camctl("--help").stdout.split("Commands:")[1].splitlines()
                if line.startswith("  ") and not line.startswith("   ") and line.strip()[0].islower()]
    assert len(commands) > 40
    for command in commands:
        assert " ".join(command.split()[:1]) in pages["camctl.1"], command
    for name, page in pages.items():
        path = glob.glob(f"{stack.prefix}/share/man/man*/{name}")[0]
        done = stack.run("man", "--warnings", "-l", "-Tutf8", "-Z", path)
        assert done.returncode == 0 and not done.stderr, (name, done.stderr)
    done = stack.run(f"{stack.prefix}/sbin/cam-analyzer", "--help")
    for line in done.stdout.splitlines():
        if line.startswith("  --"):
            assert f"\\fB{line.split()[0]}\\fR" in pages["cam-analyzer.8"], line


@test(fronts=None)
def bash_completes_commands_and_their_options(stack):
    script = f"{stack.prefix}/share/bash-completion/completions/camctl"

    def complete(*words):
        text = f'. {script}; COMP_WORDS=(camctl "$@"); COMP_CWORD=$#; _camctl; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return set(stack.run("bash", "-c", text, "bash", *words).stdout.split())
    assert {"doctor", "token", "camera", "status"} <= complete("")
    assert "man" not in complete(""), "what only the build uses is not offered"
    assert complete("tok") == {"token"}
    assert complete("token", "c") == {"create"}
    assert complete("token", "create", "nvr", "--role", "") == {"viewer", "ingest", "operator"}
    assert {"--status", "--camera", "--json", "retry"} <= complete("jobs", "")
    assert "DATABASE_URL=" in complete("-o", "DATA")
    assert complete("-c", "x", "doct") == {"doctor"}
