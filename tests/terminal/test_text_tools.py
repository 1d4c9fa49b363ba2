"""Text tools of the virtual engine: what GNU coreutils 9.1, diffutils 3.8 and mawk 1.3.4 print, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File, Status

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/b.txt": File(b"alpha\nbeta2\ngamma\nepsilon\ndelta\n"),
    f"{HOME}/f.txt": File(b"banana\napple\ncherry\napple\nBanana\ndate\napple\nfig\nbanana\n"),
}


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("tr a b c <<< a", "", "tr: extra operand 'c'\nTry 'tr --help' for more information.\n", 1),
        ("tr -d a b <<< a", "", "tr: extra operand 'b'\nOnly one string may be given when deleting without squeezing "
         "repeats.\nTry 'tr --help' for more information.\n", 1),
        ("tr '[:foo:]' x <<< a", "", "tr: invalid character class 'foo'\n", 1),
        ("tr abc '[x*2]y' <<< abc", "xxy\n", "", 0),
        ("tr é e <<< é", "ee\n", "", 0),
        ("tr a '' <<< a", "", "tr: when not truncating set1, string2 must be non-empty\n", 1),
        ("echo abc | tr a-c A-C | tr -d B", "AC\n", "", 0),
        ("tr -cs a-z '\\n' <<< 'hi, you'", "hi\nyou\n", "", 0),
        ("echo '; tr a b'", "; tr a b\n", "", 0),  # words in quotes stay
        ("uniq --group <<< $'a\\na\\nb'", "a\na\n\nb\n", "", 0),
        ("uniq -D -c a.txt", "", "uniq: printing all duplicated lines and repeat counts is meaningless\n"
         "Try 'uniq --help' for more information.\n", 1),
        ("cmp -l a.txt b.txt | head -2", "11  12  62\n12 147  12\n", "cmp: EOF on a.txt after byte 23\n", 0),
        ("cmp -x", "", "cmp: invalid option -- 'x'\ncmp: Try 'cmp --help' for more information.\n", 2),
        ("cmp a.txt b.txt", "a.txt b.txt differ: char 11, line 2\n", "", 1),
        ("diff -e a.txt b.txt", "3a\nepsilon\n.\n2c\nbeta2\n.\n", "", 1),
        ("diff -n a.txt b.txt", "d2 1\na2 1\nbeta2\na3 1\nepsilon\n", "", 1),
        ("diff -I beta a.txt b.txt", "3a4\n> epsilon\n", "", 1),
        ("diff -c a.txt b.txt | head -1", "*** a.txt\tSat Jun  1 00:00:00 2024\n", "", 0),
        ("diff -t -y -W 30 a.txt b.txt | head -2", "alpha            alpha\nbeta          |  beta2\n", "", 0),
        ("sdiff -s -w 30 a.txt b.txt", "beta\t      |\tbeta2\n\t      >\tepsilon\n", "", 1),
        ("sdiff -l -w 30 a.txt a.txt | head -1", "alpha\t      (\n", "", 0),
        ("sdiff a.txt", "", "sdiff: missing operand after 'a.txt'\nsdiff: Try 'sdiff --help' for more information.\n",
         2),
        ("diff --line-format='%5dn %L' a.txt b.txt | head -3", "    1 alpha\n    2 beta\n    2 beta2\n", "", 0),
        ("diff --changed-group-format='<%<|%>>' a.txt b.txt",
         "alpha\n<beta\n|beta2\n>gamma\n<|epsilon\n>delta\n", "", 1),
        ("diff --old-group-format='%df,%dl %dn d %dF,%(N=0?none:some) ' --unchanged-group-format= "
         "--new-group-format='%de,%dm%c'\\''\\012'\\''%>' a.txt b.txt",
         "2,2 1 d 2,some 1,3\nbeta2\n3,4\nepsilon\n", "", 1),
        ("diff -D X <(printf 'a') <(printf 'a\\nb')", "#ifndef X\na\n#else /* X */\na\nb\n#endif /* X */\n", "", 1),
        ("diff -u0p a.txt b.txt | grep @", "@@ -2 +2 @@ alpha\n@@ -3,0 +4 @@ gamma\n", "", 0),
        ("diff --from-file a.txt b.txt a.txt", "2c2\n< beta\n---\n> beta2\n3a4\n> epsilon\n", "", 1),
        ("diff -E <(printf 'a\\tb\\n') <(printf 'a       b\\n')", "", "", 0),
        ("diff --color=foo a.txt b.txt", "",
         "diff: invalid color 'foo'\ndiff: Try 'diff --help' for more information.\n", 2),
        ("sed -i s/a/b/ .", "", "sed: couldn't edit .: not a regular file\n", 4),
        ("tac .", "", "tac: .: read error: Is a directory\n", 1),
        ("tail +3 a.txt", "gamma\ndelta\n", "", 0),
        ("head -5c a.txt", "alpha", "", 0),
    ],
)  # fmt: skip
def test_text_tools(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


@pytest.mark.parametrize(
    ("program", "printed", "complaint", "code"),
    [
        ("BEGIN{for(i=0;i<30;i++) a[\"k\" i]=i; for(k in a) {printf \"%s \", k; if (++n == 8) break}}",
         "k1 k17 k25 k2 k12 k5 k22 k28 ", "", 0),  # mawk's order: by hash, the last used first
        ("BEGIN{n=split(\"z y x w v u\",a,\" \"); for(k in a) printf \"%s \", k}", "3 6 5 2 1 4 ", "", 0),
        ("BEGIN{print 2^31, 2^53, 1e6, -1e300*1e300, 1/0, log(-1)}",
         "2.14748e+09 9.0072e+15 1000000 -inf inf -nan\n", "", 0),
        ("BEGIN{print length(\"é\"), substr(\"hello\",-1,3), substr(\"hello\",1.5,2)}", "2 hell he\n", "", 0),
        ("BEGIN{srand(1); print rand(), rand()}", "0.840188 0.394383\n", "", 0),  # glibc's random()
        ("BEGIN{printf \"%s %s %s\\n\", \"a\", \"b\"}", "a b ", "awk: run time error: not enough arguments passed to "
         "printf(\"%s %s %s\n\")\n\tFILENAME=\"\" FNR=0 NR=0\n", 2),
        ("BEGIN{print gensub(/a/,\"b\",\"g\",\"aaa\")}", "", "awk: line 2: function gensub never defined\n", 2),
        ("BEGIN{print 2**3}", "", "awk: line 1: syntax error at or near *\n", 2),
        ("{print $1", "", "awk: line 2: missing } near end of file\n", 2),
        ("BEGIN{a[1]=2; print a}", "", "awk: line 1: illegal reference to array a\n", 2),
        ("/(/", "", "awk: line 1: regular expression compile failed (missing ')')\n(\n", 2),
        ("BEGIN{nextfile}", "", "awk: line 1: improper use of nextfile\n", 2),
        ("BEGIN{s=\"caat\"; gsub(/x*/, \"-\", s); print s; t=\"x\"; sub(/x/, \"<&\\\\&>\", t); print t}",
         "-c-a-a-t-\n<x&>\n", "", 0),
        ("BEGIN{\"pwd\" | getline d; print d; print \"b\\na\" | \"sort\"; close(\"sort\"); print system(\"exit 3\")}",
         "/home/user\na\nb\n3\n", "", 0),
        ("BEGIN{while ((getline l < \"a.txt\") > 0) n++; print n, (getline l < \"nosuch\")}", "4 -1\n", "", 0),
        ("BEGIN{print 1 > \"/nodir/x\"}", "",
         "awk: cannot open \"/nodir/x\" for output (No such file or directory)\n", 2),
        ("function f(n){return n<=1?1:n*f(n-1)} BEGIN{print f(10), f(20)}", "3628800 2.4329e+18\n", "", 0),
        ("function g(a,i){a[i]=i*i} BEGIN{g(s,3); g(s,4); print s[3]+s[4]}", "25\n", "", 0),
        ("BEGIN{$0=\"a b c\"; $5=\"e\"; print; print NF; NF=2; print}", "a b c  e\n5\na b\n", "", 0),
    ],
)  # fmt: skip
def test_awk_is_mawk(terminal, program, printed, complaint, code):
    seen = terminal.run(f"awk '{program}'" if "'" not in program else f'awk "{program}"')
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


def test_awk_reads_files_fields_and_assignments(terminal):
    seen = terminal.run(
        "awk -F, -v n=2 '{c[$1]++} NR==n{print FILENAME, FNR, x} END{for(k in c) print k, c[k]}' x=7 a.txt"
    )
    assert seen.stdout == "a.txt 2 7\nbeta 1\ngamma 1\ndelta 1\nalpha 1\n"
    assert (
        terminal.run("awk '{print}' nosuch a.txt").stderr
        == "awk: cannot open nosuch (No such file or directory)\n"
    )
    assert (
        terminal.run("printf 'a b\\nc\\n\\n\\nd\\n' | awk 'BEGIN{RS=\"\"}{print NR, NF, $2}'").stdout
        == "1 3 b\n2 1 \n"
    )


def test_awk_stops_at_the_limits_of_its_command(terminal):
    late = terminal.run("awk 'BEGIN{print 1; for(;;) x++}'", timeout=0.5)
    assert (late.stdout, late.exit_code, late.status) == ("1\n", 124, Status.TIMEOUT)
    large = terminal.run("awk 'BEGIN{x=\"a\"; for(;;) x=x x}'")
    assert (large.stdout, large.exit_code, large.status) == ("", 137, Status.KILLED)


def test_the_longest_alternative_matches(terminal):
    assert terminal.run("echo abab | awk '{sub(/a|ab|aba/, \"x\"); print}'").stdout == "xb\n"


def test_a_pattern_without_end_is_given_up(terminal):
    seen = terminal.run(f"echo {'a' * 60}c | awk '/^(a|aa)+$/'")
    assert seen.stderr == "awk: program limit exceeded: a regular expression takes too long\n"
    assert seen.exit_code == 2
    seen = terminal.run(f"expr {'a' * 60}c : '\\(a\\|aa\\)*$'")
    assert (seen.stderr, seen.exit_code) == ("expr: Regular expression too big\n", 2)
