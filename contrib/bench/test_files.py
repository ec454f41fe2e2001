"""Tests that need no server, for the benchmark that sorts files."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

import filebench
import filetimeline

OPTIONS = argparse.Namespace(workers=1, memory=1 << 30, little=0, alone=False, most_others=1000, runs=2)


def span(participant, phase, start, elapsed):
    """A row of sortbench_report()."""
    return {"participant": participant, "phase": phase, "start_ms": start, "elapsed_ms": elapsed,
            "user_ms": elapsed / 2, "system_ms": 0}


def one_sort(seconds, **more):
    """The result of one execution of a sort by ptsort."""
    return {"seconds": seconds, "cpu": 1.5, "sort": {"temp_bytes": 2000000},
            "report": [span(0, "open", 0, 100), span(0, "read", 100, 900), span(1, "read", 200, 800),
                       {"participant": None, "phase": "input", "start_ms": None}], **more}


def results(**more):
    """The results for one file."""
    return {"server": "PostgreSQL", "source": "x", "workers": 1, "price": 1000, "datamation": [{"step": "all", "ms": 230}],
            "files": [{"records": 10 ** 7, "kind": "ascii", "state": "warm", "runs": {
                "ptsort, one pass": [one_sort(4.0), one_sort(2.0), one_sort(2.5)],
                "dd": [{"seconds": 2.0, "cpu": 1.0}], "polars": [{"reason": "status 9"}]}}], **more}


class Server:
    """A fake server that records the statements and returns fixed results, in
    the format of the functions of contrib/sortbench."""
    def __init__(self, **answer):
        self.said = []
        self.valid = {"records": 10, "unordered": 0, "duplicates": 1, "checksum": "ab", **answer}

    def run(self, *statements):
        self.said += statements

    def json(self, statement):
        self.said.append(statement)
        return [dict(self.valid, checksum="ab")]

    def json_lines(self, script):
        self.said.append(script)
        return [{"elapsed_ms": 2000, "temp_bytes": 0}, [span(0, "read", 0, 10), span(None, "input", 0, 0)], self.valid, True]


class Ways(unittest.TestCase):
    def names(self, kind="ascii", records=10, **options):
        args = argparse.Namespace(**{**vars(OPTIONS), **options})
        return list(filebench.ways_of(Server(), args, records, kind, "/d/in", "/d/out"))

    def test_names(self):
        ours = ["ptsort, one pass", "ptsort, one pass, direct", "ptsort, two passes", "ptsort, two passes, direct"]
        self.assertEqual(self.names(alone=True), ours)
        self.assertEqual(self.names(kind="uniform"), ours + ["dd", "dd, direct"])
        self.assertEqual(self.names(records=1001), ours + ["dd", "dd, direct"])
        self.assertEqual(self.names(kind="ascii skewed")[:7], ours + ["dd", "dd, direct", "sort"])

    def test_ours(self):
        """The memory of a sort in two passes is a tenth of the file's size, or
        the requested memory."""
        server = Server()
        ways = filebench.ways_of(server, OPTIONS, 10 ** 7, "ascii", "/d/in", "/d/out")
        run = ways["ptsort, two passes, direct"]()
        self.assertIn("'{/d/in}', '{/d/out}', 1, '97656kB', passes => 2, direct_output => True", server.said[0])
        self.assertIn("sortbench_remove('/d/out')", server.said[0])
        self.assertEqual((run["seconds"], run["cpu"]), (2.0, 0.005))
        args = argparse.Namespace(**{**vars(OPTIONS), "little": 64 << 20})
        filebench.ways_of(server, args, 10 ** 7, "ascii", "/d/in", "/d/out")["ptsort, two passes"]()
        self.assertIn("'65536kB', passes => 2, direct_output => False", server.said[1])

    def test_commands(self):
        found = filebench.commands("/d/in", "/d/out", 1, 1 << 30)
        self.assertIn("--parallel=2", found["sort"])
        self.assertIn("1048576k", found["sort"])
        self.assertIn("/d", found["sort"])
        with mock.patch("importlib.util.find_spec", lambda name: None):
            self.assertEqual(list(filebench.commands("/d/in", "/d/out", 1, 1)), ["dd", "dd, direct", "sort"])
        with mock.patch("importlib.util.find_spec", lambda name: True):
            self.assertIn("1024MB", filebench.commands("/d/in", "/d/out", 1, 1 << 30)["duckdb"])

    def test_scripts(self):
        """The scripts for DuckDB and Polars are valid Python."""
        for script in (filebench.DUCKDB, filebench.POLARS):
            compile(script, "script", "exec")


class Others(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.source = os.path.join(self.directory.name, "in")
        self.target = os.path.join(self.directory.name, "out")
        with open(self.source, "wb") as file:
            file.write(b"b\na\nc\n")

    def test_sorts(self):
        """The programs sort the right files, and missing programs do not
        run."""
        for name, command in filebench.commands(self.source, self.target, 1, 1 << 28).items():
            if name.startswith("dd"):
                continue
            with self.subTest(name):
                subprocess.run(command, check=True, capture_output=True)
                with open(self.target, "rb") as file:
                    self.assertEqual(file.read(), b"a\nb\nc\n")

    def test_other(self):
        command = filebench.commands(self.source, self.target, 1, 1 << 28)["dd"]
        run = filebench.other(command, self.target)
        self.assertGreater(run["seconds"], 0)
        self.assertGreaterEqual(run["cpu"], 0)
        self.assertFalse(os.path.exists(self.target))

    def test_failure(self):
        """If a program fails, its result has the reason and no times."""
        script = "import sys; sys.stderr.write('a\\nno memory\\n'); sys.exit(1)"
        self.assertEqual(filebench.other([sys.executable, "-c", script], self.target), {"reason": "no memory"})
        self.assertEqual(filebench.other([sys.executable, "-c", "import sys; sys.exit(3)"], self.target),
                         {"reason": "status 3"})

    def test_cache(self):
        filebench.remember(self.source)
        filebench.forget(self.source)


class Measure(unittest.TestCase):
    def measure(self, server):
        args = argparse.Namespace(**{**vars(OPTIONS), "alone": True, "directory": "/d"})
        with mock.patch("filebench.remember"), mock.patch("filebench.forget"), mock.patch("builtins.print"):
            return filebench.measure_file(server, args, 10, "skewed")

    def test_runs(self):
        server = Server()
        warm, cold = self.measure(server)
        self.assertEqual((warm["state"], cold["state"], warm["kind"]), ("warm", "cold", "skewed"))
        self.assertEqual([len(runs) for runs in warm["runs"].values()], [2] * 4)
        self.assertIn("sortbench_generate('/d/sortbench.in', 10, 0, 'skewed', true)", server.said[0])
        self.assertIn("sortbench_remove('/d/sortbench.in')", server.said[-1])

    def test_wrong(self):
        """A wrong result raises an error."""
        for bad in ({"unordered": 1}, {"records": 9}, {"checksum": "ac"}):
            with self.assertRaisesRegex(RuntimeError, "the result is wrong"):
                self.measure(Server(**bad))
        self.assertTrue(filebench.wrong({"valid": Server().valid}, 10, "ab", 0))
        self.assertFalse(filebench.wrong({"valid": Server().valid}, 10, "ab", 1))
        self.assertFalse(filebench.wrong({"reason": "none"}, 10, "ab", 1))


class Report(unittest.TestCase):
    def report(self, found):
        with tempfile.TemporaryDirectory() as directory, mock.patch("builtins.print"):
            with open(os.path.join(directory, "results.json"), "w", encoding="utf-8") as file:
                json.dump(found, file)
            filebench.report(directory)
            made = []
            for name in ("report.txt", "timeline.svg"):
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    made.append(file.read())
        return made

    def test_table(self):
        """The table has medians, rates per core (one core for dd), and ratios
        to dd."""
        lines = filebench.table(results())
        self.assertRegex(lines[1], r"10000000  ascii +warm  ptsort, one pass +2\.50 +400 +200 +1\.50 +2 MB +1\.25$")
        self.assertRegex(lines[2], r"dd +2\.00 +500 +500 +1\.00 +1\.00$")
        self.assertRegex(lines[3], r"polars +failed: status 9$")

    def test_report(self):
        text, picture = self.report(results(
            minutesort=[{"records": 5, "bytes": 500, "elapsed_seconds": 50.0, "fits": True},
                        {"records": 7, "bytes": 700, "elapsed_seconds": 70.0, "fits": False}],
            pennysort={"seconds": 946.0, "records": 8, "bytes": 800, "elapsed_seconds": 940.0}))
        self.assertIn("MinuteSort: 5 records, 500 bytes in 50.0 s", text)
        self.assertIn("PennySort, 1000 dollars: 946.0 s for a penny, 8 records, 800 bytes in 940.0 s", text)
        self.assertIn("Datamation (ms): all 230", text)
        self.assertIn("A sort of 10000000 records (ascii), warm", picture)

    def test_left_out(self):
        text, _ = self.report(results(pennysort={"seconds": 1.0, "records": None}))
        self.assertNotIn("MinuteSort", text)
        self.assertNotIn("PennySort", text)


class Timeline(unittest.TestCase):
    def test_picture(self):
        """The picture of a sort has a lane for each participant and a rectangle
        for each phase."""
        picture = filetimeline.picture("Sorts", {"one": one_sort(1.0), "two": one_sort(2.0)})
        document = xml.dom.minidom.parseString(picture)
        boxes = [r for r in document.getElementsByTagName("rect") if r.getAttribute("class") == "read"]
        self.assertEqual(len(boxes), 1 + 4)
        self.assertEqual(boxes[1].getAttribute("width"), boxes[3].getAttribute("width"))
        self.assertIn("one, leader", picture)
        self.assertIn("two, worker 1", picture)
        right = max(float(r.getAttribute("x")) + float(r.getAttribute("width")) for r in boxes)
        self.assertLessEqual(right, filetimeline.WIDTH)

    def test_nothing(self):
        xml.dom.minidom.parseString(filetimeline.picture("None", {}))


if __name__ == "__main__":
    unittest.main()
