# SPDX-License-Identifier: Apache-2.0
"""scenario.py TOP STATE: installs, serves, kills, reboots, upgrades and purges the package in STATE/root, a container that
systemd boots and that has no network but loopback. One step after the other, each on what the one before left. Prints TAP."""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import traceback

top, state = sys.argv[1:3]
root = f"{state}/root"
log = open(f"{state}/scenario.log", "w", buffering=1)
STEPS = []
ENABLED = ["cam-dispatcher", "cam-manager", "camserver-analyzer", "camserver-fcgi", "camserver-gateway",
           "camserver-ingest", "camserver-media"]
SCORE_MAX = {"cam-manager": 3.0}  # whose workers are what the operator says; all others 2.0
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def step(function):
    STEPS.append(function)
    return function


def wait_until(condition, timeout=120, what="the condition"):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {timeout} s"
        time.sleep(0.5)


class Machine:
    """The container: boot, shut down, and commands inside of it as root."""

    def __init__(self):
        self.process = self.leader = None

    def boot(self):
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-q", "-D", root, "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--boot"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))

        def child():
            assert self.process.poll() is None, "the container ended"
            found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
            return found[0] if found else None
        self.leader = wait_until(child, what="the container's init")
        wait_until(lambda: self.sh("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded"),
                   what="the end of the boot")

    def shut_down(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.sh("systemctl poweroff", check=False)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def sh(self, command, check=True, env=None, timeout=600):
        words = ["nsenter", "-t", self.leader, "-a", "--", "env", "-i",
                 *[f"{k}={v}" for k, v in {**ENV, **(env or {})}.items()], "bash", "-c", f"cd /root\n{command}"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        log.write(f"$ {command}\n{done.stdout}{done.stderr}[{done.returncode}]\n")
        assert not check or done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def out(self, command, **kw):
        return self.sh(command, **kw).stdout.strip()

    def json(self, command):
        return json.loads(self.out(command))

    def sql(self, statement):
        return self.out(f"cd / && runuser -u postgres -- psql -XAtq camserver -c {shlex.quote(statement)}")


m = Machine()
memory = {}


def all_active():
    return all(m.sh(f"systemctl is-active {unit}", check=False).stdout.strip() == "active" for unit in ENABLED)


def problems():
    rows = json.loads(m.sh("camctl doctor --json", check=False).stdout)
    # The machine that runs the tests may be as busy as it likes.
    return [r for r in rows if r["level"] == "problem"]


def wait_for_health():
    wait_until(all_active, what="all services")
    wait_until(lambda: not problems(), what="a content doctor")


def take_lease():
    wait_until(lambda: not m.json("curl -s http://127.0.0.1/api/system/status").get("servers", [{}])[0].get("level") == "overload",
               what="the end of an overload")
    answer = m.json("""rm -f jar; curl -s -c jar -b jar -H 'Content-Type: application/json' -d '{"camera_id":"lobby","quality":"sub"}'"""
                    " http://127.0.0.1/api/modal/lease")
    assert answer.get("lease_id"), answer
    m.out(f"curl -sf -c jar -b jar -d '' http://127.0.0.1/api/modal/lease/{answer['lease_id']}/heartbeat")
    m.out(f"curl -sf -c jar -b jar -X DELETE http://127.0.0.1/api/modal/lease/{answer['lease_id']}")


@step
def the_readme_leads_from_apt_to_an_event_in_under_ten_commands():
    text = open(f"{top}/README.md").read().split("## Install")[1].split("\n## ")[0]
    commands = re.findall(r"^    (\S.*)$", text.split("```")[0], re.M)
    assert 4 <= len(commands) < 10, commands
    print("".join(f"# {c}\n" for c in commands), end="")
    deb = glob.glob(f"{state}/deb/camserver_*.deb")[0]
    shutil.copy(deb, f"{root}/root/")
    for i, command in enumerate(commands):
        done = m.sh(command, check=False)
        # The doctor may still wait for the first heartbeat; nothing else may fail.
        assert done.returncode == 0 or command.startswith("camctl doctor"), (command, done.stdout[-2000:], done.stderr[-2000:])
        memory["last"] = done.stdout
        if i == 0:  # a machine that runs tests is loaded, and streams would be refused for it
            m.out("mkdir /srv/proc && cp /proc/stat /proc/meminfo /srv/proc/ && echo PROC_DIR=/srv/proc >>/etc/camserver/camserver.conf"
                  " && systemctl reload cam-dispatcher && systemctl restart cam-dispatcher && camctl setting set recover_hold_sec 1")
    assert '"primary_event"' in memory["last"], memory["last"]
    assert m.sh("camctl doctor", check=False).returncode == 0, problems()


@step
def services_run_as_their_own_user_without_privileges():
    wait_for_health()
    for unit in ENABLED:
        assert m.out(f"systemctl is-enabled {unit}") == "enabled"
        pid = m.out(f"systemctl show -p MainPID --value {unit}")
        assert m.out(f"ps -o user= -p {pid}") == "camserver", unit
        assert m.out(f"grep CapEff /proc/{pid}/status").split()[1] == "0000000000000000", unit
        assert "secret" not in m.out(f"tr '\\0' ' ' </proc/{pid}/cmdline")
    assert m.sh("systemctl is-enabled camserver-rclone", check=False).stdout.strip() == "disabled"
    assert m.out("stat -c %a:%U /etc/camserver/credentials") == "700:root"


@step
def units_are_valid_and_within_their_scores():
    for unit in [*ENABLED, "camserver-rclone"]:
        done = m.sh(f"systemd-analyze verify --man=no {unit}.service", check=False)
        assert not [x for x in done.stderr.splitlines() if unit in x and "/usr/bin/rclone is not executable" not in x], done.stderr
        line = m.out(f"systemd-analyze security --no-pager {unit}.service | tail -n 1")
        score = float(re.search(r"(\d+\.\d)", line).group(1))
        print(f"# {unit}: {score} (at most {SCORE_MAX.get(unit, 2.0)})")
        assert score <= SCORE_MAX.get(unit, 2.0), line


@step
def the_journal_has_fields():
    rows = [json.loads(line) for line in m.out("journalctl -o json -t cam-dispatcher --no-pager").splitlines()]
    assert any(r.get("PRIORITY") == "6" and r.get("_SYSTEMD_UNIT") == "cam-dispatcher.service" and r.get("_TRANSPORT") == "journal"
               for r in rows), rows[:3]


def autopkgtest(name):
    shutil.copytree(f"{top}/debian/tests", f"{root}/root/tests", dirs_exist_ok=True)
    print("".join(f"# {line}\n" for line in m.out(f"tests/{name}").splitlines() if line.startswith("ok: ")), end="")


@step
def lighttpd_lease_frame_and_event():
    m.out("camctl camera add lobby display_name=Lobby")
    autopkgtest("lighttpd")


@step
def apache_lease_frame_and_event():
    m.out("apt-get install -qy apache2 libapache2-mod-xsendfile", env={"RUNLEVEL": "1"})
    autopkgtest("apache")


@step
def back_to_lighttpd():
    m.out("a2disconf camserver && systemctl disable --now apache2 && systemctl start lighttpd")
    wait_for_health()


@step
def every_service_comes_back_after_a_kill():
    for unit in ENABLED:
        before = m.out(f"systemctl show -p MainPID --value {unit}")
        m.out(f"kill -KILL {before}")
        wait_until(lambda: m.out(f"systemctl show -p MainPID --value {unit}") not in (before, "0")
                   and m.sh(f"systemctl is-active {unit}", check=False).stdout.strip() == "active", what=unit)
    # One process of a pool, too.
    pool = m.out("systemctl show -p MainPID --value camserver-fcgi")
    children = m.out(f"pgrep -P {pool}").split()
    m.out(f"kill -KILL {children[0]}")
    wait_until(lambda: len(set(m.out(f"pgrep -P {pool}").split()) - {children[0]}) == len(children), what="the process")
    wait_for_health()
    take_lease()


@step
def services_stop_when_told_to():
    m.out("systemctl restart " + " ".join(ENABLED))
    late = m.sh("journalctl --no-pager | grep 'timed out. Killing'", check=False).stdout
    assert not late, late
    wait_for_health()


@step
def a_dispatcher_that_hangs_is_started_again_by_the_watchdog():
    before = m.out("systemctl show -p MainPID --value cam-dispatcher")
    m.out("mkdir -p /run/systemd/system/cam-dispatcher.service.d && printf '[Service]\\nWatchdogSec=5\\n' "
          ">/run/systemd/system/cam-dispatcher.service.d/t.conf && systemctl daemon-reload && systemctl restart cam-dispatcher")
    before = m.out("systemctl show -p MainPID --value cam-dispatcher")
    m.out(f"kill -STOP {before}")
    wait_until(lambda: m.out("systemctl show -p MainPID --value cam-dispatcher") not in (before, "0"), what="the watchdog")
    m.out("rm -r /run/systemd/system/cam-dispatcher.service.d && systemctl daemon-reload && systemctl restart cam-dispatcher")
    wait_for_health()


@step
def everything_is_back_after_a_reboot():
    events = int(m.sql("SELECT count(*) FROM camserver.events"))
    assert events > 0
    m.shut_down()
    m.boot()
    wait_for_health()
    assert int(m.sql("SELECT count(*) FROM camserver.events")) >= events
    take_lease()


def newer_deb():
    """The same package one version on, with a schema one migration on."""
    version = open(f"{top}/VERSION").read().strip()
    newer = f"{version}+next"
    work = f"{state}/newer"
    shutil.rmtree(work, ignore_errors=True)
    deb = glob.glob(f"{state}/deb/camserver_*.deb")[0]
    subprocess.run(["dpkg-deb", "-R", deb, work], check=True)
    for path, pattern in (("DEBIAN/control", rf"^Version: {re.escape(version)}$"), ("DEBIAN/preinst", re.escape(f'"{version}"'))):
        text = open(f"{work}/{path}").read()
        changed = re.sub(pattern, lambda found: found.group(0).replace(version, newer), text, flags=re.M)
        assert changed != text, path
        open(f"{work}/{path}", "w").write(changed)
    open(f"{work}/usr/share/camserver/sql/migrations/9001_next.sql", "w").write(
        "CREATE TABLE camserver.next_thing (a integer);\n")
    out = f"{root}/root/camserver_{newer}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", work, out], check=True, stdout=subprocess.DEVNULL)
    return newer


