# SPDX-License-Identifier: Apache-2.0
"""scenario.py TOP STATE: installs, serves, kills, reboots, upgrades and purges the package in STATE/root, a container that
systemd boots and that has no network but loopback. The steps go on with what is there, and make what they need and is not:
PACKAGE_STEPS, a regular expression, names those to run. Prints TAP."""

import collections
import glob
import json
import os
import re
import shutil
import sys
import time
import traceback

from machine import Machine, wait_until

top, state = sys.argv[1:3]
log = open(f"{state}/scenario.log", "w", buffering=1)
m = Machine(f"{state}/root", log)
STEPS = []
VERSION = open(f"{top}/VERSION").read().strip()
BUILT = glob.glob(f"{state}/deb/camserver_*.deb")[0]
PREVIOUS = f"{state}/previous/camserver_previous.deb"
ENABLED = ["cam-dispatcher", "cam-manager", "camserver-analyzer", "camserver-fcgi", "camserver-gateway",
           "camserver-ingest", "camserver-media"]
SCORE_MAX = {"cam-manager": 3.0}  # whose workers are what the operator says; all others 2.0
# What apt and the services must not have to say when nothing is wrong.
SCARY = re.compile(r"\b(warn\w*|error\w*|fail\w*|fatal|notice|denied|refused|cannot|can't|no such file|not found|Traceback)\b", re.I)
memory = {}


def step(*needs):
    def add(function):
        STEPS.append((function, needs))
        return function
    return add


def all_active():
    return all(m.status(f"systemctl is-active {unit}") == "active" for unit in ENABLED)


def findings(command="camctl doctor --json"):
    """What the doctor calls a problem. (Only a warning: that the machine that runs the tests is busy.)"""
    return [r for r in json.loads(m.sh(command, check=False).stdout) if r["level"] == "problem"]


def wait_for_health():
    wait_until(all_active, what="all services")
    wait_until(lambda: not findings(), what="a content doctor")


def count(what, **kw):
    return int(m.sql(f"SELECT count(*) FROM camserver.{what}", **kw))


def take_lease():
    wait_until(lambda: not m.json("curl -s http://127.0.0.1/api/system/status").get("servers", [{}])[0].get("level") == "overload",
               what="the end of an overload")
    answer = m.json("""rm -f jar; curl -s -c jar -b jar -H 'Content-Type: application/json' -d '{"camera_id":"lobby","quality":"sub"}'"""
                    " http://127.0.0.1/api/modal/lease")
    assert answer.get("lease_id"), answer
    m.out(f"curl -sf -c jar -b jar -d '' http://127.0.0.1/api/modal/lease/{answer['lease_id']}/heartbeat")
    m.out(f"curl -sf -c jar -b jar -X DELETE http://127.0.0.1/api/modal/lease/{answer['lease_id']}")


def put(deb):
    """Into root's home, as the only one there; the path to give to apt."""
    for other in glob.glob(f"{m.root}/root/camserver_*.deb"):
        os.remove(other)
    shutil.copy(deb, f"{m.root}/root/")
    return f"./{os.path.basename(deb)}"


def never_overloaded():
    """A machine that runs tests is loaded, and streams would be refused for it."""
    m.out("mkdir -p /srv/proc && cp /proc/stat /proc/meminfo /srv/proc/ && echo PROC_DIR=/srv/proc >>/etc/camserver/camserver.conf"
          " && systemctl restart cam-dispatcher && camctl setting set recover_hold_sec 1")


def readme():
    """The commands of the section on installation: those to an event, and those for Apache."""
    text = open(f"{top}/README.md").read().split("## Install")[1].split("\n## ")[0].split("With Apache")
    return [re.findall(r"^    (\S.*)$", part, re.M) for part in text]


# What steps need.

def bare():
    """Nothing of the package is there."""
    if m.status("dpkg-query -W -f '${Status}' camserver 2>/dev/null"):
        m.out("echo 'camserver camserver/remove-data boolean true' | debconf-set-selections && apt-get purge -qy camserver")


