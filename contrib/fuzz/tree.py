"""The contents of a btree, from its pages: levels, pages, entries.

There are two ways to compare two trees.  `pages` returns everything on the
pages except block numbers, LSNs and checksums, level by level from the root and
from left to right.  `entries` returns only the leaf level: the stored key and
the TID of each entry, in order.  It ignores which pages and posting lists hold
the entries.

The fields of a page have the byte order of the server's processor, "<" or ">"
as in struct.  The magic number of the metapage shows which one.
"""

import struct

HEADER = 24                     # SizeOfPageHeaderData
BTREE_MAGIC = 0x053162
LP_NORMAL = 1

# IndexTupleData.t_info
SIZE_MASK = 0x1FFF
ALT_TID = 0x2000

# Bits of the offset number in the TID, if ALT_TID is set
IS_POSTING = 0x2000
COUNT_MASK = 0x0FFF

LEAF = 1                        # BTP_LEAF


class BadTree(Exception):
    """The pages are not a btree."""


class Page:
    """A page of the tree: its items, and its header fields."""

    def __init__(self, raw, order):
        lower, upper, special = struct.unpack_from(order + "HHH", raw, 12)
        (self.previous, self.next, self.level,
         self.flags) = struct.unpack_from(order + "IIIH", raw, special)
        self.size = len(raw)
        self.free = upper - lower
        self.items = []
        for pointer in struct.unpack_from(
                "%s%dI" % (order, (lower - HEADER) // 4), raw, HEADER):
            start, length = pointer & 0x7FFF, pointer >> 17
            if order == ">":
                start, length = length, start
            if pointer >> 15 & 3 != LP_NORMAL:
                raise BadTree("line pointer %x" % pointer)
            self.items.append(raw[start:start + length])
        self.first = 0 if self.next == 0 else 1     # after the high key

    def comparable(self):
        """The level, the flags, the free space, and the items, without block
        numbers."""
        if self.flags & LEAF:
            items = [item[4:] for item in self.items[:self.first]]
            items += self.items[self.first:]
        else:
            items = [item[4:] for item in self.items]
        return (self.level, self.flags, self.free, items)


class Tree:
    """A whole index, from the hex of its pages."""

    def __init__(self, lines):
        raw = [bytes.fromhex(line) for line in lines]
        self.order = order_of(raw[0])
        (version, root, level, fastroot, fastlevel) = struct.unpack_from(
            self.order + "5I", raw[0], HEADER + 4)
        self.blocks = len(raw)
        self.shape = (version, level, level - fastlevel, fastroot == root,
                      raw[0][64])           # allequalimage
        self.levels = []
        self.reached = 1
        while root != 0:
            pages = self._walk(raw, root, level)
            self.levels.append(pages)
            if level == 0:
                break
            root = block_of(pages[0].items[pages[0].first], self.order)
            level -= 1
        self.leaves = self.levels[-1] if self.levels else []

    def _walk(self, raw, block, level):
        """The pages of a level from left to right."""
        pages = []
        left = 0
        while block != 0:
            if block >= len(raw) or len(pages) > len(raw):
                raise BadTree("block %d of %d" % (block, len(raw)))
            page = Page(raw[block], self.order)
            if page.level != level or page.previous != left:
                raise BadTree("block %d has level %d and left sibling %d"
                              % (block, page.level, page.previous))
            pages.append(page)
            left, block = block, page.next
        self.reached += len(pages)
        return pages

    def pages(self):
        """The data that all serial builds must have in common."""
        return [self.shape, self.blocks] + [
            [page.comparable() for page in level] for level in self.levels]

    def count(self):
        """The number of entries."""
        return sum(count_entries(item, self.order) for page in self.leaves
                   for item in page.items[page.first:])

    def entries(self):
        """The data that all builds must have in common: a list of (key, TID).
        A TID is a pair of block number and offset number."""
        found = []
        for page in self.leaves:
            for item in page.items[page.first:]:
                append_entries(found, item, self.order)
        return found


def order_of(metapage):
    """The byte order of an index."""
    for order in "<>":
        if struct.unpack_from(order + "I", metapage, HEADER) == (BTREE_MAGIC,):
            return order
    raise BadTree("no metapage")


def tid_of(item, at, order):
    """The TID at an offset of a tuple."""
    high, low, offset = struct.unpack_from(order + "HHH", item, at)
    return high << 16 | low, offset


def block_of(item, order):
    """The block number in a tuple's TID."""
    return tid_of(item, 0, order)[0]


def count_entries(item, order):
    """The number of entries of a leaf tuple."""
    offset, info = struct.unpack_from(order + "HH", item, 4)
    return offset & COUNT_MASK if info & ALT_TID else 1


def append_entries(found, item, order):
    """Append the entries of a leaf tuple to `found`: several for a posting list."""
    offset, info = struct.unpack_from(order + "HH", item, 4)
    bits = info & ~(SIZE_MASK | ALT_TID)
    if info & ALT_TID:
        if not offset & IS_POSTING:
            raise BadTree("a pivot tuple among the leaf's")
        start = block_of(item, order)
        key = (bits, item[8:start])
        for at in range(start, start + 6 * (offset & COUNT_MASK), 6):
            found.append((key, tid_of(item, at, order)))
    else:
        found.append(((bits, item[8:]), tid_of(item, 0, order)))


def show_entry(entry):
    """An entry in readable form."""
    (bits, key), tid = entry
    return "(%d,%d) %04x %s" % (*tid, bits, key[:40].hex())


def first_difference(ours, servers):
    """A message about the first difference of two lists of entries."""
    for i, (a, b) in enumerate(zip(ours, servers)):
        if a != b:
            return "entry %d of %d is %s, not %s" % (
                i, len(ours), show_entry(a), show_entry(b))
    return "%d entries, not %d" % (len(ours), len(servers))