@step
def an_upgrade_with_a_running_queue_loses_nothing():
    newer = newer_deb()
    m.out("camctl camera add busy && echo '# kept' >>/etc/camserver/camserver.conf"
          " && camctl token create nvr --role ingest 2>/dev/null | tail -n 1 >token")
    before = int(m.sql("SELECT count(*) FROM camserver.frames"))
    # Frames come in all the while: those that were accepted must all be analysed.
    feeder = subprocess.Popen(
        ["nsenter", "-t", m.leader, "-a", "--", "env", "-i", *[f"{k}={v}" for k, v in ENV.items()], "bash", "-c", """
        cd /root
        camctl demo-cameras --draw b.jpg --camera entrance --at 9 >/dev/null
        while [ ! -e stop ]; do
            curl -s -w ' %{http_code}\\n' -H "Authorization: Bearer $(cat token)" -H 'Content-Type: image/jpeg' --data-binary @b.jpg \
                "http://127.0.0.1/api/frames?camera_id=busy&captured_at=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)"
            sleep 0.02
        done >answers 2>/dev/null"""])
    try:
        wait_until(lambda: int(m.sql("SELECT count(*) FROM camserver.frames WHERE camera_id = 'busy'")) > 20, what="a running queue")
        m.out(f"apt-get install -qy ./camserver_{newer}.deb")
        wait_until(all_active, what="all services")
        more = int(m.sql("SELECT count(*) FROM camserver.frames"))
        wait_until(lambda: int(m.sql("SELECT count(*) FROM camserver.frames")) > more + 10, what="frames after the upgrade")
    finally:
        m.out("touch stop")
        feeder.wait(60)
    accepted = m.out("grep -c ' 20[02]$' answers")
    refused = m.out("grep -c ' [345]..$' answers || :")
    print(f"# {accepted} frames accepted, {refused} refused meanwhile")
    wait_until(lambda: m.sql("SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'analyze' AND status IN ('queued', 'running',"
                             " 'waiting')") == "0", timeout=300, what="an empty queue")
    stored = int(m.sql("SELECT count(*) FROM camserver.frames WHERE camera_id = 'busy' AND analyzed"))
    assert stored >= int(accepted), (stored, accepted)
    assert m.sql("SELECT count(*) FROM camserver.inference_jobs WHERE status = 'dead'") == "0"
    assert int(m.sql("SELECT count(*) FROM camserver.frames")) >= before + int(accepted)
    assert m.sql("SELECT max(version) FROM camserver.schema_migrations") == "9001", "the schema was migrated"
    assert m.out("tail -n 1 /etc/camserver/camserver.conf") == "# kept"
    wait_for_health()