def installed():
    """The present version runs, behind lighttpd."""
    if m.status("dpkg-query -W -f '${Status} ${Version}' camserver 2>/dev/null") != f"install ok installed {VERSION}":
        bare()
        follow_readme()
    if m.status("systemctl is-active apache2") == "active":
        m.out("systemctl disable --now apache2")
    if not os.path.lexists(f"{m.root}/etc/lighttpd/conf-enabled/50-camserver.conf"):
        m.out("lighttpd-enable-mod camserver && systemctl restart lighttpd")
    if m.status("systemctl is-active lighttpd") != "active":
        m.out("systemctl enable --now lighttpd")
    m.out("camctl camera list | grep -q '^lobby ' || camctl camera add lobby display_name=Lobby")
    wait_for_health()


def installed_by_readme():
    """In this run, so that what was said is known."""
    if "apt" not in memory:
        bare()
    installed()


def events():
    """Some have been seen, and images archived."""
    if not count("events"):
        m.out("camctl demo-cameras --seconds 20")
    wait_until(lambda: count("events") and m.out("find /var/lib/camserver/archive -name '*.jpg' | head -n 1"), what="events in the archive")


def follow_readme():
    commands = readme()[0]
    assert 4 <= len(commands) < 10, commands
    put(BUILT)
    for i, command in enumerate(commands):
        done = m.sh(command, check=False)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        if i == 0:
            memory["apt"], memory["unwired"] = done.stdout + done.stderr, findings()
            never_overloaded()
    memory["last"] = done.stdout


@step(bare)
def the_readme_leads_from_apt_to_an_event_in_under_ten_commands():
    print("".join(f"# {c}\n" for c in readme()[0]), end="")
    follow_readme()
    assert '"primary_event"' in memory["last"], memory["last"]
    assert not findings(), findings()


@step(installed_by_readme)
def apt_says_nothing_that_scares_and_the_doctor_what_is_left_to_do():
    scary = [line for line in memory["apt"].splitlines() if SCARY.search(line)]
    assert not scary, scary
    assert [f["check"] for f in memory["unwired"]] == ["web server"], memory["unwired"]
    assert "lighttpd-enable-mod camserver" in memory["unwired"][0]["fix"] and "a2enconf" in memory["unwired"][0]["fix"]
    # Without root it does not call broken what it cannot see.
    told = m.sh("runuser -u nobody -- camctl doctor", check=False).stdout
    assert "sudo camctl doctor" in told and "install -d" not in told and "systemctl" not in told, told
    assert m.status("dpkg --verify camserver") in ("", "??5?????? c /etc/camserver/camserver.conf"), "only what the test changed"


@step(installed)
def services_run_as_their_own_user_without_privileges():
    for unit in ENABLED:
        assert m.out(f"systemctl is-enabled {unit}") == "enabled"
        pid = m.out(f"systemctl show -p MainPID --value {unit}")
        assert m.out(f"ps -o user= -p {pid}") == "camserver", unit
        assert m.out(f"grep CapEff /proc/{pid}/status").split()[1] == "0000000000000000", unit
        assert "secret" not in m.out(f"tr '\\0' ' ' </proc/{pid}/cmdline")
    assert m.status("systemctl is-enabled camserver-rclone") == "disabled"
    assert m.out("stat -c %a:%U /etc/camserver/credentials") == "700:root"


@step(installed)
def units_are_valid_and_within_their_scores():
    for unit in [*ENABLED, "camserver-rclone"]:
        done = m.sh(f"systemd-analyze verify --man=no {unit}.service", check=False)
        assert not [x for x in done.stderr.splitlines() if unit in x and "/usr/bin/rclone is not executable" not in x], done.stderr
        line = m.out(f"systemd-analyze security --no-pager {unit}.service | tail -n 1")
        score = float(re.search(r"(\d+\.\d)", line).group(1))
        print(f"# {unit}: {score} (at most {SCORE_MAX.get(unit, 2.0)})")
        assert score <= SCORE_MAX.get(unit, 2.0), line


