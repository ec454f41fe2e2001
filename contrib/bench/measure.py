"""Measuring: the same index built by the server and by ptsort, in turn, and
what each build took.

Only the documented interface of ptsort is used.  A build counts only if it is
proven to be what it claims: ptsort_last_build() must show this index, or, for
the server's builds, nothing; and both must have had the participants that
were asked for.
"""

import glob
import json
import os
import re
import subprocess

import shapes
import tracesort
from cluster import SqlError
from memory import Sampler

INDEX = "bench_index"

# A table of real text with fewer rows than this says nothing.
FEWEST_ROWS = 1000
BUILDERS = ("server", "ptsort")


class BuildError(Exception):
    """A build that cannot be compared; str() says why."""


BUILD = """
SET maintenance_work_mem = '{memory}';
SET max_parallel_maintenance_workers = {workers};
SET ptsort.enable = {enable};
SET ptsort.min_table_size = 0;
SET trace_sort = {trace};
SET log_min_messages = fatal;
SELECT pg_current_wal_insert_lsn() AS lsn \\gset
SET client_min_messages = {level};
SELECT clock_timestamp() AS start \\gset
CREATE INDEX {index} ON {table} ({keys}){request};
SELECT clock_timestamp() AS finish \\gset
RESET client_min_messages;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT json_build_object(
    'seconds', extract(epoch FROM :'finish'::timestamptz - :'start'::timestamptz),
    'wal_bytes', pg_current_wal_insert_lsn() - :'lsn'::pg_lsn,
    'index_bytes', pg_relation_size('{index}'),
    'last_build', (SELECT coalesce(json_agg(b), '[]') FROM ptsort_last_build() AS b));
"""


def build_script(builder, options, table, keys, level="debug1"):
    """The psql script of one build by "server" or "ptsort", with messages from
    this level on."""
    ours = builder == "ptsort"
    return BUILD.format(
        memory=options.memory, workers=options.workers, index=INDEX,
        table=table, keys=keys, enable="on" if ours else "off",
        trace="off" if ours else "on", level=level,
        request=" WITH (parallel_workers = %d)" % options.workers
        if ours and not options.planned else "")


def planned_workers(messages):
    """How many workers the server planned for a build, by its messages.  It
    does so before it knows who builds."""
    planned = [0]
    for line in messages:
        if 'building index "%s"' % INDEX in line:
            found = re.search(r"request for (\d+) parallel workers?", line)
            planned.append(int(found.group(1)) if found else 0)
    return max(planned)


def server_participants(messages, workers):
    """The phases of the server's build from its messages.  Raises BuildError
    if it did not have the workers asked for."""
    planned = planned_workers(messages)
    parts = tracesort.phases(messages)
    if planned != workers or (parts and len(parts) != workers + 1):
        raise BuildError("the server planned %d workers and had %d participants, "
                         "not %d" % (planned, len(parts), workers + 1))
    return parts


def ptsort_participants(last_build, workers):
    """The participants' rows of ptsort_last_build(), and the total.  Raises
    BuildError if they do not prove that ptsort built the index."""
    parts = [row for row in last_build if row["participant"] is not None]
    totals = [row for row in last_build if row["participant"] is None]
    if not parts or any(row["index_name"] != INDEX for row in last_build):
        raise BuildError("ptsort did not build this index")
    if len(parts) != workers + 1:
        raise BuildError("ptsort had %d participants, not %d"
                         % (len(parts), workers + 1))
    return parts, totals[0]


def build(cluster, builder, options, table, keys):
    """Build the index once; it stays.  Returns what it took, as a dict."""
    before = cluster.temp_bytes()
    with Sampler(cluster.postmaster_pid()) as sampler:
        result, messages = cluster.json(
            build_script(builder, options, table, keys))
    result["temp_bytes"] = cluster.temp_bytes() - before
    result["peak_memory_bytes"] = sampler.peak
    last_build = result.pop("last_build")
    workers = planned_workers(messages) if options.planned else options.workers
    if builder == "server":
        if last_build:
            raise BuildError("ptsort built the server's index")
        result["participants"] = server_participants(messages, workers)
    else:
        parts, total = ptsort_participants(last_build, workers)
        result["participants"] = parts
        result["tuples"] = total["tuples"]
        result["comparisons"] = total["comparisons"]
        result["restarts"] = sum("ptsort: restarting build" in m for m in messages)
        result["reported"] = {key: total[key] for key in
                              ("runs", "run_bytes", "temp_bytes", "peak_memory_bytes")}
    return result


def prepare(cluster, options, table):
    """Bring caches into the state that was asked for.  Returns a note for the
    reader, or None."""
    if options.cache == "cold":
        share = cluster.chill()
        if share > 0.05:
            return "%.0f %% of the data stayed in the kernel's cache" % (100 * share)
    else:
        warm(cluster, table)
    return None


