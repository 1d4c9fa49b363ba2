"""Sessions of several commands in the virtual engine: what real bash answers step by step, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File, Status

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/bin.dat": File(bytes(range(120, 140))),
}
LONG = "n" * 256
SESSIONS = {
    "no history": [
        ("echo a; history", "a\n", "", 0),
        ("history | tail -3; fc -l | tail -3", "", "", 0),
        ("fc -s", "", "bash: fc: no command found\n", 1),
    ],
    "trap ERR": [
        ("trap 'echo err' ERR", "", "", 0),
        ("false", "err\n", "", 1),
        ('echo "$?"; false || true', "1\n", "", 0),
        ("echo x | grep y", "err\n", "", 1),
        ("trap - ERR", "", "", 0),
        ("false", "", "", 1),
    ],
    "trap EXIT": [
        ("trap 'rm -f t; echo bye' EXIT; touch t", "", "", 0),
        ("ls t", "t\n", "", 0),
        ("(trap 'echo inner' EXIT; echo sub)", "sub\ninner\n", "", 0),
        ("exit 4", "bye\n", "", 4),
        ("ls t", "", "ls: cannot access 't': No such file or directory\n", 2),
        ("exit 5", "", "", 5),
    ],
    "trap DEBUG": [
        ("trap 'echo dbg' DEBUG", "", "", 0),
        ("echo b; echo c", "dbg\nb\ndbg\nc\n", "", 0),
        ("trap - DEBUG", "dbg\n", "", 0),
        ("echo d", "d\n", "", 0),
    ],
    "outputs of exec": [
        ("exec > out.txt; echo a", "", "", 0),
        ("echo b", "b\n", "", 0),
        ("exec >> out.txt 2>&1; ls nosuch", "", "", 2),
        ("cat out.txt", "a\nls: cannot access 'nosuch': No such file or directory\n", "", 0),
        ("exec 3> three.txt; echo c >&3", "", "", 0),
        ("echo d >&3; exec 3>&-; cat three.txt", "c\nd\n", "", 0),
        ("exec 3>>three.txt; echo e >&3", "", "", 0),
        ("echo f >&3; exec 3>&-; tail -n 2 three.txt", "e\nf\n", "", 0),
    ],
    "ranges": [
        ("for i in {1..20000}; do n=$i; done; echo $n", "20000\n", "", 0),
        ("echo {20000..1} | cut -c1-18", "20000 19999 19998 \n", "", 0),
        ("echo x{1..10001}y | tail -c 8; echo {00001..20000} | cut -c1-12", "x10001y\n00001 00002 \n", "", 0),
        ("echo '{1..20000}'", "{1..20000}\n", "", 0),
    ],
    "streams": [
        ("yes | head -n 2000000 | wc -l", "2000000\n", "", 0),
        ("seq 1000000 | tail -1; seq 10000000000 | head -2", "1000000\n1\n2\n", "", 0),
        ("seq 5000 | head -n -4999; seq 5000 | tail -n +4999", "1\n4999\n5000\n", "", 0),
        ("head -c 3000000 /dev/zero | wc -c", "3000000\n", "", 0),
        ("tr '\\0' x < /dev/zero | head -c 2000000 | wc -c", "2000000\n", "", 0),
        ("head -c 5M </dev/zero > z; wc -c z", "5242880 z\n", "", 0),
        ("head -c 100000 /dev/urandom > r; stat -c %s r", "100000\n", "", 0),
        ("head -c 2000 /dev/urandom | wc -c; head -c 8 /dev/urandom | xxd -p | wc -c", "2000\n17\n", "", 0),
        ("head -c 12 bin.dat | xxd -p", "78797a7b7c7d7e7f80818283\n", "", 0),
    ],
    "PATH that leads nowhere": [
        ("PATH=/nowhere ls", "", "bash: ls: command not found\n", 127),
        ("ls", "a.txt\nbin.dat\n", "", 0),
        ("env PATH=/nowhere ls; (PATH=/x; cat a.txt); head -n1 a.txt", "alpha\n",
         "env: 'ls': No such file or directory\nbash: cat: command not found\n", 0),
        ("PATH=", "", "", 0),
        ("ls | cat; echo ok", "ok\n", "bash: ls: No such file or directory\nbash: cat: No such file or directory\n", 0),
        ("if grep -q a a.txt; then echo y; fi", "", "bash: grep: No such file or directory\n", 0),
        ("type ls", "", "bash: type: ls: not found\n", 1),
        ("command -v ls; command -v echo", "echo\n", "", 0),
        ("export PATH=/usr/bin; seq 2; command -v seq", "1\n2\n/usr/bin/seq\n", "", 0),
    ],
    "nothing of the engine shows": [
        ("seq 3 | xargs echo; declare -F; declare -f", "1 2 3\n", "", 0),
        ("compgen -A function", "", "", 1),
        ("hash; export -p | head -1", 'hash: hash table empty\ndeclare -x HOME="/home/user"\n', "", 0),
    ],
    "texts stay as they are typed": [
        ("echo 'seq 3 | xargs echo' > run.sh; cat run.sh; bash run.sh", "seq 3 | xargs echo\n1 2 3\n", "", 0),
        ("printf '#!/usr/bin/env python3\\n' > s.sh; cat s.sh", "#!/usr/bin/env python3\n", "", 0),
        ("x='seq 2 | xargs echo'; echo \"$x\"; bash -c \"$x\"; eval \"$x\"", "seq 2 | xargs echo\n1 2\n1 2\n", "", 0),
        ("cat <<EOF | bash\nseq 2 | xargs -n1 echo\nEOF", "1\n2\n", "", 0),
        ("echo 'seq 2 | xargs echo' | sh; bash -c 'seq 2 | xargs echo'", "1 2\n1 2\n", "", 0),
        ("f() { seq 3 | xargs echo; }; declare -f f", "f () \n{ \n    seq 3 | xargs echo\n}\n", "", 0),
        ("alias x='seq 3 | xargs echo'; alias", "alias x='seq 3 | xargs echo'\n", "", 0),
        ("trap 'ls | xargs echo' USR1; trap -p", "trap -- 'ls | xargs echo' SIGUSR1\n", "", 0),
    ],
    "background children": [
        ("sleep 60 & p=$!; kill $p; wait $p 2>/dev/null; echo $?", "143\n", "", 0),
        ("sleep 60 & kill %1; wait; echo $?; kill 99999 2>/dev/null || echo none", "0\nnone\n", "", 0),
        ("sleep 60 & p=$!; kill -9 $p; wait $p 2>/dev/null; echo $?; (exit 3) & wait $!; echo $?", "137\n3\n", "", 0),
        ("declare -F; set | grep -c ended", "0\n", "", 1),
        ("curl -s localhost:1; echo $?; curl -sS http://127.0.0.1:80", "7\n",
         "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server\n", 7),
    ],
    "a file that it reads": [
        ("cat a.txt >> a.txt; echo $?", "1\n", "cat: a.txt: input file is output file\n", 0),
        ("cp a.txt b; cat b >> a.txt; wc -l < a.txt", "8\n", "", 0),
    ],
    "a working directory that is gone": [
        ("mkdir d; cd d; rmdir ../d", "", "", 0),
        ("ls; pwd", f"{HOME}/d\n", "", 0),
        ("cd ..; pwd", f"{HOME}\n", "", 0),
    ],
    "umask": [
        ("umask 077; touch f; mkdir d; stat -c %a f d", "600\n700\n", "", 0),
        ("echo x > g; cp f h; rm f; touch f; stat -c %a g h f; umask", "600\n600\n600\n0077\n", "", 0),
        ("umask u=rwx,g=rx,o=; mkdir -p p/q; touch p/f; find p -perm 750 | sort; stat -c %a p/f", "p\np/q\n640\n",
         "", 0),
        ("chmod 644 g; stat -c %a g; umask 22; touch l; stat -c %a l d", "644\n644\n700\n", "", 0),
        ("(umask 077; echo k > key); touch o; stat -c %a key o; umask", "600\n644\n0022\n", "", 0),
        ("umask 027; exit", "", "", 0),
        ("umask; touch z; stat -c %a z", "0022\n644\n", "", 0),
    ],
    "modes of files written anew": [
        ("printf '#!/bin/bash\\necho one\\n' > run; chmod +x run; ./run", "one\n", "", 0),
        ("printf '#!/bin/bash\\necho two\\n' > run", "", "", 0),
        ("./run; stat -c %a run", "two\n755\n", "", 0),
        ("echo x | tee run; cp a.txt run; sort -o run run; stat -c %a run", "x\n755\n", "", 0),
        ("python3 -c \"import os; os.chmod('run', 0o700)\"; echo y > run; stat -c %a run", "700\n", "", 0),
        ("echo n > n; mv n run; stat -c %a run; echo z > run; stat -c %a run", "644\n644\n", "", 0),
        ("chmod 600 run; rm run; echo new > run; stat -c %a run", "644\n", "", 0),
    ],
    "shell words": [
        ("mkdir d; ln -s d l; [[ -d d && ! -L d ]] && echo dir; [[ -L l && -h l ]] && echo link", "dir\nlink\n", "", 0),
        ("old=$IFS; IFS=,; IFS=$old; x='a b'; for w in $x; do echo $w; done", "a\nb\n", "", 0),
        ("printf '#!/bin/bash\\n# says\\necho $LINENO; nosuch\\n' > l.sh; chmod +x l.sh; ./l.sh", "3\n",
         "./l.sh: line 3: nosuch: command not found\n", 127),
        ("printf '#!/nosuch/interp\\n' > n; chmod +x n", "", "", 0),
        ("./n", "", "bash: ./n: cannot execute: required file not found\n", 127),
        ("(exit 5)", "", "", 5),
        ("exit", "", "", 5),
    ],
    "set -e and a mistake of bash's own": [
        ("set -eu; x=1", "", "", 0),
        ("echo $nosuch", "", "bash: nosuch: unbound variable\n", 1),
        ('echo "[$x]"', "[]\n", "", 0),
    ],
    "long names": [
        (f"touch {LONG}", "", f"touch: cannot touch '{LONG}': File name too long\n", 1),
        (f"mkdir {LONG}", "", f"mkdir: cannot create directory '{LONG}': File name too long\n", 1),
        (f"echo x > {LONG}", "", f"bash: {LONG}: File name too long\n", 1),
        (f"cp a.txt {LONG}", "", f"cp: cannot stat '{LONG}': File name too long\n", 1),
        (f"mv a.txt {LONG}", "", f"mv: cannot stat '{LONG}': File name too long\n", 1),
        (f"ls {LONG}", "", f"ls: cannot access '{LONG}': File name too long\n", 2),
        (f"head {LONG}", "", f"head: cannot open '{LONG}' for reading: File name too long\n", 1),
        (f"wc {LONG}", "", f"wc: {LONG}: File name too long\n", 1),
        (f"touch {LONG[1:]}; ls | grep -c nn", "1\n", "", 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_session(terminal, name: str) -> None:
    for command, printed, complaint, code in SESSIONS[name]:
        seen = terminal.run(command)
        assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code), command


@pytest.mark.parametrize(
    "command",
    [
        "seq 10000000 | tail -1",
        "yes | tail -1",
        "yes | head -n 3000000 | wc -l",
        "head -c 70M /dev/zero | wc -c",
        "printf %200000s x",
        "seq 2000000 > s",
        "head -c 9M /dev/zero > z; cp z y; tar cf t.tar z y; ls -l t.tar",
        "echo 'scale=99999; 4*a(1)' | bc -l | wc -c",
    ],
)
def test_more_than_the_limits_is_never_cut_in_silence(terminal, command: str) -> None:
    seen = terminal.run(command)
    assert (seen.status, seen.exit_code) == (Status.KILLED, 137)


def test_files_that_are_too_large_are_refused_at_once(terminal) -> None:
    with pytest.raises(ValueError, match="big: 10000001 bytes; .* at most 10000000"):
        terminal.reset({f"{HOME}/big": File(b"x" * 10_000_001)}, 0)


def test_random_bytes_are_the_seeds(terminal) -> None:
    drawn = []
    for seed in (3, 3, 4):
        terminal.reset(FILES, seed)
        drawn.append(terminal.run("head -c 32 /dev/urandom | xxd -p").stdout)
    assert drawn[0] == drawn[1] != drawn[2]
