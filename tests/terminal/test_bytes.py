"""Programs on bytes in files and pipes: what xxd, util-linux, coreutils, OpenSSL, gzip and tar print, as recorded."""

import pytest

from echo_terminal.terminal.terminal import HOME, File

FILES = {
    f"{HOME}/a.txt": File(b"alpha\nbeta\ngamma\ndelta\n"),
    f"{HOME}/d": File(b"hello spaces\n"),
    f"{HOME}/bytes": File(bytes(range(256))),
    f"{HOME}/latin": File(b"caf\xe9\n"),
}


@pytest.mark.parametrize(
    ("command", "printed", "complaint", "code"),
    [
        ("xxd -b d | head -1", "00000000: 01101000 01100101 01101100 01101100 01101111 00100000  hello \n", "", 0),
        ("xxd -e -l 16 bytes", "00000000: 03020100 07060504 0b0a0908 0f0e0d0c  ................\n", "", 0),
        ("xxd -s -8 bytes", "000000f8: f8f9 fafb fcfd feff                      ........\n", "", 0),
        ("xxd -i < d", "  0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x73, 0x70, 0x61, 0x63, 0x65, 0x73,\n  0x0a\n", "", 0),
        ("xxd bytes | xxd -r | cmp - bytes", "", "", 0),
        ("xxd -p bytes | xxd -r -p > x; cmp x bytes", "", "", 0),
        ("printf '\\x41\\x00\\x42' | xxd", "00000000: 4100 42                                  A.B\n", "", 0),
        ("xxd -g 3 -e d", "", "xxd: number of octets per group must be a power of 2 with -e.\n", 1),
        ("hexdump -c d", "0000000   h   e   l   l   o       s   p   a   c   e   s  \\n            \n000000d\n", "", 0),
        ("head -c 3 bytes | hexdump", "0000000 0100 0002                              \n0000003\n", "", 0),
        ("hexdump -e '4/1 \"%_u \" \"\\n\"' d", "h e l l\no   s p\na c e s\nlf   \n", "", 0),
        ("hexdump -ve '1/1 \"%.2x\"' d", "68656c6c6f207370616365730a", "", 0),
        ("hexdump -e '\"%k\"' d", "", "hexdump: bad conversion character %k\n", 1),
        ("hd d", "00000000  68 65 6c 6c 6f 20 73 70  61 63 65 73 0a           |hello spaces.|\n0000000d\n", "", 0),
        ("base64 bytes | base64 -d | cmp - bytes", "", "", 0),
        ("base64 -d <<< 'aGVs bG8='", "hel", "base64: invalid input\n", 1),
        ("base64 -di <<< 'a-GVs'", "hel", "", 0),
        ("base64 -d <<< 'aGk=aGk='", "hihi", "", 0),
        ("basenc --base32hex <<< hi", "D1KGK===\n", "", 0),
        ("basenc d", "", "basenc: missing encoding type\nTry 'basenc --help' for more information.\n", 1),
        ("iconv -f latin1 latin -t utf8", "café\n", "", 0),
        ("iconv -f utf-8 -t utf-16 <<< hi | xxd -p", "fffe680069000a00\n", "", 0),
        ("iconv -f utf-8 latin", "caf", "iconv: illegal input sequence at position 3\n", 1),
        ("iconv -f utf-8 -t ascii//TRANSLIT <<< 'é€–“x”…'", "?EUR-\"x\"...\n", "", 0),
        ("md5sum d > s; echo bad >> s; md5sum -wc s", "d: OK\n", "md5sum: s: 2: improperly formatted MD5 checksum "
         "line\nmd5sum: WARNING: 1 line is improperly formatted\n", 0),
        ("cksum -a md5 d", "MD5 (d) = ba3cbcf8dd94c4ae09770ca5419c868e\n", "", 0),
        ("cat bytes | md5sum --tag", "MD5 (-) = e2c865db4162bed963bfaa9ef6ac18f0\n", "", 0),
        ("openssl dgst d", "SHA256(d)= 131777b2fe5ccad3e05466583352902a6826f12728befcf032958aca4e09ae6b\n", "", 0),
        ("openssl md5 -r d", "ba3cbcf8dd94c4ae09770ca5419c868e *d\n", "", 0),
        ("openssl dgst -sha256 -binary d | openssl base64", "Exd3sv5cytPgVGZYM1KQKmgm8ScovvzwMpWKyk4Jrms=\n", "", 0),
        ("printf aGk= | openssl base64 -d", "", "", 0),  # a line without its end is none
        ("gzip -c bytes | gunzip | cmp - bytes", "", "", 0),
        ("echo hi | gzip -c | xxd | head -1", "00000000: 1f8b 0800 0000 0000 0003 cbc8 e402 007a  ...............z\n",
         "", 0),
        ("gzip -S .z d; ls", "a.txt\nbytes\nd.z\nlatin\n", "", 0),
        ("xz -c bytes | xz -dc | cmp - bytes", "", "", 0),
        ("gzip -dc a.txt", "", "\ngzip: a.txt: not in gzip format\n", 1),
        ("tar cf - bytes | (mkdir x; cd x; tar xf -; cmp bytes ../bytes)", "", "", 0),
        ("tar cf a.tar d a.txt --transform 's/^/x\\//'; tar --delete -f a.tar x/d; tar tf a.tar", "x/a.txt\n", "", 0),
        ("tar cf a.tar --remove-files d; ls", "a.tar\na.txt\nbytes\nlatin\n", "", 0),
        ("tar cvf - d | tar t", "d\n", "d\n", 0),
        ("tar xJf a.txt", "", "xz: (stdin): File format not recognized\ntar: Child returned status 1\n"
         "tar: Error is not recoverable: exiting now\n", 2),
        ("tar -tf a.tar -x", "", "tar: You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' "
         "option\nTry 'tar --help' or 'tar --usage' for more information.\n", 2),
        ("tar tf <(tar cf - d)", "d\n", "", 0),
        ("tar cf a.tar --owner=0 --group=bob:5 --mode=600 --mtime=2020-01-01 d; tar tvf a.tar",
         "-rw------- root/bob         13 2020-01-01 00:00 d\n", "", 0),
        ("tar cf a.tar d a.txt; rm d; chmod 600 a.txt; tar df a.tar", "a.txt: Mode differs\n",
         "tar: d: Warning: Cannot stat: No such file or directory\n", 1),
        ("tar czf a.tgz d; tar rzf a.tgz a.txt", "", "tar: Cannot update compressed archives\n"
         "Try 'tar --help' or 'tar --usage' for more information.\n", 2),
        ("tar cPf a.tar /home/user/d; tar tf a.tar", "/home/user/d\n",
         "tar: Removing leading `/' from member names\n", 0),
        ("ln -s d e; gzip e", "", "gzip: e: Too many levels of symbolic links\n", 1),
        ("zcat -f d", "hello spaces\n", "", 0),
        ("xz -k a.txt; xz -l a.txt.xz", "Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename\n"
         "    1       1         80 B         23 B  3.478  CRC64   a.txt.xz\n", "", 0),
        ("tail -c 3 bytes | xxd -p", "fdfeff\n", "", 0),
        ("cksum -a bsd a.txt; cksum -a sysv a.txt", "19946     1 a.txt\n2007 1 a.txt\n", "", 0),
        ("cksum -a md5 a.txt | cksum -c", "a.txt: OK\n", "", 0),
        ("hexdump -s 300 bytes", "0000100\n", "", 0),
        ("xxd -r -p <<< 'zz 41 42'", "AB", "", 0),
        ("cat bytes | tee copy | md5sum; cmp bytes copy", "e2c865db4162bed963bfaa9ef6ac18f0  -\n", "", 0),
        ("head -c 200 bytes | tee copy > k; cmp bytes copy", "", "cmp: EOF on copy after byte 200, in line 2\n", 1),
        ("split -b 100 bytes p.; cat p.* | cmp - bytes", "", "", 0),
        ("cat d | gzip | (zcat; echo end)", "hello spaces\nend\n", "", 0),
        ("{ gzip -c d; gzip -c d; } | zcat", "hello spaces\nhello spaces\n", "", 0),
        ("bash -c 'xz -c bytes | xz -d | cmp - bytes'", "", "", 0),
        ("bash -c 'tar c d | tar t'", "d\n", "", 0),
        ("f() { gzip < bytes > b; zcat b | cmp - bytes; }; f", "", "", 0),
    ],
)  # fmt: skip
def test_bytes_pass(terminal, command, printed, complaint, code):
    seen = terminal.run(command)
    assert (seen.stdout, seen.stderr, seen.exit_code) == (printed, complaint, code)


def test_random_bytes_are_those_of_the_seed(terminal):
    first, second = (terminal.run("openssl rand -hex 8").stdout for _ in range(2))
    assert len(first) == 17 and first != second
    terminal.reset(FILES, 0)
    assert terminal.run("openssl rand -hex 8").stdout == first


def test_a_loop_keeps_its_input(terminal):
    seen = terminal.run("ls | while read f; do gzip -c $f > $f.gz; done; ls *.gz | wc -l")
    assert seen.stdout == "4\n"
