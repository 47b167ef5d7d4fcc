# SPDX-License-Identifier: Apache-2.0
"""camctl and the other programs as a person uses them: help, versions, good errors, migrations."""

import json
import os

from harness import test, unique

PROGRAMS = ("bin/camctl", "sbin/cam-dispatcher", "sbin/cam-manager", "libexec/camserver/camserver.fcgi")


@test(fronts=None)
def every_program_has_help_and_a_version(stack):
    for program in PROGRAMS:
        done = stack.run(f"{stack.prefix}/{program}", "--help")
        assert done.returncode == 0 and "DATABASE_URL" in done.stdout and "Usage:" in done.stdout, program
        done = stack.run(f"{stack.prefix}/{program}", "--version")
        assert done.returncode == 0 and done.stdout.split()[1][0].isdigit(), done.stdout
        done = stack.run(f"{stack.prefix}/{program}", "--nonsense")
        assert done.returncode == 1 and "--help" in done.stderr, program


@test(fronts=None)
def a_bad_configuration_names_file_and_line(stack):
    path = f"{stack.directory}/bad.conf"
    for text, complaint in (("LOG_LEVEL=info\n\nDB_TIMEOUT_MS=soon\n", "bad.conf:3: DB_TIMEOUT_MS must be a whole number"),
                            ("DATABSE_URL=x\n", "bad.conf:1: there is no option DATABSE_URL"),
                            ("# fine\nhello\n", "bad.conf:2: not of the form NAME=value"),
                            ("SPOOL_DIR=spool\n", "bad.conf:1: SPOOL_DIR must be an absolute path"),
                            ("ANONYMOUS_VIEWER=maybe\n", "bad.conf:1: ANONYMOUS_VIEWER must be yes or no")):
        with open(path, "w") as f:
            f.write(text)
        for program in PROGRAMS:
            done = stack.run(f"{stack.prefix}/{program}", "-c", path)
            assert done.returncode == 1 and complaint in done.stderr, (program, done.stderr)
    done = stack.run(f"{stack.prefix}/bin/camctl", "-c", "/nowhere.conf", "status")
    assert done.returncode == 1 and "/nowhere.conf" in done.stderr


@test(fronts=None)
def config_show_says_where_values_come_from_and_hides_passwords(stack):
    env = dict(os.environ, DATABASE_URL="postgresql://cam:secret@db/cam", LOG_LEVEL="debug")
    done = stack.run(f"{stack.prefix}/bin/camctl", "-c", stack.conf, "-o", "DB_TIMEOUT_MS=1234", "config", "show", env=env)
    assert "DATABASE_URL=postgresql://cam:***@db/cam" in done.stdout and "secret" not in done.stdout
    for piece in ("LOG_LEVEL=debug", "(environment)", "DB_TIMEOUT_MS=1234", "(command line)", stack.conf, "(default)"):
        assert piece in done.stdout, piece


@test(fronts=None)
def commands_that_do_not_exist_or_lack_arguments(stack):
    for words in (["nonsense"], [], ["camera"], ["camera", "add"], ["setting", "set", "x"], ["token", "create"]):
        done = stack.camctl(*words, check=False)
        assert done.returncode == 1 and ("--help" in done.stderr or "Usage" in done.stderr), (words, done.stderr)
    assert "token create" in stack.camctl("token", "create", "--help").stdout


@test(fronts=None)
def settings_and_cameras_refuse_bad_values(stack):
    for words, complaint in ((["setting", "set", "overload_cpu_percent", "101"], "not between"),
                             (["setting", "set", "recover_hold_sec", "1.5"], "whole number"),
                             (["setting", "set", "no_such", "1"], "no setting"),
                             (["camera", "add", "bad id"], "camera_id: this value is not allowed"),
                             (["camera", "add", unique("c"), "color=red"], "no property"),
                             (["camera", "add", unique("c"), "stream_server_id=nowhere"], "foreign key"),
                             (["camera", "set", "no_such_camera", "enabled=false"], "there is no camera"),
                             (["camera", "add", unique("c"), "x"], "name=value"),
                             (["server", "set", unique("s"), "total_units=-1"], "total_units: this value is not allowed"),
                             (["token", "create", unique("t"), "--role", "king"], "caller_role"),
                             (["leases", "revoke", "x"], "not a lease id")):
        done = stack.camctl(*words, check=False)
        assert done.returncode == 1 and complaint in done.stderr, (words, done.stderr)


@test(fronts=None)
def lists_are_tables_or_JSON(stack):
    camera = unique("cam")
    stack.camctl("camera", "add", camera, "display_name=玄関カメラ", "location_label=1F")
    assert camera in stack.camctl("camera", "list").stdout
    rows = json.loads(stack.camctl("camera", "list", "--json").stdout)
    assert next(r for r in rows if r["camera_id"] == camera)["display_name"] == "玄関カメラ"
    for words in (["status"], ["leases"], ["leases", "ended"], ["refusals"], ["server", "list"], ["dispatchers"],
                  ["pool", "list"], ["workers"], ["setting", "list"], ["token", "list"], ["user", "list"]):
        assert stack.camctl(*words).stdout, words
        json.loads(stack.camctl(*words, "--json").stdout)