@step(installed)
def the_journal_reads_well_and_has_fields():
    for unit in ENABLED:
        m.out(f"systemctl restart {unit} && systemctl status --no-pager {unit}")
        for page in m.out(f"systemctl cat {unit} | sed -n 's/^Documentation=//p' | grep .").split():
            name, section = re.fullmatch(r"man:(.+)\((\d)\)", page).groups()
            assert m.out(f"ls /usr/share/man/man{section}/{name}.{section}.gz")
    wait_for_health()
    rows = [json.loads(line) for line in m.out(f"journalctl -o json --no-pager -u {' -u '.join(ENABLED)}").splitlines()]
    ours = [r for r in rows if r.get("_UID") not in (None, "0")]
    assert {"cam-dispatcher", "cam-manager", "cam-analyzer", "gateway.fcgi"} <= {r["SYSLOG_IDENTIFIER"] for r in ours}
    for r in ours:
        # systemd's own work is to say when, how bad, and of which unit.
        assert not re.match(r"(\d{4}-\d\d-\d\dT|<\d>)", r["MESSAGE"]) and r["PRIORITY"] in "34567", r
        assert r["_SYSTEMD_UNIT"].split(".")[0] in ENABLED, r
    assert any(r["PRIORITY"] == "6" and r["_TRANSPORT"] == "journal" for r in ours)


@step(installed)
def apache_serves_by_what_the_readme_says():
    m.out("systemctl disable --now lighttpd")
    assert 2 <= len(readme()[1]) < 5, readme()
    for command in readme()[1]:
        print(f"# {command}")
        m.out(command)
    wait_for_health()
    take_lease()
    # The package is removed and comes back, and so does its site.
    m.out("apt-get remove -qy camserver && systemctl is-active apache2 && test ! -e /etc/apache2/conf-enabled/camserver.conf")
    m.out(f"apt-get install -qy {put(BUILT)}")
    wait_for_health()
    take_lease()
    assert "Apache" in m.out("curl -sI http://127.0.0.1/console/")


@step(installed)
def every_service_comes_back_after_a_kill():
    for unit in ENABLED:
        before = m.out(f"systemctl show -p MainPID --value {unit}")
        m.out(f"kill -KILL {before}")
        wait_until(lambda: m.out(f"systemctl show -p MainPID --value {unit}") not in (before, "0")
                   and m.status(f"systemctl is-active {unit}") == "active", what=unit)
    # One process of a pool, too.
    pool = m.out("systemctl show -p MainPID --value camserver-fcgi")
    children = wait_until(lambda: m.status(f"pgrep -P {pool}").split(), what="the pool's processes")
    m.out(f"kill -KILL {children[0]}")
    wait_until(lambda: len(set(m.out(f"pgrep -P {pool}").split()) - {children[0]}) >= len(children), what="the process")
    wait_for_health()
    take_lease()


@step(installed)
def services_stop_when_told_to():
    m.out("systemctl restart " + " ".join(ENABLED))
    late = m.status("journalctl --no-pager | grep 'timed out. Killing'")
    assert not late, late
    wait_for_health()


@step(installed)
def a_dispatcher_that_hangs_is_started_again_by_the_watchdog():
    m.out("mkdir -p /run/systemd/system/cam-dispatcher.service.d && printf '[Service]\\nWatchdogSec=5\\n' "
          ">/run/systemd/system/cam-dispatcher.service.d/t.conf && systemctl daemon-reload && systemctl restart cam-dispatcher")
    before = m.out("systemctl show -p MainPID --value cam-dispatcher")
    m.out(f"kill -STOP {before}")
    wait_until(lambda: m.out("systemctl show -p MainPID --value cam-dispatcher") not in (before, "0"), what="the watchdog")
    m.out("rm -r /run/systemd/system/cam-dispatcher.service.d && systemctl daemon-reload && systemctl restart cam-dispatcher")
    wait_for_health()


@step(installed, events)
def everything_is_back_after_a_reboot():
    before = count("events")
    m.shut_down()
    m.boot()
    wait_for_health()
    assert count("events") >= before
    take_lease()


