"""Tests of `make bench-sort` that need no server."""

import copy
import io
import os
import tempfile
import unittest
from contextlib import redirect_stdout
from unittest import mock

import bench
import corpus
import peers
import sortbench
import sortmeasure
import sortreport
import sortshapes
from test_bench import SETTINGS, rectangles

COLLATIONS = {"c": '"C"', "en": '"en_US.utf8"', "icu": '"en-x-icu"'}


class Shapes(unittest.TestCase):
    def test_choose(self):
        self.assertEqual([s.name for s in sortshapes.choose("uuid, int8")],
                         ["int8", "uuid"])
        self.assertEqual(len(sortshapes.choose("all")), len(sortshapes.SHAPES))
        self.assertLess(len(sortshapes.choose("")), len(sortshapes.SHAPES))
        self.assertEqual(sortshapes.choose_budgets(""), ["2GB", "64MB", "4MB"])
        with self.assertRaisesRegex(ValueError, "unknown int9; there are: int8 "):
            sortshapes.choose("int8,int9")

    def test_shapes(self):
        for shape in sortshapes.SHAPES.values():
            self.assertIn(shape.table, sortshapes.TABLES)
            self.assertIn(shape.way, sortshapes.WAYS)
            self.assertEqual(len(shape.columns), len(shape.collations))
            self.assertLessEqual(set(shape.budgets), set(sortshapes.BUDGETS))
        for table in sortshapes.TABLES.values():
            if table.corpus:
                self.assertIn(table.corpus, corpus.KINDS)
        tables = [s.table for s in sortshapes.choose("all")]
        self.assertEqual(sorted(tables, key=tables.index), tables)

    def test_scale(self):
        """Budgets shrink with the tables, down to ptsort's minimum budget."""
        self.assertEqual(sortshapes.budget_kb("64MB", 1), 65536)
        self.assertEqual(sortshapes.budget_kb("64MB", 0.25), 16384)
        self.assertEqual(sortshapes.budget_kb("4MB", 0.1), 1024)
        self.assertEqual(sortshapes.table_rows(sortshapes.TABLES["wide"], 0.25), 500000)

    def test_floors(self):
        shape = sortshapes.SHAPES["url_en"]
        self.assertEqual([sortshapes.floor(shape, b) for b in shape.budgets], [8, 7, 7])

    def test_arguments(self):
        found = sortshapes.arguments(sortshapes.SHAPES["text_en_int8"], "t", 64, COLLATIONS)
        self.assertEqual(found, "'t', '{token,account}', collations => ARRAY["
                         "'\"en_US.utf8\"', '-']::regcollation[], budget_kb => 64")
        self.assertIn("told => false", sortshapes.arguments(
            sortshapes.SHAPES["int8"], "t", 64, COLLATIONS, False))
        with self.assertRaises(KeyError):
            sortshapes.arguments(sortshapes.SHAPES["text_icu"], "t", 64, {})

    def test_tables(self):
        fill = sortshapes.load_statements(sortshapes.TABLES["paths"], 0.001)[2]
        self.assertTrue(fill.endswith('" paths 1000\''), fill)
        fill = sortshapes.load_statements(sortshapes.TABLES["wide"], 0.001)[1]
        self.assertIn("2000 - i AS reversed", fill)


def one_sort(engine, ms, **more):
    """A row of sortcompare()."""
    return dict({"engine": engine, "tuples": 100, "checksum": 7, "memory": 1 << 20,
                 "memory_said": None, "rss": 5, "temp": 0, "comparisons": 50,
                 "put_ms": ms, "perform_ms": ms, "get_ms": ms, "end_ms": 1.0,
                 "put_cpu": ms / 2, "perform_cpu": ms / 2, "get_cpu": ms / 4,
                 "end_cpu": 1.0}, **more)


class Server:
    """A fake server.  Its sorts have fixed times and the given checksums."""

    def __init__(self, checksums=(7,)):
        self.checksums = list(checksums)
        self.scripts = []

    def value(self, query):
        return "100"

    def json(self, script):
        self.scripts.append(script)
        if "sortcompare_parallel" in script:
            checksum = self.checksums[len(self.scripts) % len(self.checksums)]
            return [one_sort("", 1.0, participant=0, checksum=checksum),
                    one_sort("", 2.0, participant=1, checksum=None, tuples=None)], []
        engines = script.split("ARRAY[")[-1].split("]")[0].replace("'", "").split(", ")
        return [one_sort(e, 4.0 if e == "server" else 2.0,
                         checksum=self.checksums[n % len(self.checksums)])
                for n, e in enumerate(engines)], []


OPTIONS = mock.Mock(scale=0.001, runs=2, firsts=1, limit=True)


def measured(name, budget="2GB", server=None):
    """A measured shape, with its summary if there is one."""
    shape = sortmeasure.measure(server or Server(), OPTIONS, sortshapes.SHAPES[name],
                                budget, COLLATIONS)
    if shape["status"] == "ok":
        shape["summary"] = sortreport.summarize(shape, "ms")
    return shape


