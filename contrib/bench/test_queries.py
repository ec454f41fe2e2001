"""Tests of `make bench-query` that need no server."""

import io
import os
import tempfile
import unittest
from contextlib import redirect_stdout
from types import SimpleNamespace

import bench
import queries
import querybench
import querymeasure
import queryreport
from test_bench import SETTINGS

COLLATIONS = {"en": '"en_US.utf8"', "icu": '"en-x-icu"'}
OPTIONS = SimpleNamespace(rows=5000, reps=2, min_rows=None, limit=False)


class Queries(unittest.TestCase):
    def test_choose(self):
        self.assertEqual([q.name for q in queries.choose("top_url, order_int8")],
                         ["order_int8", "top_url"])
        self.assertEqual(len(queries.choose("")) + len(queries.choose("few")),
                         len(queries.QUERIES))
        self.assertEqual(queries.choose_memories("4MB"), ["4MB"])
        with self.assertRaisesRegex(ValueError, "unknown none; there are: order_url "):
            queries.choose("none")

    def test_groups(self):
        """Each query is in one group."""
        parts = [set(names) for group, names in queries.GROUPS.items() if group != "all"]
        self.assertEqual(sum(map(len, parts)), len(queries.QUERIES))
        self.assertEqual(set.union(*parts), set(queries.QUERIES))

    def test_queries(self):
        for query in queries.QUERIES.values():
            self.assertIn(query.table, queries.TABLES)
            self.assertIn(query.sort, ("text", "on"))
            self.assertLessEqual(set(query.memories), set(queries.MEMORIES))
            for sql in (query.sql, query.shown or query.sql):
                self.assertNotRegex(queries.fill(sql, 5000, COLLATIONS), r"[{}]")

    def test_text_is_text(self):
        """Queries whose labels end with en_US or en-x-icu need only
        ptsort.sort = text."""
        for query in queries.QUERIES.values():
            if query.label.endswith(("en_US", "en-x-icu")):
                self.assertEqual(query.sort, "text", query.name)

    def test_tables(self):
        """The table "groups" has only the rows that the loops need, and it has
        indexes."""
        groups = queries.TABLES["groups"]
        self.assertEqual(queries.rows_of(groups, 5000000), queries.MOST_OF_GROUPS)
        self.assertEqual(queries.rows_of(queries.TABLES["orders"], 5000), 1000)
        statements = queries.load_statements(groups, 5000)
        self.assertIn("CREATE INDEX ON loading (g100)", statements)
        self.assertEqual(statements[-1], "ALTER TABLE loading RENAME TO "
                         + queries.table_name(groups, 5000))
        self.assertIn("generate_series(0, 49)", queries.fill(
            queries.QUERIES["rescan_int8_100"].sql, 5000, COLLATIONS))

    def test_no_collation(self):
        with self.assertRaises(KeyError):
            queries.fill(queries.QUERIES["order_url_icu"].sql, 5000, {"en": "x"})


class Server:
    """A fake server.  Its runs have the given results and the given plan."""

    def __init__(self, results=("5",), plan="Gather Merge\n Sort", taken=True, ms=(8.0, 2.0, 1.0)):
        self.results = results
        self.end = {"plan": plan, "taken": [{"sorts": 1}] if taken else []}
        self.ms = dict(zip(("server", "ptsort", "limit"), ms))
        self.scripts = []
        self.version = "180001"

    def value(self, query):
        if "pg_table_size" in query:
            return "8192"
        return self.version if "server_version_num" in query else "there"

    def json_lines(self, script):
        self.scripts.append(script)
        engines = [line.split("'engine', '")[1].split("'")[0]
                   for line in script.splitlines() if "'engine', '" in line]
        return [{"engine": engine, "result": self.results[n % len(self.results)],
                 "process": self.ms[engine], "workers": self.ms[engine],
                 "ms": self.ms[engine] * 4} for n, engine in enumerate(engines)] + [self.end]


def measured(name, server=None, memory="1GB", workers=0, options=OPTIONS):
    """A measured query, with its summary if there is one."""
    query = querymeasure.measure(server or Server(), options, queries.QUERIES[name],
                                 memory, workers, COLLATIONS)
    if query["status"] == "ok":
        query["summary"] = queryreport.summarize(query, "cpu")
    return query


