"""Tests of make bench-scale that need no server: model, waits, picture."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.dom.minidom

import checkpoints
import scale
import scalechart
import scalemodel
import waits


def facts():
    """Facts in the format of scale.facts_of(): the participants divide 10
    seconds of work, and one process does a tenth of a second of work for
    all."""
    work = {"scan": 4.0, "sort": 1.0, "run": 1.0, "load": 4.0}
    return {"tuples": 1000, "table_bytes": 10 ** 6, "index_bytes": 10 ** 6,
            "wal_bytes": 10 ** 6, "work_s": work, "serial_work_s": work,
            "alone_s": {n: {"start and end": 0.1} for n in (1, 2, 10, 1000)}}


FAST = scalemodel.Machine(1e15, 1e15, 1e15)


class Model(unittest.TestCase):
    def test_divided(self):
        self.assertAlmostEqual(sum(scalemodel.parts(facts(), FAST, 10).values()), 1.1)
        self.assertAlmostEqual(scalemodel.speedup(facts(), FAST, 1), 1)
        self.assertAlmostEqual(scalemodel.speedup(facts(), FAST, 10), 10.1 / 1.1)
        self.assertEqual(scalemodel.limit(facts(), FAST, 1000), "start and end")

    def test_limits(self):
        """A low rate of WAL, index file or memory limits the build."""
        for machine, name in ((FAST._replace(wal=1e6), "WAL"),
                              (FAST._replace(file=1e6), "index file"),
                              (FAST._replace(memory=1e6), "memory")):
            self.assertEqual(scalemodel.limit(facts(), machine, 1000), name)
            self.assertLess(scalemodel.speedup(facts(), machine, 1000), 10)


# A fake perf, which ignores signals in its first second
SLOW_PERF = """#!/usr/bin/env python3
import signal, sys, time
if sys.argv[1] == "record":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(1)
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    while True:
        time.sleep(1)
"""


class Perf(unittest.TestCase):
    def test_slow_start(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "perf")
            with open(path, "w") as f:
                f.write(SLOW_PERF)
            os.chmod(path, 0o755)
            with unittest.mock.patch.dict(
                    os.environ, PATH=directory + ":" + os.environ["PATH"]):
                with waits.Perf(os.getpid(), directory) as perf:
                    pass
        self.assertIsNone(perf.spinning)
        self.assertIsNotNone(perf.process.returncode)


class Seen(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual(waits.by_kind({
            "running": 3, "LWLock:WALInsert": 2, "IO:WALWrite": 1, "Lock:extend": 4,
            "LWLock:BufferMapping": 1}),
            {"running": 3, "extension lock": 4, "WAL": 3, "other": 1})

    def test_spinning(self):
        report = ("# Overhead  Symbol\n    40.00%  [.] tournament\n"
                  "     1.50%  [.] s_lock\n     0.25%  [.] perform_spin_delay\n")
        self.assertAlmostEqual(waits.spin_share(report), 0.0175)
        self.assertIsNone(waits.spin_share("# nothing\n"))

    def test_shares(self):
        shares = scale.waits_of([{"events": {"running": 1}},
                                 {"events": {"running": 2, "Lock:extend": 1}}])
        self.assertEqual(shares, {"running": 0.75, "extension lock": 0.25})


def beside(seconds, times, **events):
    """A build during which checkpoints took the given times."""
    return {"seconds": seconds, "times": times, "events": events}


class Checkpoints(unittest.TestCase):
    def test_lines(self):
        """The report has the longest checkpoint, and the waits of all
        builds."""
        found = [{"participants": n, "mb_s": mb_s,
                  "server": [beside(2, [5, 20], a=1), beside(4, [40], a=1, b=2)],
                  "ptsort": [beside(1, [10]), beside(1.2, [4, 1], idle=0)]}
                 for n, mb_s in ((2, 0), (9, 70))]
        words = [line.split() for line in checkpoints.lines(found)]
        self.assertIn("2 as it is 40 10 0.25 3 / 3 3.0 / 1.1".split(), words)
        self.assertIn("9 70 MB/s 40 10 0.25 3 / 3 3.0 / 1.1".split(), words)
        self.assertIn("9 70 MB/s server a 50 %, b 50 %".split(), words)
        self.assertEqual(checkpoints.lines([]), [])

    def test_idle(self):
        """The report leaves out the checkpointer's waits between
        checkpoints."""
        self.assertEqual(checkpoints.seen_doing(
            [{"events": {checkpoints.IDLE: 5, "running": 1}},
             {"events": {"IO:WALSync": 3, "running": 0}}]),
            "IO:WALSync 75 %, running 25 %")

    def test_slow_disk(self):
        """The SlowDisk class uses the same file format as slowdisk.c."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "slow-disk")
            with open(path, "wb") as f:
                f.write(bytes(16))
            disk = checkpoints.SlowDisk(path)
            disk.set_rate(70)
            self.assertFalse(disk.is_used())
            library = os.path.join(directory, "slowdisk.so")
            subprocess.run(
                ["cc", "-shared", "-fPIC", "-o", library, os.path.join(
                    os.path.dirname(__file__), "slowdisk.c"), "-ldl"], check=True)
            began = time.monotonic()
            subprocess.run(
                [sys.executable, "-c", "import os; f = os.open('written', os.O_CREAT | "
                 "os.O_RDWR); os.pwrite(f, bytes(7 << 20), 0); os.fsync(f)"], check=True,
                cwd=directory, env=dict(os.environ, LD_PRELOAD=library,
                                        SLOW_DISK_FILE=path))
            self.assertGreater(time.monotonic() - began, 0.1)
            self.assertTrue(disk.is_used())


class Picture(unittest.TestCase):
    def test_picture(self):
        numbers = [1, 2, 10]
        svg = scalechart.picture(
            ["words"], numbers, [1, 1.9, 7.5], {1: 1, 2: 1.8},
            [scalemodel.parts(facts(), FAST, n) for n in numbers],
            [{"running": 1}, {"running": 0.5, "WAL": 0.5}, {}])
        xml.dom.minidom.parseString(svg)
        self.assertIn(">7.5<", svg)
        self.assertIn(">WAL<", svg)


if __name__ == "__main__":
    unittest.main()
