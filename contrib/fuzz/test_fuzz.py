"""Tests without a server: reading pages, comparing, repeating cases."""

import random
import struct
import unittest

import copies
import definite
import indexes
import oracle
import queries
import rebuilds
import session
import tables
import tree
import values
from case import Case


ORDER = "<"                     # byte order of the pages


def leaf_tuple(block, offset, key):
    """An index tuple with one TID."""
    return struct.pack(ORDER + "HHHH", block >> 16, block & 0xFFFF, offset,
                       8 + len(key)) + key


def posting_tuple(key, tids):
    """An index tuple with several TIDs."""
    start = 8 + len(key)
    body = key + b"".join(struct.pack(ORDER + "HHH", 0, *tid) for tid in tids)
    return struct.pack(ORDER + "HHHH", 0, start, tree.IS_POSTING | len(tids),
                       tree.ALT_TID | 8 + len(body)) + body


def page(items, previous=0, following=0, level=0, flags=tree.LEAF, size=8192):
    """A page of a btree in hex."""
    raw = bytearray(size)
    end = size - 16
    pointers = b""
    for item in items:
        end -= len(item)
        raw[end:end + len(item)] = item
        low, high = (end, len(item)) if ORDER == "<" else (len(item), end)
        pointers += struct.pack(ORDER + "I",
                                low | tree.LP_NORMAL << 15 | high << 17)
    raw[tree.HEADER:tree.HEADER + len(pointers)] = pointers
    struct.pack_into(ORDER + "HHH", raw, 12, tree.HEADER + len(pointers), end,
                     size - 16)
    struct.pack_into(ORDER + "IIIH", raw, size - 16, previous, following, level,
                     flags)
    return raw.hex()


def metapage(root, level, equal_image=1, size=8192):
    raw = bytearray(size)
    struct.pack_into(ORDER + "6I", raw, tree.HEADER, tree.BTREE_MAGIC, 4, root,
                     level, root, level)
    raw[64] = equal_image
    return raw.hex()


KEYS = [struct.pack("<q", i) for i in range(6)]


def two_leaves(high_key_block=9):
    """A tree of a root and two leaves."""
    high = struct.pack(ORDER + "HHHH", 0, high_key_block, 1, 16) + KEYS[2]
    return [metapage(3, 1),
            page([high, leaf_tuple(1, 1, KEYS[0]),
                  posting_tuple(KEYS[1], [(1, 2), (2, 1)])],
                 following=2),
            page([leaf_tuple(3, 1, KEYS[2])], previous=1),
            page([leaf_tuple(1, 0, b""), leaf_tuple(2, 1, KEYS[2])], level=1,
                 flags=2)]


