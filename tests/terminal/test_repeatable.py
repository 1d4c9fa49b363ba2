"""Nothing that a command says depends on the host, the clock, or the process: two processes say the same."""

import json
import os
import subprocess
import sys
import time

import pytest

from echo_terminal.terminal.python_sandbox import check_available
from echo_terminal.terminal.terminal import CLOCK, HOME, EngineUnavailable, File
from echo_terminal.terminal.virtual import VirtualTerminal

FILES = {
    f"{HOME}/a.txt": File(b"b\na\nc\na\n"),
    f"{HOME}/m.py": File(b"print(1)\n"),
    f"{HOME}/dice.sh": File(b"head -c 4 /dev/urandom | xxd -p; echo $RANDOM took $SECONDS s\n", 0o755),
}
SHELL = [
    *"uptime|uptime -p|uptime -s|free|free -h|df|nproc|uname -a|uname -r|arch|hostname|hostid|id|who|users".split(
        "|"
    ),
    *"ps|ps aux|ps -ef|env|printenv|set|declare -p|export -p|ulimit -a|locale|history|fc -l|times|jobs|tty".split(
        "|"
    ),
    *"cat /proc/uptime|cat /proc/loadavg|cat /proc/version|cat /proc/cpuinfo|cat /proc/meminfo".split("|"),
    *"cat /proc/self/status|cat /proc/self/stat|cat /proc/mounts|ls -la /proc /dev /etc /tmp|getconf -a".split(
        "|"
    ),
    *"cat /proc/sys/kernel/random/uuid|cat /etc/hostname|cat /etc/os-release|lscpu|uuidgen|openssl rand 4".split(
        "|"
    ),
    *"head -c 8 /dev/urandom|head -c 8 /dev/random|xxd -l 8 /dev/urandom|od -An -N4 -tu4 /dev/urandom".split(
        "|"
    ),
    "tr -dc a-z < /dev/urandom | head -c 10",
    "dd if=/dev/urandom bs=4 count=2 2>&1 | md5sum",
    "dd if=/dev/urandom of=big bs=1M count=1; md5sum big; rm big",
    "read -N 4 x < /dev/urandom; echo $x; cd /dev; head -c 3 urandom | xxd; cd",
    "./dice.sh; bash dice.sh; . ./dice.sh",
    'echo $RANDOM $SRANDOM $((SRANDOM % 6)) "${SRANDOM}" $EPOCHSECONDS ${EPOCHREALTIME%.*} $SECONDS',
    "echo $BASHPID $$ $PPID; seq 2 | xargs -n 1 bash -c 'echo $RANDOM'; find . -name a.txt -exec sh -c 'mktemp -u' \\;",
    "awk 'BEGIN { system(\"bash -c $RANDOM\"); \"mktemp -u\" | getline x; print x }'; env bash -c 'echo $RANDOM'",
    "bash -c 'echo $RANDOM $SRANDOM $SECONDS $$'; (echo $RANDOM)",
    "sleep 0 & echo $!; wait; jobs -l; coproc cat; echo $COPROC_PID",
    "time true; time -p true; TIMEFORMAT=%R; time true",
    "sort -R a.txt; sort --random-sort a.txt; shuf a.txt; shuf -e a b c; shuf -i 1-9 -n 3",
    "mktemp; mktemp -d; mktemp -u; mktemp XXXXXX",
    "jq -n 'now, (now|todate), (now|localtime|mktime), (0|localtime), (0|strflocaltime(\"%H %Z\")), env'",
    "jq -n '$ENV, input_line_number, $__loc__'",
    "sqlite3 :memory: \"select random(), hex(randomblob(4)), datetime('now','localtime'), date(), current_timestamp\"",
    "sqlite3 x.db 'create table t(a default current_timestamp); insert into t values (random())'; md5sum x.db",
    'sqlite3 :memory: \'select sqlite_version(), datetime(0,"unixepoch","localtime")\'',
    "awk 'BEGIN { srand(); print rand(), srand(), systime(), strftime(); for (k in ENVIRON) print k }'",
    "printf '%(%F %T)T\n' -1; printf '%(%c)T\n'; date; date +%s.%N; date -r a.txt; TZ=Asia/Tokyo date",
    "touch -d '1 hour ago' o; stat o; touch -d tomorrow p; ls -l --full-time p; touch -d 2999-01-01 p; stat -c %y p",
    "touch n; stat n; ls -lai --full-time; ls -t; find . -newermt yesterday -printf '%T@ %i %p\n'; find . -mmin -5 -ls",
    "find . -mtime -1 -exec echo {} \\; | sort; find . -mtime +3 -exec echo {} \\;",
    "tar cf a.tar a.txt; tar czf a.tgz a.txt; gzip -k a.txt; zip -q a.zip a.txt; md5sum a.*; unzip -l a.zip",
    "mkdir -p t/{a,b,c}/{x,y,z}; touch t/{m,n,o}; tar cf - t | tar tf -; tar czf - t | md5sum; tar -c t | wc -c",
    "diff -u a.txt m.py; diff -u a.txt <(echo x); echo <(true); ls -l /dev/fd",
    "declare -A h; for w in one two three four five six; do h[$w]=1; done; echo ${!h[@]}",
    "set -x; echo $RANDOM; date; set +x; PS4='$(date +%s) '; set -x; true; set +x",
    "for i in 1 2 3 4; do (echo $i) & done; wait; echo $?",
]
PYTHON = [
    "import time as t; print(t.time(), t.monotonic_ns(), t.perf_counter(), t.process_time(), t.localtime(), t.ctime())",
    "import datetime as d; print(d.datetime.now(), d.datetime.utcnow(), d.date.today(), d.datetime.now(d.UTC))",
    "import random, secrets, uuid, tempfile, os; print(random.random(), random.Random().random(), secrets.token_hex(4),"
    " uuid.uuid4(), uuid.uuid1(), tempfile.mktemp(), os.urandom(4))",
    "print({'a', 'b', 'c'}, hash('a'), object(), id([]), lambda: 0); class_ = type('A', (), {}); print(class_())",
    "import os; print(os.getpid(), os.getppid(), os.cpu_count(), os.uname(), os.times(), os.getloadavg(), os.environ)",
    "import os; open('new', 'w'); print(os.stat('new'), os.stat('a.txt'), os.statvfs('/'), os.statvfs('.'))",
    "import os; print([(e.name, e.inode(), e.stat().st_mtime) for e in os.scandir()], os.listdir('/dev/shm'))",
    "import platform; print(platform.platform(), platform.uname(), platform.processor(), platform.libc_ver())",
    "import sqlite3 as s; c = s.connect('d.db'); print(c.execute('''select random(), hex(randomblob(4)), current_date,"
    " datetime('now'), strftime('%s', 'now')''').fetchall()); c.execute('create table t(a)'); c.close()",
    "for f in 'cpuinfo meminfo uptime loadavg version stat cmdline sys/kernel/random/uuid'.split(): print(open('/proc/'"
    " + f).read())",
    "print(open('/dev/urandom', 'rb').read(8), open('/proc/self/maps').read().count('heap'))",
    "import os\nif p := os.fork(): print(p, os.wait())\nelse: print(os.getpid(), os.urandom(2))",
    "import subprocess as s; p = s.Popen(['true']); print(p.pid, p.wait(), open('/dev/shm/left', 'w').name)",
    "import threading as t; print(t.current_thread(), t.get_ident(), t.get_native_id())",
    "import logging; logging.basicConfig(format='%(asctime)s %(process)d %(thread)d %(msecs)d'); logging.error('x')",
    "import resource, timeit; print(resource.getrusage(0), timeit.timeit('1', number=9), resource.getrlimit(3))",
    "import zipfile, tarfile, gzip; zipfile.ZipFile('z.zip', 'w').writestr('a', 'b'); tarfile.open('t.tgz', 'w:gz').add"
    "('a.txt'); gzip.open('g.gz', 'w').write(b'x'); print(*(hash(open(f, 'rb').read()) for f in ('z.zip', 'g.gz')))",
    "import email.utils, sys; print(email.utils.make_msgid(), sys.version, sys.path, sys.flags)",
    "import shutil; print(shutil.disk_usage('/'), shutil.disk_usage('.'))\nimport yaml",
]
PLAY = """
import json, sys
from echo_terminal.terminal.terminal import File
from echo_terminal.terminal.virtual import VirtualTerminal
given = json.load(sys.stdin)
terminal = VirtualTerminal()
for seed, commands in given["episodes"]:
    terminal.reset({path: File(text.encode(), mode) for path, (text, mode) in given["files"].items()}, seed)
    said = [(o.stdout, o.stderr, o.exit_code, str(o.status)) for o in map(terminal.run, commands)]
    state = [terminal.fingerprint(), [(path, str(entry)) for path, entry in terminal.list("/tmp").items()]]
print(json.dumps([said, state]))
"""