class Measure(unittest.TestCase):
    def test_script(self):
        """One session runs the query with both engines in turn."""
        server = Server()
        query = measured("order_url", server)
        self.assertEqual([len(query[e]) for e in ("server", "ptsort")], [2, 2])
        self.assertEqual([line for line in server.scripts[0].splitlines()
                          if line.startswith("SET ptsort.sort")],
                         ["SET ptsort.sort = %s;" % sort
                          for sort in ("off", "text", "text", "off", "off")])
        self.assertIn("work_mem = '1GB'", server.scripts[0])
        self.assertIn("min_sort_rows = DEFAULT", server.scripts[0])

    def test_limit(self):
        """Queries that only sort also run without their sorts."""
        server = Server()
        options = SimpleNamespace(**dict(vars(OPTIONS), limit=True))
        query = measured("order_url", server, options=options)
        self.assertEqual(len(query["limit"]), 2)
        runs = [line for line in server.scripts[0].splitlines() if line.startswith("SELECT (SELECT")]
        self.assertEqual(["ORDER BY" in line for line in runs], [True, True, False] * 2)
        self.assertEqual(queryreport.limit_table([query], "cpu")[2].split()[-3:],
                         ["1", "8.00", "2.00"])
        server = Server()
        self.assertNotIn("limit", measured("top_url", server, options=options))

    def test_statement(self):
        """A statement that is not a SELECT has no result, and needs cleanup
        after each run."""
        server = Server()
        measured("create", server)
        self.assertEqual(server.scripts[0].count("DROP TABLE bench_made;"), 4)
        self.assertIn("'result', NULL", server.scripts[0])

    def test_warm_up(self):
        """Short queries have one unmeasured run with each engine."""
        server = Server()
        query = measured("small_int8_10", server, "4MB")
        self.assertEqual(server.scripts[0].count("'engine', 'ptsort'"), 3)
        self.assertEqual(len(query["ptsort"]), 2)

    def test_errors(self):
        """Queries that cannot be compared have an error and no ratio."""
        self.assertEqual(measured("order_url", Server(("5", "6")))["reason"],
                         "results differ: 5, 6")
        self.assertIn("no Unique", measured("distinct_name")["reason"])
        self.assertIn("no Gather", measured("order_url", Server(plan="Sort"), workers=1)["reason"])
        never = SimpleNamespace(rows=5000, reps=1, min_rows=0, limit=False)
        self.assertIn("ptsort did no sort", measured("order_url", Server(taken=False),
                                                      options=never)["reason"])
        self.assertEqual(measured("order_url", Server(taken=False))["status"], "ok")

    def test_version(self):
        """Plans of version 15 have no Sort node for aggregates."""
        server = Server(plan="Aggregate\n Sort")
        self.assertEqual(measured("agg_count_name", server)["status"], "ok")
        server.version = "150020"
        query = measured("agg_count_name", server)
        self.assertEqual((query["status"], query["reason"]),
                         ("skipped", "plans have no such sort before PostgreSQL 16"))
        self.assertEqual(measured("order_url", server)["status"], "ok")

    def test_no_collation(self):
        query = querymeasure.measure(Server(), OPTIONS, queries.QUERIES["order_url_icu"],
                                     "1GB", 0, {})
        self.assertEqual((query["status"], query["reason"]),
                         ("skipped", "the server has no collation en-x-icu"))


class Report(unittest.TestCase):
    def test_summary(self):
        s = measured("order_url")["summary"]
        self.assertEqual((s["ratio"], s["server"]["cpu"], s["ptsort"]["process"]),
                         (4.0, 8.0, 2.0))
        self.assertEqual(measured("order_url", workers=1)["summary"]["server"]["cpu"], 16.0)
        self.assertTrue(s["missed"])
        self.assertFalse(measured("order_name")["summary"]["missed"])

    def test_text(self):
        results = {"settings": dict(SETTINGS, rows=5000, reps=2, by="cpu", min_rows=7, load=5.0),
                   "shapes": [measured("order_url"), measured("order_int8", workers=1),
                              measured("order_name", Server(taken=False)),
                              measured("order_at", Server(("5", "6")))]}
        with tempfile.TemporaryDirectory() as out, redirect_stdout(io.StringIO()) as said:
            bench.save(results, out)
            querybench.main(["report", out])
            self.assertEqual(sorted(os.listdir(out)), ["report.txt", "results.json"])
        words = said.getvalue()
        self.assertRegex(words, r"URL, en_US +1GB +0 +8 +2 +4\.00 .* 32 / 8 +missed\n")
        self.assertRegex(words, r"name, en_US .* not taken\n")
        self.assertRegex(words, r"int8 +1GB +8 / 2 +4\.00 +16 / 4\n")
        self.assertIn("error: results differ", words)
        self.assertIn("min_sort_rows = 7", words)
        self.assertIn("busy", words)
        self.assertIn("1 of 3 measurements miss a floor.", words)


if __name__ == "__main__":
    unittest.main()