class Trees(unittest.TestCase):
    def test_entries(self):
        found = tree.Tree(two_leaves()).entries()
        self.assertEqual([key for (_, key), _ in found],
                         [KEYS[0], KEYS[1], KEYS[1], KEYS[2]])
        self.assertEqual([tid for _, tid in found],
                         [(1, 1), (1, 2), (2, 1), (3, 1)])
        self.assertEqual(tree.Tree(two_leaves()).count(), 4)

    def test_block_numbers_do_not_matter(self):
        a, b = tree.Tree(two_leaves()), tree.Tree(two_leaves(high_key_block=77))
        self.assertEqual(a.pages(), b.pages())
        self.assertEqual(a.reached, 4)

    def test_differences(self):
        a = tree.Tree(two_leaves())
        pages = two_leaves()
        pages[2] = page([leaf_tuple(3, 2, KEYS[2])], previous=1)
        b = tree.Tree(pages)
        self.assertNotEqual(a.pages(), b.pages())
        with self.assertRaisesRegex(oracle.Failure, r"entry 3 of 4 is \(3,2\)"):
            oracle.compare_trees("i", a, b, None)
        with self.assertRaisesRegex(oracle.Failure, r"entry 3 of 4"):
            oracle.compare_trees("i", a, b, 7)
        self.assertTrue(oracle.compare_trees("i", a, a, None))

    def test_other_pages(self):
        """compare_trees() ignores differences in posting lists only for parallel
        builds."""
        pages = two_leaves()
        high = bytes.fromhex(pages[1])
        high = tree.Page(high, ORDER).items[0]
        pages[1] = page([high, leaf_tuple(1, 1, KEYS[0]),
                         leaf_tuple(1, 2, KEYS[1]), leaf_tuple(2, 1, KEYS[1])],
                        following=2)
        a, b = tree.Tree(two_leaves()), tree.Tree(pages)
        with self.assertRaisesRegex(oracle.Failure, "other pages"):
            oracle.compare_trees("i", a, b, None)
        self.assertTrue(oracle.compare_trees("i", a, b, 0))

    def test_sizes(self):
        """A tree with more leaves than the server's, and a tree with unused space
        in the pages above the leaves."""
        a, b = tree.Tree(two_leaves()), tree.Tree(two_leaves())
        oracle.compare_sizes("i", a, b, 2)
        b.levels[-1] *= 4
        b.leaves = b.levels[-1]
        oracle.compare_sizes("i", a, b, 2)
        with self.assertRaisesRegex(oracle.Failure, "8 leaves, not 2"):
            oracle.compare_sizes("i", a, b, 1)
        b = tree.Tree(two_leaves())
        b.levels[0] *= 9
        oracle.compare_sizes("i", a, b, 2)
        with self.assertRaisesRegex(oracle.Failure, "9 pages of level 1"):
            oracle.compare_sizes("i", a, b, 1)

    def test_stored_in_two_ways(self):
        """In posting lists, one build may store a value plain and the other build
        may store an equal value compressed."""
        one, two, other = (0, b"plain"), (0, b"packed"), (0, b"wrong")
        self.assertTrue(oracle.same_by_others(
            [(one, b"1"), (two, b"2")], [(one, b"1"), (one, b"2")]))
        self.assertFalse(oracle.same_by_others(
            [(one, b"2"), (two, b"1")], [(one, b"1"), (one, b"2")]))
        self.assertFalse(oracle.same_by_others(
            [(other, b"1")], [(one, b"1")]))

    def test_no_tree(self):
        with self.assertRaises(tree.BadTree):
            tree.Tree(["00" * 8192])
        pages = two_leaves()
        pages[2] = page([leaf_tuple(3, 1, KEYS[2])], previous=3)
        with self.assertRaisesRegex(tree.BadTree, "left sibling"):
            tree.Tree(pages)


class BigEndianTrees(Trees):
    """The same pages as a big-endian processor stores them."""

    def setUp(self):
        global ORDER
        ORDER = ">"

    def tearDown(self):
        global ORDER
        ORDER = "<"