FRAMES = 1500
FEEDER = """
while [ ! -e stop ]; do
    curl -s -w '\\n%{http_code}\\n' -H "Authorization: Bearer $(cat token)" -H 'Content-Type: image/jpeg' --data-binary @b.jpg \
        "http://127.0.0.1/api/frames?camera_id=busy&captured_at=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" | tr '\\n' ' '
    echo
    sleep 0.02
done >answers"""
# Notes each time that the result of an analysis is written, whatever the programs say of it.
PROBE = """
CREATE SCHEMA probe;
CREATE TABLE probe.analysed (frame_uuid uuid, at timestamptz);
CREATE FUNCTION probe.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN INSERT INTO probe.analysed VALUES (NEW.frame_uuid, clock_timestamp()); RETURN NULL; END $$;
CREATE TRIGGER probe AFTER UPDATE ON camserver.frames FOR EACH ROW
    WHEN (NEW.analyzed AND NEW.analyzed_at IS DISTINCT FROM OLD.analyzed_at) EXECUTE FUNCTION probe.note()"""


def busy_with_the_previous_version():
    """The previous version serves, changed here and there by its administrator; a long queue, slowly worked on."""
    m.out(f"apt-get install -qy {put(PREVIOUS)} postgresql lighttpd && lighttpd-enable-mod camserver && systemctl restart lighttpd")
    never_overloaded()
    m.out("echo '# kept' >>/etc/camserver/camserver.conf && sed -i 's/^FCGI_WORKERS=.*/FCGI_WORKERS=3/' /etc/default/camserver"
          " && camctl setting set keep_normal_days 15 && camctl setting set camera_queue_max 5000"
          " && systemctl restart camserver-fcgi")
    m.out("camctl camera add lobby && camctl camera add busy && camctl token create nvr --role ingest 2>/dev/null | tail -n 1 >token"
          " && camctl demo-cameras --draw b.jpg --camera entrance --at 9")
    wait_for_health()
    # 15 analyses a second, so that the queue is there for longer than any upgrade takes, on whatever machine.
    limits = {"providers": {"here": {"provider": "openai", "models": [
        {"name": "is21", "rate_limit": {"requests": 15, "window_ms": 1000, "concurrent": 4}}]}}}
    with open(f"{m.root}/root/limits.json", "w") as f:
        json.dump(limits, f)
    m.out("camctl limits load limits.json")
    m.sql(PROBE)
    m.out("systemctl stop cam-dispatcher && rm -f stop answers"
          f" && camctl enqueue --camera busy --interval 1 $(yes b.jpg | head -n {FRAMES}) && systemctl start cam-dispatcher")


def queue_length():
    return int(m.sql("SELECT count(*) FROM camserver.inference_jobs WHERE status IN ('queued', 'running', 'waiting')"))


