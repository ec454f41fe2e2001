#!/usr/bin/env python3
"""Text that this machine really holds, as lines for COPY.

    corpus.py KIND ROWS

What generated strings have in common is what their generator gave them; real
text has other regularities, so make bench measures both.  Values differ from
machine to machine: the numbers to compare are those of one run.  Lines come
in an order that is random and the same each time; there are fewer than ROWS
if the machine does not hold that many.  Files that the user cannot read, and
bytes that are not UTF-8, are left out.
"""

import gzip
import itertools
import os
import random
import re
import sys

LONGEST = 1000          # bytes; an index tuple holds at most 2,704

# Names of file systems that are not on a disk
VIRTUAL = {"proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "cgroup", "cgroup2",
           "mqueue", "debugfs", "tracefs", "securityfs", "bpf"}


def virtual_mounts():
    """Directories where a file system without files of its own is mounted."""
    try:
        with open("/proc/mounts") as f:
            mounts = [line.split() for line in f]
    except OSError:
        return set()
    return {fields[1] for fields in mounts if fields[2] in VIRTUAL}


def files(top):
    """The path of every file and directory below one; links are not followed."""
    skipped = virtual_mounts()
    for directory, below, names in os.walk(top):
        below[:] = [d for d in below if os.path.join(directory, d) not in skipped]
        for name in below + names:
            yield os.path.join(directory, name)


def paths():
    """The path of every file of the machine."""
    return files("/")


def contents(path):
    """A file's text, unpacked; "" if it cannot be had."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            return f.read(16 << 20).decode("utf-8", "ignore")
    except (OSError, EOFError):
        return ""


def texts(*tops, name=""):
    """The texts of all files below directories, or of those whose names match a
    regular expression."""
    for path in itertools.chain(*map(files, tops)):
        if re.search(name, path) and os.path.isfile(path):
            yield contents(path)


def lines_of(found):
    """The lines of texts, without blanks around them."""
    for text in found:
        for line in text.splitlines():
            yield line.strip()


def documentation():
    """The texts of manual pages and of packages' documentation."""
    return texts("/usr/share/man", "/usr/share/doc", "/usr/share/dict")


def lines():
    """Lines of the documentation."""
    return lines_of(documentation())


def words():
    """Each word of the documentation, once."""
    found = set()
    for text in documentation():
        found.update(re.findall(r"[^\W\d_][\w'-]*", text))
    return sorted(found)


def messages():
    """What programs say, in all languages that are installed."""
    for text in texts("/usr/share", name=r"\.mo$"):
        yield from text.split("\0")


def addresses():
    """Each mail address of the documentation, once."""
    found = set()
    for text in documentation():
        found.update(re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text))
    return sorted(found)


def logs():
    """Lines of the system's logs."""
    return lines_of(texts("/var/log"))


KINDS = {f.__name__: f for f in (paths, words, lines, messages, addresses, logs)}


def usable(strings):
    """Those that a column of text can hold, and an index tuple."""
    for string in strings:
        data = string.encode("utf-8", "ignore")
        if data and len(data) <= LONGEST and b"\0" not in data:
            yield data


def chosen(kind, rows):
    """ROWS strings of a kind, or all there are, in random order."""
    found = list(usable(KINDS[kind]()))
    random.Random(1).shuffle(found)
    return found[:rows]


ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}


def copy_line(data):
    """A string as COPY reads it."""
    return re.sub(rb"[\\\n\r\t]", lambda m: ESCAPES[m.group()], data) + b"\n"


if __name__ == "__main__":
    for line in chosen(sys.argv[1], int(sys.argv[2])):
        sys.stdout.buffer.write(copy_line(line))