class Answers(unittest.TestCase):
    TEXT = ('psql:<stdin>:7: DEBUG:  00000: ptsort: building index "i": '
            '3 participants, x, keys prefix, 2 words, 1 kB\n'
            "LOCATION:  say_start, btbuild.c:358\n"
            "1|2\n"
            'psql:<stdin>:8: ERROR:  23505: could not create unique index "i"\n'
            "DETAIL:  Key (a)=(1) is duplicated.\n")

    def test_lines(self):
        """`lines` has only ptsort's DEBUG messages."""
        answer = session.Answer(
            'DEBUG:  00000: building index "i" on table "t" serially\n'
            "DETAIL:  its detail\nLOCATION:  index_build, index.c:3000\n"
            + self.TEXT +
            'WARNING:  01000: ptsort: no line\n'
            "DEBUG:  00000: about ptsort: \nLOCATION:  x\n"
            "DEBUG:  00000: rehashing catalog cache id 43\n"
            "LINE 1: SELECT f(1);\n               ^\nQUERY:  SELECT 1,\n\t2\n"
            "LOCATION:  x\n"
            "LINE 2: a row\n")
        self.assertEqual(answer.lines, [
            'ptsort: building index "i": 3 participants, x, keys prefix, 2 words,'
            " 1 kB"])
        self.assertEqual([m.severity for m in answer.messages],
                         ["DEBUG", "ERROR", "WARNING"])
        self.assertEqual(answer.rows, ["1|2", "LINE 2: a row"])

    def test_messages(self):
        answer = session.Answer(self.TEXT)
        self.assertEqual(answer.rows, ["1|2"])
        self.assertEqual(answer.error.code, "23505")
        self.assertEqual(
            str(answer.error), 'ERROR: 23505: could not create unique index '
            '"i" | DETAIL: Key (a)=(1) is duplicated.')

    def test_cut_off(self):
        for detail, cut_off in (("Key (a, b)=(1, ", True),
                                ("Key (a)=(1) is duplicated.", False),
                                ("3 rows", False)):
            self.assertEqual(bool(oracle.CUT_OFF.match(detail)), cut_off)

    def test_who_built(self):
        outcome = oracle.Outcome(None, session.Answer(self.TEXT))
        oracle.check_ptsort_built(outcome, 3)
        with self.assertRaisesRegex(oracle.Failure, "3 participants pl.*not 1"):
            oracle.check_ptsort_built(outcome, 1)
        with self.assertRaisesRegex(oracle.Failure, "enable is off"):
            oracle.check_server_built(outcome)
        outcome.error = None
        leaf = oracle.Leaf.__new__(oracle.Leaf)
        leaf.table_blocks = 1
        outcome.leaves = [leaf]
        with self.assertRaisesRegex(oracle.Failure, "0 of 1 indexes built"):
            oracle.check_ptsort_built(outcome, 3)

    def test_errors(self):
        def outcome(code, text):
            it = oracle.Outcome.__new__(oracle.Outcome)
            it.error = session.Message("ERROR", code, text) if code else None
            return it

        def compare(server, ours, orderly):
            oracle.compare_errors(None, None, outcome(*server), outcome(*ours),
                                  orderly)
        compare(("54000", "size 1"), ("54000", "size 1"), True)
        compare(("54000", "size 1"), ("54000", "size 2"), False)
        compare(("54000", "size 1"), ("22012", "zero"), False)
        for server, ours, orderly in (
                (("54000", "size 1"), ("54000", "size 2"), True),
                (("54000", "size 1"), ("22012", "zero"), True),
                (("54000", "size 1"), (None, None), False),
                ((None, None), ("54000", "size 1"), False),
                (("54000", "size 1"), ("XX000", "oops"), False)):
            with self.assertRaises(oracle.Failure):
                compare(server, ours, orderly)


class World:
    """The attributes of fuzz.World that the generators of statements use."""
    name = "nowhere"
    utf8 = True
    factor = 1
    max_rows = 1000000

    @staticmethod
    def collation(rng):
        return rng.choice((None, '"C"'))


def statements(seed):
    """The statements for a seed."""
    rng = random.Random(seed)
    table = tables.Table(rng, World)
    made = list(table.create())
    made += [sql for _, sql in table.history(lambda: True)]
    for _ in range(4):
        index = indexes.Index(rng, table, World, False)
        made.append(index.statement(2))
        settings = indexes.Settings(rng, table.n, True)
        made.append(indexes.set_all(settings.values))
    return made


class Generators(unittest.TestCase):
    def test_repeatable(self):
        for seed in range(50):
            self.assertEqual(statements(seed), statements(seed))
        self.assertNotEqual(statements(1), statements(2))

    def test_limits(self):
        for seed in range(500):
            rng = random.Random(seed)
            table = tables.Table(rng, World)
            index = indexes.Index(rng, table, World, False)
            columns = len(index.keys) + len(index.include)
            self.assertTrue(1 <= columns <= indexes.MAX_COLUMNS, columns)
            self.assertLessEqual(table.n, 200000)

    def test_all_kinds_come(self):
        seen = set()
        for seed in range(1500):
            rng = random.Random(seed)
            table = tables.Table(rng, World)
            seen.add(table.kind)
            seen.update(column.kind.name for column in table.columns)
            seen.add(indexes.Index(rng, table, World, False).kind)
        self.assertLessEqual(set(tables.Table.KINDS), seen)
        self.assertLessEqual(set(indexes.KINDS), seen)
        self.assertLessEqual({kind.name for kind in values.PLAIN_KINDS}, seen)

    def test_cases_are_their_own(self):
        """A case does not depend on earlier cases."""
        worlds = [World]
        first = Case("s", 7, worlds, None).rng.random()
        Case("s", 6, worlds, None).rng.random()
        self.assertEqual(first, Case("s", 7, worlds, None).rng.random())
        self.assertNotEqual(first, Case("t", 7, worlds, None).rng.random())