def dump(stack, database):
    done = stack.run("pg_dump", "-h", stack.pg_host, "-U", stack.admin, "-s", "--no-comments", "-d", database)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\"))]


@test(fronts=None)
def a_migrated_schema_equals_a_fresh_one(stack):
    """From every older version, and from the newest again."""
    newest = stack.one("SELECT max(version) FROM camserver.schema_migrations")
    url = lambda name: f"ADMIN_DATABASE_URL=host={stack.pg_host} user={stack.admin} dbname={name}"
    names = [unique("fresh")] + [unique("old") for _ in range(newest)]
    try:
        for version, name in enumerate(names):
            stack.sql(f"CREATE DATABASE {name}")
            if version > 0:
                stack.camctl("-o", url(name), "db", "migrate", "--to", str(version))
                assert (stack.camctl("-o", url(name), "db", "status", check=False).returncode == 0) == (version == newest)
            stack.camctl("-o", url(name), "db", "migrate")
            stack.camctl("-o", url(name), "db", "migrate")
            stack.camctl("-o", url(name), "db", "status")
        fresh = dump(stack, names[0])
        assert len(fresh) > 500
        for name in names[1:]:
            assert dump(stack, name) == fresh, name
        stack.camctl("-o", url(names[0]), "camera", "add", "x")
        assert stack.camctl("-o", url(names[0]), "db", "reset", check=False).returncode == 1
        stack.camctl("-o", url(names[0]), "db", "reset", "--yes")
        assert json.loads(stack.camctl("-o", url(names[0]), "camera", "list", "--json").stdout) == []
    finally:
        for name in names:
            stack.sql(f"DROP DATABASE IF EXISTS {name}")


@test(fronts=None)
def a_newer_database_is_refused_and_a_failed_migration_changes_nothing(stack):
    import shutil
    name, files = unique("next"), f"{stack.directory}/{unique('sql')}"
    url = f"ADMIN_DATABASE_URL=host={stack.pg_host} user={stack.admin} dbname={name}"
    camctl = lambda *words: stack.run(f"{stack.prefix}/bin/camctl", "-c", stack.conf, "-o", url, *words,
                                      env=dict(os.environ, CAMSERVER_SQL_DIR=files))
    shutil.copytree(f"{stack.prefix}/share/camserver/sql", files)
    stack.sql(f"CREATE DATABASE {name}")
    try:
        assert camctl("db", "migrate").returncode == 0
        with open(f"{files}/migrations/9001_broken.sql", "w") as f:
            f.write("CREATE TABLE camserver.half (a int); SELECT 1/0;")
        done = camctl("db", "migrate")
        assert done.returncode == 1 and "9001_broken.sql" in done.stderr and "nothing was changed" in done.stderr
        with open(f"{files}/migrations/9001_broken.sql", "w") as f:
            f.write("CREATE TABLE camserver.half (a int);")
        with open(f"{files}/functions/extra.sql", "w") as f:
            f.write("CREATE OR REPLACE FUNCTION camserver.extra() RETURNS int LANGUAGE sql AS 'SELECT 1';")
        assert camctl("db", "migrate").returncode == 0
        os.remove(f"{files}/functions/extra.sql")
        assert camctl("db", "migrate").returncode == 0
        gone = stack.run("psql", "-XqAt", "-h", stack.pg_host, "-U", stack.admin, "-d", name, "-c",
                         "SELECT to_regproc('camserver.extra') IS NULL").stdout.strip()
        assert gone == "t", "a function that no file holds any more is dropped"
        os.remove(f"{files}/migrations/9001_broken.sql")
        done = camctl("db", "migrate")
        assert done.returncode == 1 and "install the newer camserver" in done.stderr
    finally:
        stack.sql(f"DROP DATABASE {name}")


@test(fronts=None)
def the_api_role_can_do_nothing_but_its_calls(stack):
    import psycopg2
    api = stack.connect("camserver_api")
    for statement in ("SELECT * FROM camserver.api_tokens", "DELETE FROM camserver.modal_leases",
                      "UPDATE camserver.settings SET value = '1'", "SELECT camserver.token_create('x', 'operator', '\\x00')",
                      "SELECT camserver.setting_set('ui_active_sec', '5')", "SELECT camserver.lease_revoke(gen_random_uuid())",
                      "CREATE TABLE camserver.mine (a int)", "SELECT camserver.lease_end('default', NULL, NULL, now())",
                      "SELECT * FROM camserver.live_leases", "SET ROLE camserver_owner"):
        try:
            with api.cursor() as c:
                c.execute(statement)
            raise AssertionError(f"allowed: {statement}")
        except psycopg2.errors.InsufficientPrivilege:
            pass
    api.close()