def python_runs():
    try:
        check_available()
    except EngineUnavailable:
        return False
    return True


needs_python = pytest.mark.skipif(not python_runs(), reason="python3 of the virtual engine needs bubblewrap")


def played(commands, cwd, before=(), **env):
    files = {path: (file.content.decode(), file.mode) for path, file in FILES.items()}
    given = {"files": files, "episodes": [*before, (7, commands)]}
    done = subprocess.run(
        [sys.executable, "-c", PLAY], input=json.dumps(given), capture_output=True, text=True, cwd=cwd, check=True,
        env={**os.environ, **env}, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_two_processes_say_the_same(tmp_path):
    """Another working directory, time zone, language, home, hash seed and second; another episode before."""
    commands = SHELL + [f"cat > s.py <<'END'\n{text}\nEND\npython3 s.py" for text in PYTHON if python_runs()]
    begun = time.time()
    one = played(commands, tmp_path, PYTHONHASHSEED="1", TZ="UTC")
    other = {
        "TZ": "Asia/Tokyo",
        "LANG": "de_DE.UTF-8",
        "HOME": "/nowhere",
        "USER": "fred",
        "PYTHONHASHSEED": "2",
    }
    time.sleep(max(0.0, 1.1 - (time.time() - begun)))
    earlier = [(3, ["mktemp; sleep 0 & wait", "head -c 4 /dev/urandom", *commands[-6:]])]
    two = played(commands, "/", earlier, COLUMNS="33", **other)
    differ = [c for c, a, b in zip(commands, one[0], two[0], strict=True) if a != b]
    assert differ == [] and one[1] == two[1]
    today = time.strftime("%Y-%m-%d")
    assert [c for c, said in zip(commands, one[0], strict=True) if today in said[0] + said[1]] == []


def test_another_seed_draws_others(tmp_path):
    """What is left to chance comes from the seed, and goes on from command to command."""
    commands = [
        "head -c 8 /dev/urandom | xxd",
        "echo $SRANDOM",
        "cat /proc/sys/kernel/random/uuid",
        "mktemp -u",
    ]
    commands += (
        ["python3 -c 'import random, uuid; print(random.random(), uuid.uuid4())'"] if python_runs() else []
    )
    terminal, drawn = VirtualTerminal(), []
    for seed in (1, 2):
        terminal.reset(FILES, seed)
        drawn += [terminal.run(command).stdout for command in [*commands, *commands]]
    assert len(set(drawn)) == len(drawn)


@pytest.fixture
def says():
    terminal = VirtualTerminal()
    terminal.reset(FILES, seed=0)
    return lambda command: (lambda o: o.stdout + o.stderr)(terminal.run(command))


def test_times_are_the_terminals(says):
    assert says("uptime -s") == "2024-06-01 00:00:00\n"
    assert says("jq -n 'now|todate'") == '"2024-06-01T00:00:00Z"\n'
    assert says("jq -c -n --arg a 'b;c' '(now|localtime|mktime), (0|strflocaltime(\"%H %Z\")), $a'") == (
        f'{CLOCK}\n"00 UTC"\n"b;c"\n'
    )
    assert says("bash -c \"jq -n 'now'\"; jq '.now' <<< '{\"now\":1}'") == f"{CLOCK}\n1\n"
    assert says("echo 'jq -n now'; echo 'sort -R' > s.sh; cat s.sh") == "jq -n now\nsort -R\n"
    assert says("echo 'jq -n now' > s.sh; bash s.sh; bash -c 'jq -n now'") == f"{CLOCK}\n{CLOCK}\n"
    assert says("touch -d yesterday a.txt; stat -c %y a.txt") == "2024-05-31 00:00:00.000000000 +0000\n"
    assert says(
        f"touch -d '{time.strftime('%F', time.localtime(time.time() + 86_400))}' later; ls -t | head -1"
    ) == ("later\n")
    assert says("echo $EPOCHSECONDS ${EPOCHREALTIME%.*} $SECONDS") == f"{CLOCK} {CLOCK} 0\n"
    assert says("SECONDS=5; sleep 1; echo $SECONDS") == "6\n"
    assert says("echo $SECONDS; bash -c 'echo $SECONDS'") == "6\n6\n"  # bash: 6, 0


def test_find_counts_age_from_the_terminals_time(says):
    """Where a program is run for what is found, too."""
    says("mkdir f; cd f; touch new; touch -d '2024-05-28 12:00' days; touch -d '2024-05-31 23:50' minutes")
    for tests, found in (
        ("-mtime 3", ["./days"]),
        ("! -mtime 3", ["./minutes", "./new"]),
        ("-mtime +2", ["./days"]),
        ("-mtime -1", ["./minutes", "./new"]),
        ("-mmin 10", ["./minutes"]),
        ("-mmin +9", ["./days", "./minutes"]),
        ("-mmin -10", ["./new"]),
        ("-newermt 2024-05-30", ["./minutes", "./new"]),
        ("-newermt '1 hour ago'", ["./minutes", "./new"]),
    ):
        assert says(f"find . -type f {tests} | sort").split() == found, tests
        assert says(f"find . -type f {tests} -exec echo {{}} \\; | sort").split() == found, tests


def test_sort_by_chance_keeps_equal_lines_together(says):
    """sort: options '-nR' are incompatible"""
    lines = says("sort -R a.txt").split()
    assert sorted(lines) == ["a", "a", "b", "c"] and "aa" in "".join(lines)
    assert sorted(says("sort -Ru a.txt").split()) == ["a", "b", "c"]
    assert says("sort -nR a.txt") == "sort: options '-nR' are incompatible\n"


def test_scripts_ask_the_episode_too(says):
    """And stay what they are."""
    text = "touch -d '3 days ago' old; touch new\nfind . -newermt yesterday -name new -exec echo {} \\;\n"
    text += "find . -mtime +2 -name old\njq -n 'now'\nprintf '%s\\n' a a | sort -R\n"
    said = f"./new\n./old\n{CLOCK}\na\na\n"
    says(f"mkdir w; cd w\ncat > script <<'END'\n{text}END\nchmod 755 script; touch -d 2024-01-02 script")
    for call in (
        "bash script",
        "sh ./script",
        "./script",
        "cd /tmp && cd /home/user/w && bash script",
    ):
        assert says(call) == said, call
        assert (
            says("cat script; stat -c '%y %a' script") == f"{text}2024-01-02 00:00:00.000000000 +0000 755\n"
        )


def test_archives_keep_the_order_of_names_in_a_pipe(says):
    """tar: 10240 bytes a record, verbose names on standard error, exit code 2 for what is missing"""
    says("mkdir -p t/b t/a; touch t/b/y t/b/x t/a/q; printf '\\x80\\xff\\x00b' > t/bin")
    names = "t/\nt/a/\nt/a/q\nt/b/\nt/b/x\nt/b/y\nt/bin\n"
    assert says("tar cf - t | tar tf -") == says("tar -c t | tar t") == says("tar c -f - t | tar t") == names
    assert says("tar cvf - t | wc -c") == "10240\n" + names
    assert says("tar czf - t > o.tgz; tar tzf o.tgz; ls -A /tmp") == names
    assert says("mkdir e; tar cf - t | tar xf - -C e; cmp t/bin e/t/bin; echo $?") == "0\n"
    assert says("tar cf - none > x; echo $?") == (
        "2\ntar: none: Cannot stat: No such file or directory\n"
        "tar: Exiting with failure status due to previous errors\n"
    )


def python(says, text):
    return says(f"cat > s.py <<'END'\n{text}\nEND\npython3 s.py")


@needs_python
def test_waits_of_python_end_and_count(says):
    assert (
        python(says, "import time; t = time.time(); time.sleep(0.1); print(round(time.time() - t, 4))")
        == "0.1\n"
    )
    assert (
        python(says, "import time; t = time.time() + 5\nwhile time.time() < t: pass\nprint('over')")
        == "over\n"
    )
    queued = "import queue, time; t = time.time()\ntry: queue.Queue().get(timeout=0.1)\nexcept queue.Empty: "
    assert python(says, queued + "print(round(time.time() - t, 2))") == "0.1\n"
    looped = (
        "import asyncio, time\nasync def main():\n t = time.time(); await asyncio.gather(asyncio.sleep(0.1), "
    )
    looped += "asyncio.sleep(0.05))\n print(round(time.time() - t, 2))\nasyncio.run(main())"
    assert python(says, looped) == "0.1\n"
    limited = "import subprocess\ntry: subprocess.run(['sleep', '5'], timeout=0.1)\nexcept subprocess.TimeoutExpired: "
    assert python(says, limited + "print('late')") == "late\n"
    threads = "import threading, time; t = time.time(); x = [threading.Thread(target=time.sleep, args=[0.1]) for _ in "
    threads += "'abc']\nfor y in x: y.start()\nfor y in x: y.join()\nprint(round(time.time() - t, 2))"
    assert python(says, threads) == "0.1\n"


@needs_python
def test_python_is_otherwise_as_it_was(says):
    """CPython 3.11.2 of Debian 12; later ones show the line too."""
    trace = ["Traceback (most recent call last):", '  File "<string>", line 1, in <module>']
    for command, error in (
        ("import os; os.stat('no')", "FileNotFoundError: [Errno 2] No such file or directory: 'no'"),
        ("import time; time.sleep(-1)", "ValueError: sleep length must be non-negative"),
        ("import os; os.kill(99999, 0)", "ProcessLookupError: [Errno 3] No such process"),
    ):
        lines = says(f'python3 -c "{command}"').splitlines()
        assert (lines[:2], lines[-1]) == (trace, error) and len(lines) <= 5
    assert (
        says("python3 -c 'import random; random.seed(5); print(random.random())'") == "0.6229016948897019\n"
    )
    signalled = "import os, signal\nif p := os.fork(): os.kill(p, 15); print(p, os.waitpid(p, 0))\nelse: signal.pause()"
    assert python(says, signalled) == "3 (3, 15)\n"
    kept = "import os, shutil; shutil.copy2('a.txt', 'k'); os.utime('k', (1, 2)); s = os.stat('k'); "
    assert python(says, kept + "print(s.st_mtime, s[8])") == "2.0 2\n"
    assert (
        says("python3 -c 'import os; print(os.listdir())'") == "['a.txt', 'dice.sh', 'k', 'm.py', 's.py']\n"
    )
    says('python3 -c \'open("/dev/shm/x", "w")\'')
    assert says("python3 -c 'open(\"/dev/shm/x\")'").endswith("No such file or directory: '/dev/shm/x'\n")


def test_the_host_does_not_decide_where_options_end(terminal, monkeypatch):
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    terminal.run("mkdir e; touch e/f")
    assert terminal.run("ls e -l").stdout.splitlines()[0] == "total 0"
    assert terminal.run("ls e -l -- -x").stderr == "ls: cannot access '-x': No such file or directory\n"
