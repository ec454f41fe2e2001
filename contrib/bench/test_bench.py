"""Tests without a server: shapes, checks of builds, statistics, tables,
chart."""

import argparse
import gzip
import os
import struct
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

import bench
import chart
import cluster
import corpus
import freememory
import measure
import memory
import report
import shapes
import svg
import textreport
import timeline


class Shapes(unittest.TestCase):
    def test_choose(self):
        self.assertEqual([s.name for s in shapes.choose("uuid, int8")],
                         ["int8", "uuid"])
        self.assertEqual(len(shapes.choose("all")), len(shapes.SHAPES))
        for names in shapes.GROUPS.values():
            self.assertLessEqual(set(names), set(shapes.SHAPES))
        self.assertEqual({s.name for s in shapes.choose("real,int8")},
                         {"int8"} | {s.name for s in shapes.SHAPES.values() if s.kind})
        self.assertEqual([s.name for s in shapes.choose("")], list(shapes.DEFAULT))
        with self.assertRaisesRegex(ValueError, "unknown shape int9; there are: int8 "):
            shapes.choose("int8,int9")

    def test_tables(self):
        for shape in shapes.SHAPES.values():
            self.assertIn(shape.table, shapes.TABLES)
        for words in (shapes.FIRST_NAMES, shapes.LAST_NAMES, shapes.WORDS):
            self.assertEqual(len(set(words)), 64)

    def test_one_table_after_the_other(self):
        tables = [s.table for s in shapes.choose("all")]
        self.assertEqual(sorted(tables, key=tables.index), tables)

    def test_names_tell_contents(self):
        table = shapes.TABLES["words"]
        name = shapes.table_name(table, 1000)
        self.assertRegex(name, r"^words_500_[0-9a-f]{6}$")
        self.assertNotEqual(name, shapes.table_name(
            table._replace(columns="1 AS one"), 1000))

    def test_real_text(self):
        """corpus.py fills a table of real text with at most the table's share
        of ROWS."""
        for table in shapes.TABLES.values():
            if table.corpus:
                self.assertIn(table.corpus, corpus.KINDS)
        fill = shapes.load_statements(shapes.TABLES["paths"], 1000)[2]
        self.assertIn(shapes.CORPUS, fill)
        self.assertTrue(fill.endswith('" paths 500\''), fill)
        self.assertTrue(os.path.isfile(shapes.CORPUS))

    def test_kinds(self):
        """Each data set has shapes in "C", in English and in its own
        language."""
        kinds = {s.name: (s.keys, s.kind) for s in shapes.SHAPES.values()}
        self.assertEqual(kinds["dict_de_c"], ('v COLLATE "C"', "C"))
        self.assertEqual(kinds["dict_de_own"], ("v COLLATE {de}", "libc"))
        self.assertEqual(kinds["dict_de_own_icu"], ("v COLLATE {de_icu}", "ICU"))
        self.assertNotIn("path_own", kinds)
        for keys, kind in kinds.values():
            keys.format_map(shapes.COLLATIONS)
            self.assertIn(kind, (None, *textreport.KINDS))

    def test_rows_need_no_temporary_file(self):
        """Loading avoids generate_series() in FROM, which writes temporary
        files."""
        fill = shapes.load_statements(shapes.TABLES["narrow"], 1000)[1]
        self.assertIn("FROM (SELECT generate_series(1::int8, 1000))", fill)

    def test_collations(self):
        keys = shapes.index_columns(shapes.SHAPES["url_en"], {"en": '"en_US.utf8"'})
        self.assertEqual(keys, 'url COLLATE "en_US.utf8"')
        with self.assertRaises(KeyError):
            shapes.index_columns(shapes.SHAPES["url_icu"], {"en": "x"})


def row(participant, name=measure.INDEX):
    """A row of ptsort_last_build()."""
    return {"index_name": name, "participant": participant, "tuples": 7}


