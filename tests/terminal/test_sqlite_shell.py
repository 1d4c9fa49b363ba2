"""The shell of SQLite 3.40: how it writes rows and errors, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

FILES = {f"{HOME}/s.csv": File(b"a,b,c,d,e\n1,x y,,2.5,z\n"), f"{HOME}/q.sql": File(b"select 5;\n")}


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("-line :memory: \"select 1 as a, 'b' as name\"", "    a = 1\n name = b\n"),
        ("-table :memory: \"select 1 as a, 'xy' as b\"",
         "+---+----+\n| a | b  |\n+---+----+\n| 1 | xy |\n+---+----+\n"),
        ("-box :memory: \"select 1 as a, 'xy' as b\"",
         "┌───┬────┐\n│ a │ b  │\n├───┼────┤\n│ 1 │ xy │\n└───┴────┘\n"),
        ("-markdown :memory: \"select 1 as a, 'xy' as b\"", "| a | b  |\n|---|----|\n| 1 | xy |\n"),
        ("-quote :memory: \"select 'x', 1, null, x'41'\"", "'x',1,NULL,X'41'\n"),
        ("-html :memory: 'select 1'", "<TR><TD>1</TD>\n</TR>\n"),
        ("-csv :memory: \"select 'a b', '', null, 1.5, 'x,y'\" | tr -d '\\r'", '"a b","",,1.5,"x,y"\n'),
        (":memory: 'select 7/2.0, 1e10, 10000000000000000000'", "3.5|10000000000.0|1.0e+19\n"),
        (":memory: '.mode csv' '.import s.csv s' '.schema s'",
         'CREATE TABLE IF NOT EXISTS "s"(\n"a" TEXT, "b" TEXT, "c" TEXT, "d" TEXT,\n "e" TEXT);\n'),
        ("t.db 'create table t(a); insert into t values(1);' '.dump' | tail -n 2",
         "INSERT INTO t VALUES(1);\nCOMMIT;\n"),
        ("-cmd '.mode line' :memory: '.read q.sql'", "    5 = 5\n"),
        (":memory: '.mode insert t' 'select 1' '.headers on' 'select 2 n, 3 as \"x y\"' '.mode insert' 'select 4'",
         "INSERT INTO t VALUES(1);\nINSERT INTO t(n,\"x y\") VALUES(2,3);\n"
         "INSERT INTO \"table\"(\"4\") VALUES(4);\n"),
        (":memory: '.mode csv' 'create table s(a,b,c,d,e)' '.import --skip 1 s.csv s' '.mode list' 'select * from s'",
         "1|x y||2.5|z\n"),
    ],
)  # fmt: skip
def test_rows(terminal, words, printed):
    seen = terminal.run(f"sqlite3 {words}")
    assert (seen.stdout, seen.stderr) == (printed, "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (":memory: 'select nosuchfn(1)'",
         "Error: in prepare, no such function: nosuchfn\n  select nosuchfn(1)\n         ^--- error here\n"),
        (":memory: \"select 'open\"",
         "Error: in prepare, unrecognized token: \"'open\"\n  select 'open\n         ^--- error here\n"),
        (":memory: 'select 1; selec 2; select 3'",
         'Error: in prepare, near "selec": syntax error\n  selec 2; select 3\n  ^--- error here\n'),
        (":memory: 'select a b c'",
         'Error: in prepare, near "c": syntax error\n  select a b c\n             ^--- error here\n'),
        ("t.db 'create table t(a); update t set b=1;'", "Error: in prepare, no such column: b\n"),
        (":memory: 'create table t(a); create table t(a);'",
         "Error: in prepare, table t already exists\n  create table t(a);\n               ^--- error here\n"),
        (":memory: <<< 'selec 1;'",
         'Parse error near line 1: near "selec": syntax error\n  selec 1;\n  ^--- error here\n'),
        ("/nosuch/t.db 'select 1'",
         'Error: unable to open database "/nosuch/t.db": unable to open database file\n'),
        (":memory: '.mode foo'", "Error: mode should be one of: ascii box column csv html insert json line list "
         "markdown qbox quote table tabs tcl\n"),
    ],
)  # fmt: skip
def test_errors(terminal, words, complaint):
    seen = terminal.run(f"sqlite3 {words}")
    assert (seen.stderr, seen.exit_code) == (complaint, 1)


def test_plans_widths_and_outputs(terminal):
    terminal.run(
        "sqlite3 x.db 'create table t(a, b); insert into t values(1, 2), (3, \"wwwww\"); create table long(c)'"
    )
    tree = terminal.run("sqlite3 x.db 'explain query plan select * from t order by b'")
    assert tree.stdout == "QUERY PLAN\n|--SCAN t\n`--USE TEMP B-TREE FOR ORDER BY\n"
    wide = terminal.run("sqlite3 x.db '.mode column' '.width 3 -4' 'select * from t'")
    assert wide.stdout == "a       b\n---  ----\n1       2\n\n3    wwww\n        w\n"
    assert (
        terminal.run("sqlite3 x.db '.output f' 'select a from t' .tables; cat f").stdout
        == "1\n3\nlong  t   \n"
    )
    once = terminal.run("printf '.once f\\nselect 1;\\nselect 2;\\n' | sqlite3 x.db; cat f")
    assert once.stdout == "2\n1\n"
    fixed = terminal.run("sqlite3 x.db 'delete from t' -readonly")
    assert (fixed.stderr, fixed.exit_code) == (
        "Error: stepping, attempt to write a readonly database (8)\n",
        8,
    )


def test_rows_of_another_length_are_filled_or_cut(terminal):
    terminal.run("printf '1,2\\n3\\n\"x\ny\",5,6\\n7\\n' > f.csv")
    seen = terminal.run(
        "sqlite3 :memory: 'create table t(a, b)' '.mode csv' '.import f.csv t' 'select * from t'"
    )
    assert seen.stdout.replace("\r", "") == '1,2\n3,\n"x\ny",5\n7,\n'
    assert seen.stderr == (
        "f.csv:2: expected 2 columns but found 1 - filling the rest with NULL\n"
        "f.csv:3: expected 2 columns but found 3 - extras ignored\n"
        "f.csv:5: expected 2 columns but found 1 - filling the rest with NULL\n"
    )