class Measure(unittest.TestCase):
    def test_turns(self):
        self.assertEqual(sortmeasure.turns(2), ["server", "ptsort", "ptsort", "server"])
        self.assertEqual(sortmeasure.turns(2, True), [
            "server", "ptsort", "limit", "ptsort", "server", "limit"])

    def test_sessions(self):
        """Each engine's first sort has its own process; the other sorts share
        one process."""
        server = Server()
        shape = measured("int8", server=server)
        self.assertEqual(len(server.scripts), 3)
        self.assertEqual(len(shape["first"]["ptsort"]), 1)
        self.assertEqual([len(shape[e]) for e in sortmeasure.ENGINES], [2, 2])

    def test_limit(self):
        """Sorts of rows also have a copy of the rows, whose order is another."""
        shape = measured("int8", server=Server((7, 7, 8)))
        self.assertEqual((shape["status"], len(shape["limit"])), ("ok", 2))
        self.assertEqual(sortreport.limit_table([shape])[2].split()[-3:], ["6", "2.00", "1.00"])
        self.assertNotIn("limit", measured("datum_int8"))

    def test_other_order(self):
        """Sorts that return different keys have an error and no ratio."""
        shape = measured("int8", server=Server((7, 8)))
        self.assertEqual(shape["status"], "error")
        self.assertIn("different keys: server 100 rows 7, ptsort 100 rows 8",
                      shape["reason"])
        self.assertEqual(measured("two_int8", server=Server((7, 8)))["status"], "error")

    def test_no_collation(self):
        shape = sortmeasure.measure(Server(), OPTIONS, sortshapes.SHAPES["text_icu"],
                                    "2GB", {})
        self.assertEqual(shape["reason"], "the server has no collation en-x-icu")

    def test_together(self):
        """together() returns the time of the slowest process, and the sum of
        the memory of all processes."""
        found = sortmeasure.together([
            one_sort("", 1.0, participant=0), one_sort("", 3.0, participant=1)])
        self.assertEqual(found["memory"], 2 << 20)
        self.assertEqual(sortreport.total(found, "ms"), 9.0)


class Report(unittest.TestCase):
    def test_summary(self):
        s = measured("int8")["summary"]
        self.assertEqual((s["server"], s["ptsort"], s["ratio"], s["first"]),
                         (12.0, 6.0, 2.0, 2.0))
        self.assertEqual(s["missed"], ["ratio", "first"])
        self.assertEqual(measured("int8", "4MB")["summary"]["missed"], [])

    def test_missed(self):
        shape = measured("text_en", "4MB")
        shape["floor"] = 2.0
        for sort in shape["ptsort"]:
            sort.update(comparisons=201, memory_said=2 << 20)
        self.assertEqual(sortreport.summarize(shape, "ms")["missed"],
                         ["memory", "comparisons"])

    def test_text(self):
        results = {"settings": dict(SETTINGS, scale=0.001, by="ms", firsts=1, told=True),
                   "shapes": [measured("int8"), measured("two_uuid"),
                              measured("uuid", server=Server((7, 8)))]}
        words = sortreport.text(results)
        self.assertRegex(words, r"int8 +2GB +12 +6 +2\.00 +2\.00 +2\.50 .*missed: ratio, first")
        self.assertIn("error: the sorts read different keys", words)
        self.assertRegex(words, r"uuid, 2 processes +2GB +6 +6 +1\.00 +1\.00 +1\.70 +missed")
        self.assertIn("2 of 2 measurements miss a floor.", words)
        self.assertNotIn("busy", words)

    def test_peers(self):
        shape = dict(measured("text_en"), peers={
            "duckdb": {"ms": 18.0, "cpu": 3.0}, "polars": {"reason": "no collations"}})
        words = sortreport.text({"shapes": [shape], "settings": dict(
            SETTINGS, scale=0.001, by="ms", firsts=1, told=True)})
        self.assertRegex(words, r"text 32, en_US +12 +6 +18 +3\.00 +- +-\n")
        self.assertEqual(peers.order_by({"keys": ["a", "b"], "collations": ["en", None]}),
                         '"a" COLLATE en_us NULLS LAST, "b" NULLS LAST')

    def test_peer_that_fails(self):
        """If a peer cannot sort, its result has the reason and no times."""
        took = peers.sort("none", "", {})
        self.assertEqual(took, {"reason": "KeyError: 'none'"})

    def test_files(self):
        """The report command writes the text, and a chart for each budget."""
        results = {"settings": dict(SETTINGS, scale=0.001, by="cpu", firsts=1, told=False,
                                 load=5.0),
                   "shapes": [measured("int8"), measured("uuid", "4MB"),
                              measured("two_int8")]}
        with tempfile.TemporaryDirectory() as out, redirect_stdout(io.StringIO()) as said:
            bench.save(copy.deepcopy(results), out)
            sortbench.main(["report", out])
            self.assertEqual(sorted(os.listdir(out)), [
                "chart-2GB.svg", "chart-4MB.svg", "report.txt", "results.json"])
            with open(os.path.join(out, "chart-2GB.svg")) as f:
                self.assertEqual(len(rectangles(f.read(), ("bar", "slow"))), 1)
        self.assertIn("busy", said.getvalue())
        self.assertIn("not told", said.getvalue())


if __name__ == "__main__":
    unittest.main()