class Corpus(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "d"))
            with gzip.open(os.path.join(directory, "d", "f.gz"), "wb") as f:
                f.write(b" one \ntwo\xff\n")
            with open(os.path.join(directory, "g.mo"), "wb") as f:
                f.write(b"three")
            os.symlink(directory, os.path.join(directory, "d", "loop"))
            self.assertEqual(sorted(os.path.relpath(p, directory)
                                    for p in corpus.files(directory)),
                             ["d", "d/f.gz", "d/loop", "g.mo"])
            self.assertEqual(list(corpus.texts(directory, name=r"\.mo$")), ["three"])
            self.assertEqual(sorted(corpus.lines_of(corpus.texts(directory))),
                             ["one", "three", "two"])
            self.assertEqual(corpus.contents(os.path.join(directory, "none")), "")

    def test_usable(self):
        """corpus.py skips strings that a text column or an index tuple cannot
        hold."""
        self.assertEqual(list(corpus.usable(["", "a\0b", "\udc80", "x" * 2601, "é"])),
                         ["é".encode()])

    def test_order(self):
        """The order of the lines is random, but the same each time."""
        with mock.patch.dict(corpus.KINDS, some=lambda: map(str, range(100))):
            found = corpus.chosen("some", 50)
            self.assertEqual(found, corpus.chosen("some", 50))
        self.assertEqual(len(set(found)), 50)
        self.assertNotEqual(found, sorted(found))

    def test_own_order(self):
        with mock.patch.dict(corpus.KINDS, find=lambda: map(str, range(100))):
            self.assertEqual(corpus.chosen("find", 2), [b"0", b"1"])

    def test_translations(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "x.mo")
            strings = b"h\0eins\0zwei\0"
            with open(path, "wb") as f:
                f.write(struct.pack("<7I", 0x950412de, 0, 2, 28, 28, 0, 0)
                        + struct.pack("<4I", 1, 44, 9, 46) + strings)
            self.assertEqual(list(corpus.translations(path)), ["eins"])
            self.assertEqual(list(corpus.translations(path + "x")), [])

    def test_copy(self):
        self.assertEqual(corpus.copy_line(b"a\\b\tc\nd\r"), b"a\\\\b\\tc\\nd\\r\n")


class Proofs(unittest.TestCase):
    """A build counts only if its builder and participants are as requested."""

    def test_ptsort(self):
        rows = [row(0), row(1), row(None)]
        parts, total = measure.ptsort_participants(rows, 1)
        self.assertEqual((len(parts), total["participant"]), (2, None))

    def test_not_ptsort(self):
        for rows in ([], [row(0, "other"), row(1, "other"), row(None, "other")]):
            with self.assertRaisesRegex(measure.BuildError, "did not build"):
                measure.ptsort_participants(rows, 1)

    def test_fewer_participants(self):
        with self.assertRaisesRegex(measure.BuildError, "1 participants, not 2"):
            measure.ptsort_participants([row(0), row(None)], 1)
        serial = ['DEBUG:  building index "bench_index" on table "t" serially']
        self.assertEqual(measure.server_participants(serial, 0), [])
        with self.assertRaisesRegex(measure.BuildError, "planned 0 workers"):
            measure.server_participants(serial, 1)

    def test_scripts(self):
        options = argparse.Namespace(memory="1GB", workers=3, planned=False)
        server = measure.build_script("server", options, "t", "a, b")
        ptsort = measure.build_script("ptsort", options, "t", "a, b")
        self.assertIn("ptsort.enable = off", server)
        self.assertIn("CREATE INDEX bench_index ON t (a, b);", server)
        self.assertIn("ptsort.enable = on", ptsort)
        self.assertIn("(a, b) WITH (parallel_workers = 3);", ptsort)
        options.planned = True
        for builder in measure.BUILDERS:
            script = measure.build_script(builder, options, "t", "a, b")
            self.assertIn("CREATE INDEX bench_index ON t (a, b);", script)
            self.assertIn("max_parallel_maintenance_workers = 3", script)

    def test_planned(self):
        """The server plans workers for a build before ptsort takes over."""
        message = 'DEBUG:  building index "bench_index" on table "t" '
        self.assertEqual(measure.planned_workers([message + "serially"]), 0)
        self.assertEqual(measure.planned_workers(
            [message + "with request for 2 parallel workers"]), 2)