@step
def a_downgrade_is_refused_and_changes_nothing():
    older = os.path.basename(glob.glob(f"{state}/deb/camserver_*.deb")[0])
    done = m.sh(f"apt-get install -qy --allow-downgrades ./{older}", check=False)
    assert done.returncode != 0 and "A downgrade is refused" in done.stdout + done.stderr, done.stdout
    m.out("dpkg --configure -a")
    assert m.out("dpkg-query -W -f '${Version} ${Status}' camserver").endswith("+next install ok installed")
    wait_for_health()


@step
def setting_up_again_changes_nothing():
    before = m.out("sha256sum /etc/camserver/credentials/* /etc/camserver/media.key /etc/camserver/rclone.password")
    m.out("dpkg-reconfigure camserver && dpkg-reconfigure camserver")
    assert m.out("sha256sum /etc/camserver/credentials/* /etc/camserver/media.key /etc/camserver/rclone.password") == before
    wait_for_health()


@step
def the_doctor_sees_a_wrong_password_and_its_fix_helps():
    m.sql("ALTER ROLE camserver_dispatcher PASSWORD 'another'")
    found = problems()
    assert [f["check"] for f in found] == ["roles"] and "dpkg-reconfigure camserver" in found[0]["fix"], found
    m.out("dpkg-reconfigure camserver")
    wait_for_health()