class Queries(unittest.TestCase):
    @staticmethod
    def made(seed):
        """The queries for a seed."""
        rng = random.Random(seed)
        table = tables.Table(rng, World)
        keys = definite.Keys(rng, table, World)
        ordered = queries.Ordered(keys)
        fixed = definite.Definite(rng, keys)
        return [ordered.test(), ordered.reference(), fixed.text,
                queries.plan_settings(rng, True),
                queries.sort_settings(rng, table.n)]

    def test_repeatable(self):
        for seed in range(50):
            self.assertEqual(self.made(seed), self.made(seed))
        self.assertNotEqual(self.made(1), self.made(2))

    def test_reference(self):
        rows = ["1|a", "2|b", "3|b", "4|c"]
        reference = queries.Reference(rows, ["3|2", "1|1", "2|2", "4|3"])
        reference.check(rows)
        reference.check(["1|a", "3|b", "2|b", "4|c"])
        reference.check(["3|b"], 1, 1)
        reference.check(["2|b"], 1, 1)
        reference.check(["4|c"], 3, 100)
        reference.check([], 4, 1)
        reference.check(["1|a", "3|b", "2|b"], 0, 2, True)
        for words, wrong in (
                ("row 0 has rank 2, not 1", ["2|b", "1|a", "3|b", "4|c"]),
                ("3 rows, not 4", rows[:3]),
                ("unexpected row: 2", ["1|a", "2|b", "2|b", "4|c"]),
                ("unexpected row: 4", rows[:3] + ["4|C"]),
                ("row 3 has rank None", rows[:3] + ["5|c"])):
            with self.assertRaisesRegex(oracle.Failure, words):
                reference.check(wrong)
        with self.assertRaisesRegex(oracle.Failure, "2 rows, not 3"):
            reference.check(["1|a", "3|b"], 0, 2, True)

    def test_lines(self):
        answer = session.Answer(
            "DEBUG:  00000: ptsort: sorted 7 rows by 2 keys, sorts: 3, "
            "top-N sort, Memory: 104 kB, comparisons: 55\nLOCATION:  x\n1|a\n")
        self.assertEqual(queries.lines_of(answer),
                         [("7", "2", "3", "top-N sort")])
        totals = queries.QueryTotals()
        totals.note_query(("ordered",), answer)
        self.assertEqual((totals.queries, totals.taken, totals.sorts,
                          totals.rows), (1, 1, 3, 7))