class Builders(unittest.TestCase):
    """The builders alternate in going first, and amcheck gets the memory that
    the option --memory specifies."""

    def measured(self, builders):
        """Returns the builders' names in the order of the builds, and the
        result of measure()."""
        options = argparse.Namespace(builders=builders, rows=10, runs=2, check=True,
                                     limit=None, memory="1GB", workers=1, planned=False)
        server, built = mock.Mock(), []

        def build(_server, builder, *_):
            built.append(builder)
            return one_build(1.0)

        with mock.patch.multiple(measure, build=build, load=mock.Mock(),
                                 prepare=mock.Mock(return_value=None)):
            shape = measure.measure(server, options, shapes.SHAPES["int8"], {})
        self.assertIn("SET maintenance_work_mem = '1GB'",
                      [call.args[0] for call in server.run.call_args_list])
        return built, shape

    def test_both(self):
        built, shape = self.measured("both")
        self.assertEqual(built, ["server", "ptsort", "ptsort", "server"])
        self.assertEqual(report.builders(shape), ["server", "ptsort"])

    def test_alone(self):
        built, shape = self.measured("ptsort")
        self.assertEqual(built, ["ptsort", "ptsort"])
        self.assertEqual(report.builders(shape), ["ptsort"])
        self.assertEqual(shape["ptsort"][0]["amcheck"], "ok")


def one_build(seconds, **more):
    """A build, in the format of measure.build()'s result."""
    part = {"role": "leader", "scan_ms": 1, "sort_ms": 2, "run_ms": 3,
            "merge_load_ms": 4}
    return dict({"seconds": seconds, "tuples": 100, "comparisons": 50,
                 "temp_bytes": 0, "index_bytes": 5 << 20, "wal_bytes": 1 << 20,
                 "peak_memory_bytes": 3 << 20, "participants": [part],
                 "reported": {"peak_memory_bytes": 1}}, **more)


def one_shape(alone=False, **more):
    """A measured shape with its summary; if alone is true, with only ptsort's
    builds."""
    shape = dict({"name": "int8", "label": "int8, random", "rows": 100,
                  "status": "ok", "notes": [],
                  "server": [one_build(s) for s in (4.0, 9.0, 5.0)],
                  "ptsort": [one_build(s) for s in (2.0, 2.5, 3.0)]}, **more)
    if alone:
        del shape["server"]
    shape["summary"] = report.summarize(shape)
    return shape


SETTINGS = {"server_version": "15.1", "workers": 1, "memory": "1GB", "cache": "warm",
            "runs": 3, "cpus": 2, "cpu": "some", "machine_memory": 1 << 33,
            "source": "abc", "date": "2026-01-01", "load": 0.1, "rows": 100}