@step
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
    assert m.out("cd / && runuser -u postgres -- psql -XAtq -p 5433 camserver -c 'SELECT count(*) FROM camserver.ended_leases'") == "1"
    m.out("cp conf.before /etc/camserver/camserver.conf && systemctl restart 'cam*.service' && pg_dropcluster --stop 15 elsewhere")
    wait_for_health()


@step
def a_backup_is_restored_as_the_manual_says():
    events, frames = m.sql("SELECT count(*) FROM camserver.events"), m.sql("SELECT count(*) FROM camserver.frames")
    m.out("cd / && runuser -u postgres -- pg_dump -Fc camserver >/root/camserver.dump && systemctl stop 'cam*.service'")
    m.out("cd / && runuser -u postgres -- dropdb camserver && runuser -u postgres -- createdb -O camserver_admin camserver"
          " && runuser -u postgres -- pg_restore -d camserver </root/camserver.dump")
    m.out("dpkg-reconfigure camserver && systemctl start " + " ".join(ENABLED))
    wait_for_health()
    assert (m.sql("SELECT count(*) FROM camserver.events"), m.sql("SELECT count(*) FROM camserver.frames")) == (events, frames)
    take_lease()


@step
def workers_run_in_the_sandbox_and_outlive_their_manager():
    m.out("echo ENABLE_CONTAINER_POOLING=yes >>/etc/camserver/camserver.conf && systemctl restart cam-manager")
    m.out("camctl pool add thumbs command=/usr/sbin/cam-analyzer call_path=/v1/capabilities max_capacity=1")
    assert "supported_primary_events" in wait_until(lambda: m.sh("camctl pool call thumbs", check=False).stdout, what="a worker")
    workers = "pgrep -u camserver -x cam-analyzer | sort"
    before = m.out(workers)
    assert len(before.split()) == 2, before  # the service's and the pool's
    m.out("systemctl restart cam-manager")
    wait_for_health()
    assert "supported_primary_events" in wait_until(lambda: m.sh("camctl pool call thumbs", check=False).stdout, what="a worker")
    assert m.out(workers) == before