@step(bare)
def an_upgrade_with_a_running_queue_loses_nothing():
    busy_with_the_previous_version()
    schema = int(m.sql("SELECT max(version) FROM camserver.schema_migrations"))
    feeder = m.start(FEEDER)
    try:
        wait_until(lambda: int(m.sql("SELECT count(*) FROM probe.analysed")) > 20, what="work")
        before = queue_length()
        # As an administrator who answers that his changed configuration stays.
        said = m.out(f"apt-get install -qy -o Dpkg::Options::=--force-confold {put(BUILT)}")
        after = queue_length()
        wait_until(all_active, what="all services")
        more = count("frames")
        wait_until(lambda: count("frames") > more + 10, what="frames after the upgrade")
    finally:
        m.out("touch stop")
        feeder.wait(60)
    assert before and after, "the queue was never empty meanwhile"
    m.out("camctl limits set model is21 requests=10000 concurrent=8")
    assert f"Unpacking camserver ({VERSION}) over ({VERSION}~previous)" in said, said
    wait_until(lambda: queue_length() == 0, timeout=600, what="an empty queue")
    answers = [line.strip().rpartition(" ")[::2] for line in open(f"{m.root}/root/answers").read().splitlines()]
    codes = collections.Counter(code for _, code in answers)
    accepted = [json.loads(body)["frame_uuid"] for body, code in answers if code in ("200", "202")]
    print(f"# queue at the start of the upgrade: {before}, at its end: {after}; answers meanwhile: {dict(codes)}")
    # Programs refuse with 503 and their reasons; pages are the web server's, whose program has just gone (lighttpd: 500, 503).
    assert all(code == "202" or code == "503" or code[0] == "5" and body.startswith("<") for body, code in answers), codes
    assert len(accepted) > 10, codes
    # Each frame that was accepted, by whatever way, has been analysed, and its result written once.
    written = collections.Counter(m.sql("SELECT frame_uuid FROM probe.analysed").split())
    stored = m.sql("SELECT frame_uuid FROM camserver.frames WHERE camera_id = 'busy'").split()
    assert set(accepted) <= set(stored) and len(stored) >= FRAMES + len(accepted), (len(stored), len(accepted))
    assert all(written[uuid] == 1 for uuid in stored), [u for u in stored if written[u] != 1][:5]
    by_new = int(m.sql("SELECT count(*) FROM probe.analysed WHERE at > (SELECT max(started_at) FROM camserver.dispatchers)"))
    print(f"# {len(stored)} frames, each analysed once: {len(written) - by_new} by the previous version, {by_new} by this one")
    assert 0 < by_new < len(written)
    assert m.sql("SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'analyze' AND status = 'done'") == str(len(stored))
    assert m.sql("SELECT count(*) FROM camserver.inference_jobs WHERE status = 'dead'") == "0"
    # So has what followed: each detection is in the archive.
    assert m.sql("SELECT count(*) FROM camserver.frames f WHERE detected AND NOT EXISTS (SELECT 1 FROM camserver.archive_objects a"
                 " WHERE a.frame_id = f.frame_id)") == "0"
    newest = int(m.sql("SELECT max(version) FROM camserver.schema_migrations"))
    print(f"# the schema went from version {schema} to {newest}")
    assert newest > schema
    assert m.out("tail -n 1 /etc/camserver/camserver.conf") == "# kept"
    assert m.sql("SELECT value FROM camserver.settings WHERE name = 'keep_normal_days'") == "15"
    wait_until(lambda: len(m.out("pgrep -P $(systemctl show -p MainPID --value camserver-fcgi)").split()) == 3, what="three processes")
    m.sql("DROP SCHEMA probe CASCADE")
    wait_for_health()
    take_lease()


@step(installed, events)
def a_downgrade_is_refused_and_changes_nothing():
    before = count("events")
    done = m.sh(f"apt-get install -qy --allow-downgrades {put(PREVIOUS)}", check=False)
    assert done.returncode != 0 and "A downgrade is refused" in done.stdout + done.stderr, done.stdout
    m.out("dpkg --configure -a")
    assert m.out("dpkg-query -W -f '${Version} ${Status}' camserver") == f"{VERSION} install ok installed"
    wait_for_health()
    assert count("events") >= before
    take_lease()


@step(installed)
def setting_up_again_changes_nothing():
    secrets = "sha256sum /etc/camserver/credentials/* /etc/camserver/media.key /etc/camserver/rclone.password"
    before = m.out(secrets)
    for command in ("dpkg-reconfigure camserver", f"apt-get install -qy --reinstall {put(BUILT)}"):
        done = m.sh(command)
        scary = [line for line in (done.stdout + done.stderr).splitlines() if SCARY.search(line)]
        assert not scary, scary
        assert m.out(secrets) == before
    wait_for_health()


@step(installed)
def the_doctor_sees_a_wrong_password_and_its_fix_helps():
    m.sql("ALTER ROLE camserver_dispatcher PASSWORD 'another'")
    found = findings()
    assert [f["check"] for f in found] == ["roles"] and "dpkg-reconfigure camserver" in found[0]["fix"], found
    m.out("dpkg-reconfigure camserver")
    wait_for_health()