class Report(unittest.TestCase):
    def test_summary(self):
        s = one_shape()["summary"]
        self.assertEqual((s["server_s"], s["ptsort_s"], s["ratio"]), (5.0, 2.5, 2.0))
        self.assertAlmostEqual(s["low"], 5.0 / 3.0)
        self.assertAlmostEqual(s["high"], 3.6)
        self.assertEqual(s["comparisons_per_tuple"], 0.5)
        self.assertIsNone(s["amcheck"])

    def test_amcheck(self):
        server = [one_build(1, amcheck="ok")]
        good = one_shape(server=server, ptsort=[one_build(1, amcheck="ok")])
        bad = one_shape(server=server, ptsort=[one_build(1, amcheck="broken")])
        self.assertEqual(good["summary"]["amcheck"], "ok")
        self.assertEqual(bad["summary"]["amcheck"], "broken")

    def test_limit(self):
        """The report and the chart show how far a build is from the limit."""
        runs = [{"seconds": s, "index_sync_s": 0.25, "wal_sync_s": 0.5} for s in (2.0, 1.0, 9.0)]
        shape = one_shape(limit=runs)
        self.assertEqual(shape["summary"]["limit_s"], 2.0)
        self.assertEqual(report.limit_table([shape])[2].split()[-4:], ["2.00", "0.50", "2.50", "1.25"])
        self.assertEqual(report.limit_table([one_shape(alone=True, limit=runs)])[2].split()[-2:],
                         ["-", "1.25"])
        bars = [("a", shape["summary"]), ("b", one_shape()["summary"])]
        self.assertEqual(chart.chart("t", [], bars).count('class="limit"'), 1)
        self.assertNotIn("without sorting", chart.chart("t", [], bars[1:]))

    def test_unknown_memory(self):
        """Without samples the summary uses the memory that ptsort reports."""
        builds = [one_build(1, peak_memory_bytes=None)]
        s = one_shape(server=builds, ptsort=builds)["summary"]
        self.assertEqual((s["server_memory"], s["ptsort_memory"]), (None, 1))

    def test_typical(self):
        for times, expected in (((3, 1, 2), 2), ((4, 1, 2, 3), 2), ((1,), 1)):
            builds = [one_build(t) for t in times]
            self.assertEqual(report.typical(builds)["seconds"], expected)

    def test_table(self):
        self.assertEqual(report.table(["key", "s"], [["a", 1.5], ["bcd", None]]), [
            "key    s", "---  ---", "a    1.5", "bcd    -"])

    def test_text(self):
        failed = {"label": "uuid", "rows": 5, "status": "error", "reason": "no\nluck"}
        words = report.text({"settings": SETTINGS, "shapes": [one_shape(), failed]})
        self.assertIn("1 worker and the leader, maintenance_work_mem 1GB", words)
        self.assertRegex(words, r"int8, random +100 +5\.00 +2\.50 +2\.00 ")
        self.assertIn("error: no\n", words)
        self.assertIn("Phases: int8, random", words)
        self.assertNotIn("busy", words)

    def test_alone(self):
        """Without the server's builds, the report has no ratios and no
        chart."""
        shape = one_shape(alone=True, ptsort=[one_build(2.5, amcheck="ok")])
        results = {"settings": dict(SETTINGS, wal_level="minimal"), "shapes": [shape]}
        words = report.text(results, all_phases=True)
        self.assertIn("wal_level minimal", words)
        self.assertRegex(words, r"int8, random +100 +- +2\.50 +- +-\n")
        self.assertRegex(words, r"- / 3\.0 +- / 0\.0 +- / 5\.0 +- / 1\.0 +ok\n")
        self.assertRegex(words, r"ptsort +leader +1 +2 +3 ")
        self.assertNotIn("server  leader", words)
        self.assertEqual(list(bench.pictures(results, False)), ["timeline-int8.svg"])
        self.assertEqual(textreport.text({"shapes": [one_shape(alone=True, kind="C")]}), "")
        self.assertNotIn("wal_level", report.conditions(SETTINGS))

    def test_text_of_failures_only(self):
        failed = {"label": "uuid", "rows": 5, "status": "skipped", "reason": "no"}
        words = report.text({"settings": dict(SETTINGS, load=3.0), "shapes": [failed]})
        self.assertIn("busy", words)


class RealText(unittest.TestCase):
    def test_report(self):
        slow = one_shape(name="find_c", kind="C", label="paths",
                         ptsort=[one_build(4.5, restarts=n) for n in (0, 1, 0)])
        words = textreport.text({"shapes": [slow, one_shape(kind="C"), one_shape()]})
        self.assertRegex(words, r'"C" +2 +1\.56 +2\.5 +1\.11 +2\.00')
        self.assertIn("paths: 1.11, below 1.3, started over in 1 of 3 builds", words)
        self.assertNotIn("int8", words)

    def test_none(self):
        self.assertEqual(textreport.text({"shapes": [one_shape()]}), "")


def rectangles(picture, classes):
    """The rectangles of the given classes in an SVG, in order, as (class,
    width)."""
    rects = xml.dom.minidom.parseString(picture.encode()).getElementsByTagName("rect")
    return [(r.getAttribute("class"), float(r.getAttribute("width")))
            for r in rects if r.getAttribute("class") in classes]


