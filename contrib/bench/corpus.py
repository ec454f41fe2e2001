#!/usr/bin/env python3
"""Print real text found on this machine, as lines for COPY.

    corpus.py KIND ROWS

Generated strings have only the regularities that their generator gave them.
Real text has other regularities, so `make bench` measures both.  The text
differs between machines, so compare only numbers from one run.  Unless KIND is
in IN_ORDER, the lines are in a random order, which is the same each time.  If
the machine has too little text, the program prints fewer than ROWS lines.  It
skips files that the user cannot read, and bytes that are not UTF-8.
"""

import functools
import gzip
import itertools
import os
import random
import re
import struct
import subprocess
import sys

LONGEST = 2600          # bytes; an index tuple holds at most 2,704
READ_MOST = 64 << 20    # maximum bytes read from a file

# Names of file systems that are not on a disk
VIRTUAL = {"proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "cgroup", "cgroup2",
           "mqueue", "debugfs", "tracefs", "securityfs", "bpf"}


def virtual_mounts():
    """The mount points of the file systems in VIRTUAL."""
    try:
        with open("/proc/mounts") as f:
            mounts = [line.split() for line in f]
    except OSError:
        return set()
    return {fields[1] for fields in mounts if fields[2] in VIRTUAL}


def files(top):
    """The path of every file and directory below top, without following
    links."""
    skipped = virtual_mounts()
    for directory, below, names in os.walk(top):
        below[:] = [d for d in below if os.path.join(directory, d) not in skipped]
        for name in below + names:
            yield os.path.join(directory, name)


def paths():
    """The path of every file of the machine."""
    return files("/")


def contents(path):
    """A file's text, uncompressed; "" if the file cannot be read."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            return f.read(READ_MOST).decode("utf-8", "ignore")
    except (OSError, EOFError):
        return ""


def texts(*tops, name=""):
    """The texts of all files that are below the directories `tops` and have
    paths that match the regular expression `name`."""
    for path in itertools.chain(*map(files, tops)):
        if re.search(name, path) and os.path.isfile(path):
            yield contents(path)


def lines_of(found):
    """The lines of texts, without leading and trailing blanks."""
    for text in found:
        for line in text.splitlines():
            yield line.strip()


def documentation():
    """The texts of manual pages and of packages' documentation."""
    return texts("/usr/share/man", "/usr/share/doc")


def matches(pattern):
    """All distinct matches of a regular expression in the documentation."""
    found = set()
    for text in documentation():
        found.update(re.findall(pattern, text))
    return sorted(found)


def words():
    """The distinct words of the documentation."""
    return matches(r"[^\W\d_][\w'-]*")