class Copies(unittest.TestCase):
    LINES = (
        'DEBUG:  00000: ptsort: copying table "t" in the order of index "i": '
        "3 participants, ptsort.parallel_workers, keys prefix, 2 words, 1024 kB\n"
        'INFO:  00000: "fuzz.t": found 5 removable, 95 nonremovable row '
        "versions in 7 pages\n"
        "DETAIL:  3 dead row versions cannot be removed yet.\n"
        'DEBUG:  00000: ptsort: copied table "t": 3 participants, 95 rows, '
        "1.5 ms, written by %s\n")

    @staticmethod
    def made(seed):
        """The statements for a seed."""
        rng = random.Random(seed)
        table = copies.CopiedTable(rng, World)
        made = list(table.create())
        made += [sql for _, sql in table.history(lambda: True)]
        made += table.become_target()
        made.append(copies.CopyIndex(rng, table, World, False).statement())
        return made

    @staticmethod
    def copy(text):
        """A copy whose messages are `text`."""
        return copies.Copy(session.Answer(text))

    def test_repeatable(self):
        for seed in range(50):
            self.assertEqual(self.made(seed), self.made(seed))
        self.assertNotEqual(self.made(1), self.made(2))

    def test_all_kinds_come(self):
        made = [copies.CopiedTable(random.Random(seed), World)
                for seed in range(1000)]
        self.assertEqual({table.target for table in made}, {
            "table", "partition", "all partitions", "materialized view"})
        self.assertEqual(
            {kind.name for table in made
             for kind in (column.kind for column in table.columns)
             if any(kind.name == long[0] for long in copies.LONG_KINDS)},
            {long[0] for long in copies.LONG_KINDS})

    def test_who_copied(self):
        copy = self.copy(self.LINES % "all of them")
        copy.check_ours(3)
        self.assertTrue(copy.by_all)
        self.assertEqual(copy.found, [(
            "found 5 removable, 95 nonremovable row versions",
            "3 dead row versions cannot be removed yet.")])
        with self.assertRaisesRegex(oracle.Failure, "3 participants pl.*not 1"):
            copy.check_ours(1)
        self.assertFalse(self.copy(
            self.LINES % "the server's functions").by_all)
        copy.ends = []
        with self.assertRaisesRegex(oracle.Failure, "1 copies began, 0"):
            copy.check_ours(3)
        for text, words in (
                ("", "ptsort copied nothing"),
                ('DEBUG:  00000: ptsort: leaving copy of table "t" to the '
                 "server: no index to sort by", "not copied: .*no index")):
            with self.assertRaisesRegex(oracle.Failure, words):
                self.copy(text).check_ours(3)

    def test_contents(self):
        def contents(**other):
            it = copies.Contents.__new__(copies.Contents)
            it.fields = dict.fromkeys(copies.Contents.FIELDS, "1")
            it.fields.update(multis=0, relpages=100, links=0, versions=9)
            it.fields.update(other)
            return it
        contents().compare(contents(relpages=103), 0)
        contents(multis=1).compare(contents(relminmxid="2", multis=1), 0)
        for other in ({"digest": "2"}, {"relpages": 120}, {"relminmxid": "2"},
                      {"relfrozenxid": "2"}, {"multis": 1}):
            with self.assertRaisesRegex(oracle.Failure, list(other)[0]):
                contents().compare(contents(**other), 0)


class Rebuilds(unittest.TestCase):
    LINE = ('DEBUG:  00000: ptsort: %s index "%s": 3 participants, '
            "keys exact%s\n")

    def check(self, text, most=8, expected=True):
        """Check a rebuild whose messages are `text`, and return the rebuild."""
        rebuild = rebuilds.Rebuild(session.Answer(text))
        rebuild.check(lambda name: 3, most, expected)
        return rebuild

    def test_who_scanned(self):
        first = self.LINE % ("building", "ia", ", one scan for 2 indexes")
        second = self.LINE % ("building", "ib", ', from the scan for "ia"')
        own = self.LINE % ("building", "ib", "")
        rebuild = self.check(first + second)
        self.assertEqual((rebuild.shared, rebuild.taken), ([2], 1))
        self.assertEqual(rebuild.building, [("ia", 3), ("ib", 3)])
        self.check(first + own)
        self.check(own, expected=False)
        again = 'DEBUG:  00000: ptsort: scanning again for index "ib": why\n'
        for text, words in (
                (own, "no scan was shared"),
                (first + second + second, "2 builds used"),
                (first + again + own, "scanned again: .*why"),
                (first + own.replace("3 part", "2 part"), "2 participants"),
                ('DEBUG:  00000: ptsort: leaving index "ia" to the server: why',
                 "not built")):
            with self.assertRaisesRegex(oracle.Failure, words):
                self.check(text)
        with self.assertRaisesRegex(oracle.Failure, "one scan for"):
            self.check(first + second, most=1)

    def test_names(self):
        made = []
        for seed in range(200):
            rng = random.Random(seed)
            table = rebuilds.RebuiltTable(rng, World)
            index = rebuilds.Member(rng, table, World, False, "ix")
            made.append(index.statement() + index.drop())
        self.assertTrue(all(sql.count("ix") == 2 for sql in made))
        self.assertTrue(any(sql.startswith("ALTER") for sql in made))


if __name__ == "__main__":
    unittest.main()