class Chart(unittest.TestCase):
    def bars(self, picture):
        return rectangles(picture, ("bar", "slow"))

    def test_bars(self):
        summary = {"server_s": 3.0, "ptsort_s": 1.0, "ratio": 3.0}
        slow = {"server_s": 1.0, "ptsort_s": 2.0, "ratio": 0.5}
        picture = chart.chart("A < B & C", ["sub"], [("<key>", summary), ("slow", slow)])
        (first, wide), (second, narrow) = self.bars(picture)
        self.assertEqual((first, second), ("bar", "slow"))
        self.assertAlmostEqual(wide / narrow, 6.0, places=2)
        self.assertIn("A &lt; B &amp; C", picture)
        self.assertIn("&lt;key&gt;", picture)
        self.assertIn("3.00 s \u2192 1.00 s", picture)
        self.assertIn("prefers-color-scheme: dark", picture)

    def test_empty(self):
        self.assertEqual(self.bars(chart.chart("t", ["s"], [])), [])

    def test_long_subtitles(self):
        """A subtitle that is too long for one line wraps, and the bars move
        down."""
        summary = {"server_s": 3.0, "ptsort_s": 1.0, "ratio": 3.0}
        settings = dict(SETTINGS, server_version="15.20", cpu="Some processor " * 5)
        subtitles = [report.conditions(settings), report.machine(settings)]
        found = xml.dom.minidom.parseString(chart.chart(
            "t", subtitles, [("key", summary)]).encode()).getElementsByTagName("text")
        lines = [t for t in found if t.getAttribute("x") == str(svg.MARGIN)
                 and t.getAttribute("class") == "small"]
        self.assertEqual(" ".join(t.firstChild.data for t in lines), " ".join(subtitles))
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertLessEqual(len(line.firstChild.data) * 7.2, svg.WIDTH - 2 * svg.MARGIN)
        self.assertLess(float(lines[-1].getAttribute("y")),
                        min(float(t.getAttribute("y")) for t in found
                            if t.firstChild.data == "key"))

    def test_ticks(self):
        for top, step in ((0.7, 0.1), (1.0, 0.2), (3.9, 0.5), (6.2, 1), (350, 50)):
            self.assertAlmostEqual(svg.tick_step(top), step)

    def test_seconds(self):
        self.assertEqual([svg.seconds(s) for s in (0.0123, 0.5, 12.34)],
                         ["12 ms", "0.50 s", "12.3 s"])


class Timeline(unittest.TestCase):
    PARTS = [
        {"role": "leader", "scan_ms": 5, "sort_ms": 3, "run_ms": 2, "merge_load_ms": 20},
        {"role": "worker", "scan_ms": 4, "sort_ms": 0, "run_ms": 2, "merge_load_ms": 10}]

    def test_intervals(self):
        """The merge starts when the last participant finishes its run."""
        self.assertEqual(timeline.intervals(self.PARTS), [
            [("scan", 0, 5), ("sort", 5, 8), ("run", 8, 10), ("merge", 10, 30)],
            [("scan", 0, 4), ("run", 4, 6), ("merge", 10, 20)]])
        self.assertEqual(timeline.intervals([]), [])

    def test_picture(self):
        build = {"seconds": 0.04, "participants": self.PARTS}
        found = rectangles(timeline.timeline("t", ["s"], {"ptsort": build}), ("merge",))
        # rectangles of the legend, of the leader and of the worker
        self.assertEqual(len(found), 3)
        self.assertAlmostEqual(found[1][1] / found[2][1], 2.0, places=2)


class Machine(unittest.TestCase):
    def test_settings(self):
        lines = cluster.settings(16 << 30, 5)
        self.assertIn("shared_buffers = 3276MB", lines)
        self.assertIn("max_worker_processes = 13", lines)
        self.assertIn("fsync = on", lines)
        self.assertIn("wal_level = replica", lines)
        self.assertIn("wal_level = minimal", cluster.settings(16 << 30, 5, "minimal"))

    def test_evict(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "f"), "wb") as f:
                f.write(b"x" * 100000)
            cached, total = cluster.evict(directory)
        self.assertEqual(total, 100000)
        self.assertLessEqual(cached, total)

    def test_participants(self):
        for title, expected in (
                ("postgres: parallel worker for PID 12\0\0 ", True),
                ("postgres: ptsort: parallel worker for PID 12 ", True),
                ("postgres: postgres postgres [local] CREATE INDEX", True),
                ("postgres: checkpointer ", False), ("", False)):
            self.assertEqual(memory.is_participant(title.encode()), expected, title)

    def test_anonymous(self):
        self.assertEqual(memory.anonymous(b"VmHWM:\t 9 kB\nRssAnon:\t  5 kB\n"), 5120)
        self.assertEqual(memory.anonymous(b""), 0)

    def test_free_memory(self):
        self.assertEqual(freememory.free_bytes(b"MemTotal: 9 kB\nMemFree:   5 kB\n"), 5120)
        self.assertEqual(freememory.free_bytes(b""), 0)
        self.assertEqual(freememory.touch(freememory.LARGE_PAGE + 1), freememory.LARGE_PAGE)
        self.assertEqual(freememory.touch(1), 0)

    def test_sampler(self):
        """The sampler finds no participants if the process has no children."""
        with memory.Sampler(os.getpid()) as sampler:
            pass
        sampler.sample()
        self.assertEqual((sampler.peak, sampler.each), (None, {}))


if __name__ == "__main__":
    unittest.main()