@step(installed)
def a_database_elsewhere_by_changing_one_line():
    """A second cluster under the host's name stands for another host: nothing of it is reached as the local postgres."""
    m.out("pg_createcluster 15 elsewhere -p 5433 --start && cp /etc/camserver/camserver.conf conf.before")
    m.out("sed -i 's|^DATABASE_URL=.*|DATABASE_URL=postgresql://camtest:5433/camserver|' /etc/camserver/camserver.conf")
    told = m.sh("dpkg-reconfigure camserver")
    assert "setup --sql" in told.stdout + told.stderr, told.stdout + told.stderr
    m.out("/usr/libexec/camserver/setup --sql | (cd / && runuser -u postgres -- psql -Xq -p 5433 -v ON_ERROR_STOP=1 postgres)")
    m.out("dpkg-reconfigure camserver && systemctl restart 'cam*.service' && camctl camera add lobby")
    wait_for_health()
    take_lease()
    assert count("ended_leases", port=5433) == 1
    m.out("cp conf.before /etc/camserver/camserver.conf && systemctl restart 'cam*.service' && pg_dropcluster --stop 15 elsewhere")
    wait_for_health()


@step(installed, events)
def a_backup_is_restored_as_the_manual_says():
    # The cameras are still, so both counts are of the same moment.
    wait_until(lambda: queue_length() == 0, what="an empty queue")
    before = count("events"), count("frames")
    m.out("cd / && runuser -u postgres -- pg_dump -Fc camserver >/root/camserver.dump && systemctl stop 'cam*.service'")
    m.out("cd / && runuser -u postgres -- dropdb camserver && runuser -u postgres -- createdb -O camserver_admin camserver"
          " && runuser -u postgres -- pg_restore -d camserver </root/camserver.dump")
    m.out("dpkg-reconfigure camserver && systemctl start " + " ".join(ENABLED))
    wait_for_health()
    assert (count("events"), count("frames")) == before
    take_lease()


@step(installed)
def workers_run_in_the_sandbox_and_outlive_their_manager():
    m.out("echo ENABLE_CONTAINER_POOLING=yes >>/etc/camserver/camserver.conf && systemctl restart cam-manager")
    m.out("camctl pool list | grep -q '^thumbs ' ||"
          " camctl pool add thumbs command=/usr/sbin/cam-analyzer call_path=/v1/capabilities max_capacity=1")

    def call():
        return wait_until(lambda: m.status("camctl pool call thumbs"), what="a worker")
    assert "supported_primary_events" in call()
    workers = "pgrep -u camserver -x cam-analyzer | sort"
    before = m.out(workers)
    assert len(before.split()) == 2, before  # the service's and the pool's
    m.out("systemctl restart cam-manager")
    wait_for_health()
    assert "supported_primary_events" in call()
    assert m.out(workers) == before
    assert m.out("journalctl -o json -u cam-manager --no-pager | grep -c CAMSERVER_WORKER") != "0", "a field names the worker"


@step(installed)
def rclone_serves_loopback_with_its_password_only():
    m.out("apt-get install -qy rclone && systemctl start camserver-rclone")
    code = "curl -s -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:5572/rc/noopauth"
    wait_until(lambda: m.status(code) == "401", what="rclone asking for a password")
    assert m.out(code.replace("curl", 'curl -u "camserver:$(cat /etc/camserver/rclone.password)"')) == "200"
    assert m.out("cat /etc/camserver/rclone.password") not in m.out("ps -eo args; cat /proc/[0-9]*/environ | tr '\\0' '\\n' || :")
    m.out("systemctl stop camserver-rclone")


def remove(before):
    m.out("apt-get remove -qy camserver")
    assert count("events") == before
    assert m.out("find /var/lib/camserver/archive -name '*.jpg' | wc -l") != "0"
    assert m.out("ls /etc/camserver/camserver.conf /etc/camserver/media.key")
    assert m.status("systemctl is-active lighttpd") == "active"
    assert not m.status("pgrep -u camserver -a")


@step(installed, events)
def removed_and_installed_again_it_is_as_before():
    before = count("events")
    remove(before)
    done = m.sh(f"apt-get install -qy {put(BUILT)}")
    scary = [line for line in (done.stdout + done.stderr).splitlines() if SCARY.search(line)]
    assert not scary, scary
    wait_for_health()  # which has the web server in it
    assert count("events") == before
    take_lease()


