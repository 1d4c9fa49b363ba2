"""``patch`` of the virtual engine: what GNU patch 2.7.6 prints and writes, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

A, B = "alpha\nbeta\ngamma\ndelta\n", "alpha\nbeta2\ngamma\nepsilon\ndelta\n"
BODY = " alpha\n-beta\n+beta2\n gamma\n+epsilon\n delta\n"
UNIFIED = f"--- a.txt\n+++ b.txt\n@@ -1,4 +1,5 @@\n{BODY}"
CONTEXT = (
    "*** a.txt\n--- b.txt\n***************\n*** 1,4 ****\n  alpha\n! beta\n  gamma\n  delta\n"
    "--- 1,5 ----\n  alpha\n! beta2\n  gamma\n+ epsilon\n  delta\n"
)
NORMAL = "2c2\n< beta\n---\n> beta2\n3a4\n> epsilon\n"
LATE = "--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-beta\n+BETA\n@@ -10,2 +10,2 @@\n-nope\n+yes\n context\n"
NEW = "--- /dev/null\n+++ deep/new.txt\n@@ -0,0 +1 @@\n+hello\n"
GONE = "--- a.txt\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-alpha\n-beta\n-gamma\n-delta\n"
GIT = (
    "diff --git a/a.txt b/a.txt\nindex 1234567..89abcde 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ head\n"
    " alpha\n-beta\n+BETA\n gamma\n"
)
ASKED = "  Assume -R? [n] \nApply anyway? [n] \nSkipping patch.\n"
RULE = "--------------------------\n"
LOST = (
    "can't find file to patch at input line 3\nPerhaps you used the wrong -p or --strip option?\n"
    f"The text leading up to this was:\n{RULE}|--- x/none\n|+++ x/none\n{RULE}File to patch: \n"
    "Skip this patch? [y] \nSkipping patch.\n1 out of 1 hunk ignored\n"
)
FAILED = "patching file x\nHunk #1 FAILED at 1.\n1 out of 1 hunk FAILED -- saving rejects to file x.rej\n"


FILES = {f"{HOME}/a.txt": File(A.encode()), f"{HOME}/b.txt": File(B.encode())}


@pytest.mark.parametrize(
    ("text", "command", "printed", "code", "after"),
    [
        (UNIFIED, "patch a.txt < p", "patching file a.txt\n", 0, B),
        (CONTEXT, "patch a.txt p", "patching file a.txt\n", 0, B),
        (NORMAL, "patch a.txt -i p", "patching file a.txt\n", 0, B),
        (UNIFIED, "patch -p0 < p", "patching file a.txt\n", 0, B),
        (UNIFIED, "patch --dry-run a.txt p", "checking file a.txt\n", 0, A),
        (UNIFIED, "cp b.txt a.txt; patch -R a.txt p", "patching file a.txt\n", 0, A),
        (UNIFIED, "cp b.txt a.txt; patch a.txt p", "patching file a.txt\nReversed (or previously applied) patch "
         f"detected!{ASKED}1 out of 1 hunk ignored -- saving rejects to file a.txt.rej\n", 1, B),
        (UNIFIED, "cp b.txt a.txt; patch -N a.txt p", "patching file a.txt\nReversed (or previously applied) patch "
         "detected!  Skipping patch.\n1 out of 1 hunk ignored -- saving rejects to file a.txt.rej\n", 1, B),
        (UNIFIED, "sed -i 1i0 a.txt; patch -s a.txt p", "", 0, "0\n" + B),
        (UNIFIED, "sed -i 1i0 a.txt; patch a.txt p",
         "patching file a.txt\nHunk #1 succeeded at 2 (offset 1 line).\n", 0, "0\n" + B),
        (UNIFIED, "sed -i 1s/a/A/ a.txt; patch a.txt p",
         "patching file a.txt\nHunk #1 succeeded at 1 with fuzz 1.\n", 0, "A" + B[1:]),
        (UNIFIED, "seq 3 > x; patch x p; cat x.rej", f"{FAILED}{UNIFIED}", 0, A),
        (LATE, "patch -p0 < p", "patching file a.txt\nHunk #2 FAILED at 10.\n1 out of 2 hunks FAILED -- saving rejects "
         "to file a.txt.rej\n", 1, A.replace("beta", "BETA")),
        (NEW, "patch -p0 < p; cat deep/new.txt", "patching file deep/new.txt\nhello\n", 0, A),
        (NEW, "mkdir deep; echo x > deep/new.txt; patch -p0 < p", "The next patch would create the file deep/new.txt,\n"
         f"which already exists!{ASKED}1 out of 1 hunk ignored\n", 1, A),
        (GONE, "patch -p0 < p; ls", "patching file a.txt\nb.txt\np\n", 0, None),
        (GIT, "patch -p1 < p", "patching file a.txt\n", 0, A.replace("beta", "BETA")),
        ("--- x/none\n+++ x/none\n@@ -1 +1 @@\n-x\n+y\n", "patch -p1 < p", LOST, 1, A),
        (UNIFIED, "patch -o - a.txt p", B, 0, A),
        (UNIFIED, "patch -b a.txt p; cat a.txt.orig", f"patching file a.txt\n{A}", 0, B),
        (UNIFIED.replace("a.txt", f"{HOME}/a.txt").replace("b.txt", "none"), "patch -p0 < p | head -2",
         f"Ignoring potentially dangerous file name {HOME}/a.txt\ncan't find file to patch at input line 3\n", 0, A),
    ],
)  # fmt: skip
def test_patches(terminal, text, command, printed, code, after):
    terminal.run(f"cat > p <<'END'\n{text}END")
    seen = terminal.run(command)
    assert (seen.stdout, seen.exit_code) == (printed, code)
    content = terminal.read(f"{HOME}/a.txt")
    assert content == (None if after is None else after.encode())


@pytest.mark.parametrize(
    ("command", "printed", "complaint"),
    [
        ("patch a.txt nosuch", "", "patch: **** Can't open patch file nosuch : No such file or directory\n"),
        ("echo hello | patch -p1", "", "patch: **** Only garbage was found in the patch input.\n"),
        ("patch -d nosuch < a.txt", "", "patch: **** Can't change to directory nosuch : No such file or directory\n"),
        ("patch --foo", "", "patch: unrecognized option '--foo'\npatch: Try 'patch --help' for more information.\n"),
        ("patch -p x a.txt", "", "patch: **** strip count x is not a number\n"),
        ("diff -u a.txt b.txt | sed 's/^@@.*/@@ -1,3 +1,5 @@/' | patch a.txt", "patching file a.txt\n",
         "patch: **** malformed patch at line 9:  delta\n\n"),
        ("diff -u a.txt b.txt | sed 3q | patch a.txt", "patching file a.txt\n",
         "patch: **** unexpected end of file in patch\n"),
        ("diff -u a.txt b.txt | patch nosuch", "patching file nosuch\nHunk #1 FAILED at 1.\n",
         "patch: **** Can't reopen file nosuch : No such file or directory\n"),
        ("printf '1c1\\n< alpha\\n> a\\n' | patch a.txt", "patching file a.txt\n",
         "patch: **** '---' expected at line 3 of patch\n"),
    ],
)  # fmt: skip
def test_patches_that_cannot_be_read(terminal, command, printed, complaint):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, 2)
    assert terminal.read(f"{HOME}/a.txt") == A.encode()