@step
def rclone_serves_loopback_with_its_password_only():
    m.out("apt-get install -qy rclone && systemctl start camserver-rclone")
    code = "curl -s -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:5572/rc/noopauth"
    wait_until(lambda: m.sh(code, check=False).stdout == "401", what="rclone asking for a password")
    assert m.out(code.replace("curl", 'curl -u "camserver:$(cat /etc/camserver/rclone.password)"')) == "200"
    assert m.out("cat /etc/camserver/rclone.password") not in m.out("ps -eo args; cat /proc/[0-9]*/environ | tr '\\0' '\\n' || :")
    m.out("systemctl stop camserver-rclone")


@step
def removal_leaves_the_data_and_the_web_server():
    events = m.sql("SELECT count(*) FROM camserver.events")
    m.out("apt-get remove -qy camserver")
    assert m.sql("SELECT count(*) FROM camserver.events") == events
    assert m.out("find /var/lib/camserver/archive -name '*.jpg' | wc -l") != "0"
    assert m.out("ls /etc/camserver/camserver.conf /etc/camserver/media.key")
    assert m.out("systemctl is-active lighttpd") == "active"
    assert not m.sh("pgrep -u camserver -a", check=False).stdout
    # Back again while PostgreSQL is away: that must not fail, and says what is to be done.
    done = m.sh("systemctl stop postgresql; apt-get install -qy ./camserver_*+next.deb")
    assert "dpkg-reconfigure camserver" in done.stdout + done.stderr, done.stdout
    m.out("systemctl start postgresql; lighttpd-enable-mod camserver; systemctl restart lighttpd; dpkg-reconfigure camserver")
    wait_for_health()
    assert m.sql("SELECT count(*) FROM camserver.events") == events
    take_lease()


@step
def a_purge_asks_before_the_data_and_leaves_nothing_of_its_own():
    m.out("apt-get remove -qy camserver && apt-get purge -qy camserver")
    assert m.sql("SELECT count(*) FROM camserver.events") != "0", "no answer is a no: the database stays"
    assert m.out("find /var/lib/camserver -name '*.jpg' | grep -vc /archive/ || :") == "0"
    m.out("apt-get install -qy ./camserver_*+next.deb")
    wait_until(all_active, what="all services")
    m.out("echo 'camserver camserver/remove-data boolean true' | debconf-set-selections && apt-get purge -qy camserver")
    left = m.out("find / -xdev \\( -path /proc -o -path /sys -o -path /root -o -path /var/log -o -path /var/cache -o -path /tmp \\) -prune"
                 " -o \\( -iname '*camserver*' -o -name 'cam-*' -o -name 'camctl*' \\) -print; ls -d /run/camserver 2>/dev/null || :")
    left = [p for p in left.splitlines() if not p.startswith("/var/lib/systemd/deb-systemd") and not p.startswith("/var/tmp/systemd-private")]
    assert not left, left
    assert m.out("getent passwd camserver; getent group camserver || :") == ""
    assert m.out("runuser -u postgres -- psql -XAtc \"SELECT count(*) FROM pg_database WHERE datname = 'camserver'\"") == "0"
    assert m.out("runuser -u postgres -- psql -XAtc \"SELECT count(*) FROM pg_roles WHERE rolname LIKE 'camserver%'\"") == "0"
    assert m.out("systemctl is-active lighttpd postgresql").split() == ["active", "active"]
    assert not m.sh("systemctl --failed --no-legend --no-pager | grep cam", check=False).stdout
    assert not m.sh("journalctl --no-pager | grep 'timed out. Killing'", check=False).stdout


def main():
    only, failed, count = os.environ.get("PACKAGE_STEPS"), 0, 0
    m.boot()
    try:
        for function in STEPS:
            count += 1
            if only and not re.search(only, function.__name__):
                continue
            start = time.monotonic()
            log.write(f"\n=== {function.__name__}\n")
            try:
                function()
                print(f"ok - {function.__name__.replace('_', ' ')} # {time.monotonic() - start:.0f} s", flush=True)
            except Exception:
                failed += 1
                print(f"not ok - {function.__name__.replace('_', ' ')}", flush=True)
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
                m.sh("journalctl --no-pager -n 60 -u 'cam*'", check=False)
                if function is STEPS[0]:
                    break
    finally:
        m.shut_down()
    return 1 if failed else 0


sys.exit(main())