@step(installed, events)
def it_may_be_installed_while_postgresql_is_away():
    before = count("events")
    remove(before)
    done = m.sh(f"systemctl stop postgresql; apt-get install -qy {put(BUILT)}")
    assert (done.stdout + done.stderr).count("dpkg-reconfigure camserver") == 1, "says once what is to be done"
    m.out("systemctl start postgresql && dpkg-reconfigure camserver")
    wait_for_health()
    assert count("events") == before
    take_lease()


@step()
def autopkgtest_passes_in_a_machine_of_its_own():
    """autopkgtest itself installs the package and what each test depends on; nothing else is there."""
    own = Machine(f"{state}/root-autopkgtest", log)
    shutil.copy(BUILT, f"{own.root}/root/")
    shutil.copytree(f"{top}/debian", f"{own.root}/root/source/debian", dirs_exist_ok=True)
    own.boot()
    try:
        own.out("apt-get install -qy autopkgtest")
        done = own.sh("rm -rf output; autopkgtest -q --output-dir=/root/output --summary-file=/root/summary"
                      f" ./{os.path.basename(BUILT)} ./source/ -- null", check=False, timeout=1500)
        summary = own.out("cat summary")
        print("".join(f"# autopkgtest: {line}\n" for line in summary.splitlines()), end="")
        log.write(own.status("tail -n 50 output/*-stdout output/*-stderr"))
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        tests = re.findall(r"^Tests: (.*)", open(f"{top}/debian/tests/control").read(), re.M)
        assert [line.split() for line in summary.splitlines()] == [[name, "PASS"] for name in tests], summary
    finally:
        own.shut_down()


@step(installed, events)
def a_purge_asks_before_the_data_and_leaves_nothing_of_its_own():
    before = count("events")
    m.out("apt-get remove -qy camserver && apt-get purge -qy camserver")
    assert count("events") == before, "no answer is a no: the database stays"
    assert m.out("find /var/lib/camserver -name '*.jpg' | grep -vc /archive/ || :") == "0"
    m.out(f"apt-get install -qy {put(BUILT)}")
    wait_until(all_active, what="all services")
    assert count("events") == before
    said = m.talk("apt-get purge -y camserver", "[yes/no]", "yes")
    assert "Remove camserver's database and archived images?" in said
    left = m.out("find / -xdev \\( -path /proc -o -path /sys -o -path /root -o -path /var/log -o -path /var/cache -o -path /tmp \\) -prune"
                 " -o \\( -iname '*camserver*' -o -name 'cam-*' -o -name 'camctl*' \\) -print; ls -d /run/camserver 2>/dev/null || :")
    left = [p for p in left.splitlines() if not p.startswith("/var/lib/systemd/deb-systemd") and not p.startswith("/var/tmp/systemd-private")]
    assert not left, left
    assert m.out("getent passwd camserver; getent group camserver || :") == ""
    assert m.out("cd / && runuser -u postgres -- psql -XAtc \"SELECT count(*) FROM pg_database WHERE datname = 'camserver'\"") == "0"
    assert m.out("cd / && runuser -u postgres -- psql -XAtc \"SELECT count(*) FROM pg_roles WHERE rolname LIKE 'camserver%'\"") == "0"
    assert m.out("systemctl is-active lighttpd postgresql").split() == ["active", "active"]
    assert not m.status("systemctl --failed --no-legend --no-pager | grep cam")
    assert not m.status("journalctl --no-pager | grep 'timed out. Killing'")


def run(function, needs):
    """Whether it passed."""
    start = time.monotonic()
    log.write(f"\n=== {function.__name__}\n")
    try:
        for need in needs:
            need()
        function()
        print(f"ok - {function.__name__.replace('_', ' ')} # {time.monotonic() - start:.0f} s", flush=True)
        return True
    except Exception:
        print(f"not ok - {function.__name__.replace('_', ' ')}", flush=True)
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
        m.sh("journalctl --no-pager -n 60 -u 'cam*'", check=False)
        return False


def main():
    only, failed = os.environ.get("PACKAGE_STEPS", ""), 0
    m.boot()
    try:
        for function, needs in STEPS:
            if re.search(only, function.__name__):
                failed += not run(function, needs)
    finally:
        m.shut_down()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
