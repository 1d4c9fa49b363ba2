"""Texts in commands stay as they were typed; words of commands in them reach no other program."""

import pytest

from echo_terminal.terminal.terminal import File, open_terminal
from echo_terminal.terminal.wording.texts import outside_texts, texts

SCRIPT = """#!/bin/bash
find . -size +1k
tar -czf a.tgz data.txt
/bin/ls data.txt
md5sum data.txt
wc -l < data.txt
ls data.txt 2>&1
kill -l
"""
TYPED = {  # command -> what it prints
    'echo "; tar -xf a.tar; gzip f"; echo "a & ls x 2>&1"': "; tar -xf a.tar; gzip f\na & ls x 2>&1\n",
    'echo "wc -l < f"': "wc -l < f\n",
    "echo 'one\nfind . -empty\ntar -cf x.tar y'": "one\nfind . -empty\ntar -cf x.tar y\n",
    'x="(find . -empty)"; echo "$x"': "(find . -empty)\n",
    "awk '{ print \"x | tee y; /bin/cat z\" }' data.txt": "x | tee y; /bin/cat z\n",
    'echo "$(find . -name data.txt -size -9k) here"': "./data.txt here\n",
    f"cat > s.sh <<'EOF'\n{SCRIPT}EOF\ncat s.sh": SCRIPT,
    f"cat <<EOF > s.sh && chmod +x s.sh\n{SCRIPT}EOF\ncat s.sh": SCRIPT,
    "bash -c 'find . -name data.txt -size -9k'": "./data.txt\n",
    "cat <<EOF | bash\nfind . -name data.txt -size -9k\nEOF": "./data.txt\n",
    "wc -l < data.txt # '; wc -l < data.txt": "1\n",
}
SPLIT = {
    "a 'b c' \"d $(e 'f' \"g\") h\" # i": ["b c", "d ", "f", "g", " h", "# i"],
    "cat <<EOF\nx 'y\nEOF\necho 'z'": ["x 'y\n", "z"],
    "cat <<'E' > a\n$(x)\nE\ny": ["$(x)\n"],
    "cat <<E\n$(x)\nE\ny": [],
    "echo $((1<<2)) 'a'": ["a"],
    'x=`echo \'a\'` "`b "c"`d"': ["a", "", "c", "d"],
    "echo $'a\\'b' ${x#y} $# 'q'": ["a\\'b", "q"],
    "case x in a) echo 'b';; esac; echo a\\'b 'c'": ["b", "c"],
    "cat <<A <<-B\n1\nA\n2\n\tB\n": ["1\n", "\n2\n"],
}


@pytest.mark.parametrize("command", TYPED)
def test_texts_are_printed_as_typed(command: str) -> None:
    terminal = open_terminal("virtual")
    terminal.reset({"/home/user/data.txt": File(b"mine\n")}, seed=1)
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (TYPED[command], "", 0)


@pytest.mark.parametrize("command", SPLIT)
def test_where_texts_are(command: str) -> None:
    assert [command[a:b] for a, b in texts(command) or ()] == SPLIT[command]


def test_unclosed_quotes_hide_nothing() -> None:
    assert texts("echo 'open") is None
    assert outside_texts("tar 'tar", lambda text: text.replace("tar", "TAR")) == "TAR 'TAR"
    assert outside_texts("tar 'tar' \"tar $(tar)\" \\\\", lambda text: text.replace("tar", "TAR")) == (
        "TAR 'tar' \"tar $(TAR)\" \\\\"
    )