def warm(cluster, table):
    """Have the table in the server's buffers, and nothing to write."""
    cluster.run("CHECKPOINT", "SELECT pg_prewarm('%s') \\g /dev/null\n" % table)


# Shapes whose limit can be measured: where the key is in a row
KEY_OFFSETS = {"int8": 8}


def machine_limit(cluster, options, shape, table, wal_bytes):
    """What reading the table, and writing so much index and WAL, takes by itself,
    as limit.c says it."""
    path = os.path.join(cluster.data, cluster.value(
        "SELECT pg_relation_filepath('%s')" % table))
    later = sorted((name for name in glob.glob(path + ".*")),
                   key=lambda name: int(name.rpartition(".")[2]))
    return json.loads(subprocess.run(
        [options.limit, str(options.workers + 1), str(KEY_OFFSETS[shape.name]),
         str(wal_bytes), cluster.data, path, *later],
        check=True, stdout=subprocess.PIPE).stdout)


def check(cluster, memory):
    """Run amcheck on the index; "ok", or what it found.  With much memory
    (maintenance_work_mem) it overlooks fewer rows that the index lacks."""
    try:
        cluster.run("SET maintenance_work_mem = '%s'" % memory,
                    "SELECT bt_index_parent_check('%s', true, true)" % INDEX)
        return "ok"
    except SqlError as error:
        return str(error)


def measure(cluster, options, shape, collations):
    """Build one shape's index options.runs times with each builder, in turn,
    or with ptsort alone; which goes first alternates.  Returns a dict: status
    "ok", "skipped" or "error" with its reason, and the builds of each builder."""
    result = {"name": shape.name, "label": shape.label, "keys": shape.keys,
              "kind": shape.kind,
              "rows": shapes.table_rows(shapes.TABLES[shape.table], options.rows)}
    try:
        keys = shapes.index_columns(shape, collations)
    except KeyError as missing:
        name = shapes.COLLATIONS[missing.args[0]]
        return dict(result, status="skipped",
                    reason="the server has no collation %s" % name)

    table = load(cluster, options, shapes.TABLES[shape.table])
    if shape.kind and rows_of(cluster, table) < FEWEST_ROWS:
        return dict(result, status="skipped", reason="this machine holds too few")
    builders = BUILDERS if options.builders == "both" else ("ptsort",)
    for builder in builders:
        result[builder] = []
    notes = set()
    try:
        for n in range(options.runs):
            for builder in builders if n % 2 == 0 else reversed(builders):
                notes.add(prepare(cluster, options, table))
                done = build(cluster, builder, options, table, keys)
                if options.check and n == 0:
                    done["amcheck"] = check(cluster, options.memory)
                result[builder].append(done)
                cluster.run("DROP INDEX " + INDEX)
            if options.limit and shape.name in KEY_OFFSETS:
                notes.add(prepare(cluster, options, table))
                result.setdefault("limit", []).append(machine_limit(
                    cluster, options, shape, table, result["ptsort"][-1]["wal_bytes"]))
    except (BuildError, SqlError) as error:
        cluster.run("DROP INDEX IF EXISTS " + INDEX)
        return dict(result, status="error", reason=str(error))
    return dict(result, status="ok", notes=sorted(notes - {None}),
                rows=result["ptsort"][0]["tuples"])


def load(cluster, options, table):
    """Make the table if it is not there; returns its name."""
    name = shapes.table_name(table, options.rows)
    if cluster.value("SELECT to_regclass('%s')" % name) == "":
        print("   loading %s" % name, flush=True)
        cluster.run(*shapes.load_statements(table, options.rows))
    set_workers(cluster, options, name)
    return name


def set_workers(cluster, options, table):
    """Tell the server how many workers to use for this table, or to decide."""
    cluster.run("ALTER TABLE %s %s" % (
        table, "RESET (parallel_workers)" if options.planned
        else "SET (parallel_workers = %d)" % options.workers))


def rows_of(cluster, table):
    """The number of a table's rows."""
    return int(cluster.value("SELECT count(*) FROM %s" % table))


def find_collations(cluster, wanted=shapes.COLLATIONS):
    """The server's quoted names of these collations, those that it has."""
    query = """SELECT quote_ident(collname) FROM pg_collation
        WHERE collprovider IN ('c', 'i') AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
        AND lower(replace(collname, '-', '')) = lower(replace('%s', '-', ''))
        ORDER BY collname LIMIT 1"""
    found = {key: cluster.value(query % name)
             for key, name in wanted.items()}
    return {key: name for key, name in found.items() if name}
