"""Check the sort benchmark's files, using only the benchmark's rules.

    judge.py made FILE KIND FIRST      check every record of a generated file
    judge.py sum FILE...               print the result that sortbench_validate() must return
    judge.py sorted INPUT OUTPUT...    check that the output has the input's records
                                       in key order, and equal keys in input order
"""

import sys
import zlib

SIZE, KEY, SKEW = 100, 10, 6
FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
SUMMAND = 0x4A696D47726179524950202020202001
WHOLE = 1 << 128

# Bytes to XOR with the bytes after the key: all byte values with four bits set,
# in descending order, and then twenty other bytes.
MIX = bytes(sorted((b for b in range(256) if bin(b).count("1") == 4), reverse=True)) + bytes.fromhex(
    "c8c4c2c1989492918ce0" "170f332e2d2b271e1d1b")


def random_number(record):
    """The random number of a record, by repeated squaring of the generator's step."""
    factor, summand, a, c = 1, 0, FACTOR, SUMMAND
    steps = record + 1
    while steps:
        if steps % 2:
            factor, summand = factor * a % WHOLE, (summand * a + c) % WHOLE
        a, c = a * a % WHOLE, (a + 1) * c % WHOLE
        steps //= 2
    return summand


def plain_key(number, text):
    """The key before skewing."""
    if not text:
        return number.to_bytes(16, "big")[:KEY]
    high, low = divmod(number, 1 << 64)
    digits = [high // 95 ** i % 95 for i in range(8)] + [low // 95 ** i % 95 for i in range(2)]
    return bytes(32 + digit for digit in digits)


def key_of(record, number, kind):
    """The key of a record."""
    text = "ascii" in kind
    key = plain_key(number, text)
    if "skewed" not in kind:
        return key
    model = plain_key(random_number(record.bit_length()), text)[:SKEW]
    chance = (number >> 32) % (8 if text else 64)
    bits = chance * 8 if text else chance
    if bits > SKEW * 8:
        return key
    mask = (1 << 80) - (1 << (80 - bits))
    mixed = int.from_bytes(model + bytes(4), "big") & mask
    mixed |= int.from_bytes(key, "big") & ~mask
    return mixed.to_bytes(KEY, "big")


def numbers_after(number):
    """The bytes after the key of a binary record.  They come from the nine random
    numbers after the record's own random number."""
    numbers = []
    for _ in range(9):
        number = (number * FACTOR + SUMMAND) % WHOLE
        numbers.append(number.to_bytes(16, "big")[:10])
    return bytes(a ^ b for a, b in zip(b"".join(numbers), MIX))


def record_of(record, number, kind):
    """All 100 bytes of a record."""
    text = "ascii" in kind
    if not text and kind != "terasort":
        return key_of(record, number, kind) + numbers_after(number)
    digits = "%013X" % (number % (1 << 52)) if text else "%012X" % (number % (1 << 48))
    filler = "".join(digit * 4 for digit in digits).encode()
    name = b"%032X" % record
    key = key_of(record, number, kind)
    if text:
        return key + b"  " + name + b"  " + filler + b"\r\n"
    return key + b"\0\x11" + name + b"\x88\x99\xaa\xbb" + filler + b"\xcc\xdd\xee\xff"


def read(paths):
    """The records of all files, in order."""
    found = []
    for path in paths:
        with open(path, "rb") as file:
            whole = file.read()
        found += [whole[i:i + SIZE] for i in range(0, len(whole), SIZE)]
    return found


def made(path, kind, first):
    """Compares each record of a file with the record that the rules
    prescribe."""
    first = int(first)
    number = random_number(first)
    for record, found in enumerate(read([path]), first):
        if found != record_of(record, number, kind):
            return "record %d is wrong" % record
        number = (number * FACTOR + SUMMAND) % WHOLE
    return "right"


def total(*paths):
    """The result that sortbench_validate() must return for the files."""
    records = read(paths)
    late = [i for i in range(1, len(records)) if records[i][:KEY] < records[i - 1][:KEY]]
    equal = sum(records[i][:KEY] == records[i - 1][:KEY] for i in range(1, len(records)))
    return "%d|%d|%s|%d|%x" % (len(records), len(late), late[0] if late else "", equal,
                               sum(zlib.crc32(record) for record in records))


def is_sorted(source, *paths):
    """Checks that the files have the source's records in key order, and records with equal
    keys in the source's order."""
    before, after = read([source]), read(paths)
    if len(before) != len(after):
        return "%d records became %d" % (len(before), len(after))
    for i in range(1, len(after)):
        if after[i][:KEY] < after[i - 1][:KEY]:
            return "record %d is too late" % i
    return "right" if after == sorted(before, key=lambda record: record[:KEY]) else "wrong"


if __name__ == "__main__":
    print({"made": made, "sum": total, "sorted": is_sorted}[sys.argv[1]](*sys.argv[2:]))