def addresses():
    """The distinct mail addresses in the documentation."""
    return matches(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def urls():
    """The distinct URLs in the documentation."""
    return matches(r"https?://[^\s<>\"'()\\\]]+")


def numbers():
    """The distinct strings in the documentation that look like version
    numbers."""
    return matches(r"\d+(?:[.:~+-]\d+[a-z]*\d*)+")


def manuals():
    """Lines of manual pages."""
    return lines_of(texts("/usr/share/man"))


def lines():
    """Lines of the documentation."""
    return lines_of(documentation())


def punctuation():
    """Lines of the documentation without their letters and digits."""
    for line in lines():
        yield re.sub(r"\w+", "", line)


def long_texts():
    """The documentation, cut into strings of 2,000 bytes."""
    for text in documentation():
        text = " ".join(text.split())
        yield from (text[at:at + 2000] for at in range(0, len(text), 2000))


def logs():
    """Lines of the system's logs."""
    return lines_of(texts("/var/log"))


def source():
    """Lines of programs and headers."""
    return lines_of(texts("/usr/include", "/usr/lib", "/usr/share/perl",
                          name=r"\.(?:h|py|p[lm]|sh)$"))


def json_lines():
    """Lines of JSON files."""
    return lines_of(texts("/usr/share", "/usr/lib", "/etc", name=r"\.json$"))


def checksums():
    """Checksums and paths of the files of installed packages."""
    return lines_of(texts("/var/lib/dpkg/info", name=r"\.md5sums$"))


def dictionary(path):
    """The words of a dictionary, without hunspell's flags."""
    for line in contents(path).splitlines():
        yield line.split("/")[0].strip()


@functools.lru_cache(None)
def known_packages():
    """The package records that apt has, as text."""
    try:
        return subprocess.run(["apt-cache", "dumpavail"], check=True,
                              stdout=subprocess.PIPE).stdout.decode("utf-8", "ignore")
    except (OSError, subprocess.CalledProcessError):
        return ""


def packages(field):
    """The given field of all package records that apt has."""
    return re.findall("^%s: (.*)$" % field, known_packages(), re.MULTILINE)


def translations(path):
    """The translated messages in a gettext file."""
    try:
        with open(path, "rb") as f:
            data = f.read()
        order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
        n, _, table = struct.unpack_from(order + "3I", data, 8)
        # the first message describes the file
        for i in range(1, n):
            length, at = struct.unpack_from(order + "2I", data, table + 8 * i)
            yield data[at:at + length].decode("utf-8", "ignore").split("\0")[0]
    except (OSError, struct.error):
        return


def messages(languages=""):
    """Programs' messages in the languages whose codes match the regular
    expression."""
    for path in files("/usr/share/locale"):
        if re.search(r"/locale/(?:%s)[^/]*/LC_MESSAGES/.*\.mo$" % languages, path):
            yield from translations(path)


def phrases(languages):
    """The sequences of non-ASCII letters and digits in the messages of these
    languages."""
    for message in messages(languages):
        yield from re.findall(r"[^\W\x00-\x7f]+", message)


KINDS = {f.__name__: f for f in (
    paths, words, lines, messages, addresses, logs, urls, numbers, manuals,
    punctuation, long_texts, source, json_lines, checksums)}
KINDS["find"] = paths
KINDS.update(("dictionary_" + name, functools.partial(dictionary, path))
             for name, path in {
                 "en": "/usr/share/dict/american-english",
                 "de": "/usr/share/dict/ngerman",
                 "fr": "/usr/share/dict/french",
                 "es": "/usr/share/dict/spanish",
                 "pl": "/usr/share/dict/polish",
                 "cs": "/usr/share/hunspell/cs_CZ.dic"}.items())
KINDS.update(("packages_" + field.lower(), functools.partial(packages, field))
             for field in ("Package", "Version", "Maintainer", "Description",
                           "Depends", "Tag", "Filename"))
KINDS.update(("messages_" + name, functools.partial(messages, name))
             for name in ("de", "cs", "ru", "zh", "ja", "ar", "ko"))
KINDS["phrases"] = functools.partial(phrases, "zh|ja")

# Kinds whose lines stay in the order in which the program finds them
IN_ORDER = {"find", "logs"}


def usable(strings):
    """The UTF-8 bytes of the strings that a text column and an index tuple can
    hold."""
    for string in strings:
        data = string.encode("utf-8", "ignore")
        if data and len(data) <= LONGEST and b"\0" not in data:
            yield data


def chosen(kind, rows):
    """At most ROWS strings of a kind, in random order unless the kind is in
    IN_ORDER."""
    found = usable(KINDS[kind]())
    if kind in IN_ORDER:
        return list(itertools.islice(found, rows))
    found = list(found)
    random.Random(1).shuffle(found)
    return found[:rows]


ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}


def copy_line(data):
    """A string in the text format of COPY."""
    return re.sub(rb"[\\\n\r\t]", lambda m: ESCAPES[m.group()], data) + b"\n"


if __name__ == "__main__":
    for line in chosen(sys.argv[1], int(sys.argv[2])):
        sys.stdout.buffer.write(copy_line(line))
