"""Programs written here stop at the limits of their command, and leave nothing behind for the next."""

import bz2
import gzip
import io
import lzma
import random
import time
import zlib

import pytest

from echo_terminal.terminal.programs.archive.packing import MOST, PIECE, packed, unpacked
from echo_terminal.terminal.programs.limits import Limits, Stopped
from echo_terminal.terminal.programs.watching import watched
from echo_terminal.terminal.terminal import File, Status, open_terminal

LATE = {
    "lines": "seq 90000 > a; seq 90001 180000 > b; diff a b",
    "query": "sqlite3 t.db 'with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c'",
    "sums": "yes | head -c 1000000 > a; for i in 1 2 3 4 5 6 7 8 9; do cat a a a a a > b; cksum b b b; done",
}
LARGE = {
    "number": "seq 1 1e999999",
    "width in seq": "seq -f %2000000000g 1",
    "width in find": "find . -printf '%2000000000p'",
    "width in stat": "stat -c %2000000000n data.txt",
    "width in date": "date +%2000000000Y",
    "width in diff": "echo a > a; diff -y -W 2000000000 a data.txt",
    "range": "shuf -i 1-99999999999 -n 1",
    "repeats": "shuf -r -n 99999999999 data.txt",
    "rows": "sqlite3 t.db 'with recursive c(x) as (select 1 union all select x+1 from c) "
    "select randomblob(1000000) from c'",
    "nested": "expr $(for i in {1..3000}; do printf '( '; done) 1",
    "gzip": 'yes | head -c 1000000 > z; gzip z; n=z.gz; for i in 1 2 3 4 5 6 7; do n="$n $n"; done; '
    'awk \'BEGIN { RS = "\\1none\\1"; ORS = "" } { print > "big.gz" }\' $n; gunzip big.gz',
    "tar": 'yes | head -c 1000000 > z; n=z; for i in 1 2 3 4 5 6 7; do n="$n $n"; done; tar cf t.tar $n',
}


@pytest.fixture
def terminal():
    engine = open_terminal("virtual")
    engine.reset({"/home/user/data.txt": File(b"mine\n")}, seed=1)
    return engine


def follows(terminal) -> None:
    seen = terminal.run("seq 2 | tail -1; ls data.txt; wc -l < data.txt")
    assert (seen.stdout, seen.exit_code, seen.status) == ("2\ndata.txt\n1\n", 0, Status.OK)


@pytest.mark.parametrize("attack", LATE)
def test_time(terminal, attack: str) -> None:
    started = time.monotonic()
    seen = terminal.run(LATE[attack], 0.3)
    assert seen.status is Status.TIMEOUT and seen.exit_code == 124
    assert time.monotonic() - started < 10  # without the limit: minutes
    follows(terminal)


@pytest.mark.parametrize("attack", LARGE)
def test_room(terminal, attack: str) -> None:
    seen = terminal.run(LARGE[attack], 60.0)
    assert (seen.status, seen.exit_code) == (Status.KILLED, 137)
    follows(terminal)


def test_counts_beyond_the_text(terminal) -> None:
    assert terminal.run("printf ab | tr ab '[x*2000000000]y'").stdout == "xx"
    assert terminal.run("printf 'a b\\nc b\\n' | uniq -f 99999999999").stdout == "a b\n"


def test_numbers_of_many_digits(terminal) -> None:
    nines = "x=$(printf '9%.0s' {1..5000}); "
    assert terminal.run(nines + "expr $x + 1").stdout == "1" + "0" * 5000 + "\n"
    assert (
        terminal.run(nines + "expr $x '>' 3; expr 7 / -2; expr -7 % 3; expr 007 + 1").stdout
        == "1\n-3\n-1\n8\n"
    )
    assert terminal.run("echo 'scale=1000000; 1/3' | bc", 60.0).exit_code == 137
    assert terminal.run("echo 'scale=9000; l(2)' | bc -l", 60.0).exit_code == 137


def test_a_program_is_ended_once_and_only_within_its_run() -> None:
    limits = Limits()
    limits.start(0.05)
    with pytest.raises(Stopped), watched(limits):
        while True:
            pass
    limits.start(0.0)  # over before it begins; what it would raise must not come later
    for _ in range(200):
        try:
            with watched(limits):
                time.sleep(0.002)
        except Stopped:
            continue
    limits.start(60.0)
    with watched(limits):
        time.sleep(0.3)


def test_pieces_make_the_same_bytes() -> None:
    draw = random.Random(0)
    data = b"".join(b"%d " % draw.randrange(10**4) for _ in range(20_000)) + bytes(2 * PIECE)
    for compressor, whole, back in (
        (zlib.compressobj(9, zlib.DEFLATED, 31), zlib.compress(data, 9, 31), gzip.open),
        (bz2.BZ2Compressor(), bz2.compress(data), bz2.open),
        (lzma.LZMACompressor(preset=0), lzma.compress(data, preset=0), lzma.open),
    ):
        assert packed(compressor, data) == whole
        assert unpacked(back(io.BytesIO(whole))) == data
    with pytest.raises(Stopped):
        unpacked(gzip.open(io.BytesIO(gzip.compress(bytes(MOST + 1), 1))))
