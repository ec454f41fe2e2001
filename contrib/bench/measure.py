"""Build the same index with the server and with ptsort, in turn, and measure
each build.

The module uses only ptsort's documented interface.  It checks which builder
built each index: ptsort_last_build() must show the index after a build by
ptsort, and nothing after a build by the server.  It also checks that each build
had the requested number of participants; the server's trace_sort lines show
those of its builds.
"""

import re

import freememory
import shapes
from cluster import SqlError

INDEX = "bench_index"

# Tables of real text with fewer rows are too small to measure.
FEWEST_ROWS = 1000
BUILDERS = ("server", "ptsort")


class BuildError(Exception):
    """Raised for a build that cannot be compared; str() gives the reason."""


BUILD = """
SET maintenance_work_mem = '{memory}';
SET max_parallel_maintenance_workers = {workers};
SET ptsort.enable = {enable};
SET ptsort.min_table_size = 0;
SET trace_sort = {trace};
SET log_min_messages = fatal;
SELECT pg_current_wal_insert_lsn() AS lsn \\gset
SET client_min_messages = debug1;
SELECT clock_timestamp() AS start \\gset
CREATE INDEX {index} ON {table} {keys}{request};
SELECT clock_timestamp() AS finish \\gset
RESET client_min_messages;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT json_build_object(
    'seconds', extract(epoch FROM :'finish'::timestamptz - :'start'::timestamptz),
    'wal_bytes', pg_current_wal_insert_lsn() - :'lsn'::pg_lsn,
    'index_bytes', pg_relation_size('{index}'),
    'last_build', (SELECT coalesce(json_agg(b), '[]') FROM ptsort_last_build() AS b));
"""


def is_gist(keys):
    """True for keys of a GiST index, which the server builds without workers."""
    return keys.startswith("USING gist")


def build_script(builder, options, table, keys):
    """The psql script for one build by "server" or "ptsort"."""
    ours = builder == "ptsort"
    return BUILD.format(
        memory=options.memory, workers=options.workers, index=INDEX,
        table=table, keys=keys if is_gist(keys) else "(%s)" % keys, enable="on" if ours else "off",
        trace="off" if ours else "on",
        request=" WITH (parallel_workers = %d)" % options.workers
        if ours and not options.planned else "")


def planned_workers(messages):
    """The number of workers that the server planned for a build, according to
    the server's messages.  The server plans workers before ptsort takes over
    the build."""
    planned = [0]
    for line in messages:
        if 'building index "%s"' % INDEX in line:
            found = re.search(r"request for (\d+) parallel workers?", line)
            planned.append(int(found.group(1)) if found else 0)
    return max(planned)


def check_server(messages, workers):
    """Raise BuildError unless a build by the server had `workers` workers,
    according to the server's messages.  Each participant's sort has a number,
    and a serial build has only sort -1."""
    planned = planned_workers(messages)
    sorts = set(re.findall(r"performsort of worker (\d+) starting", "\n".join(messages)))
    if planned != workers or len(sorts) != (workers + 1 if workers else 0):
        raise BuildError("the server planned %d workers and had %d parallel sorts, "
                         "not %d workers" % (planned, len(sorts), workers))


def ptsort_participants(last_build, workers):
    """The participants' rows of ptsort_last_build(), and the row with the
    total.  Raises BuildError unless the rows prove that ptsort built the
    index with `workers` workers."""
    parts = [row for row in last_build if row["participant"] is not None]
    totals = [row for row in last_build if row["participant"] is None]
    if not parts or any(row["index_name"] != INDEX for row in last_build):
        raise BuildError("ptsort did not build this index")
    if len(parts) != workers + 1:
        raise BuildError("ptsort had %d participants, not %d"
                         % (len(parts), workers + 1))
    return parts, totals[0]


def build(cluster, builder, options, table, keys):
    """Build the index once, and keep it.  Returns the measurements as a
    dict."""
    before = cluster.temp_bytes()
    result, messages = cluster.json(build_script(builder, options, table, keys))
    result["temp_bytes"] = cluster.temp_bytes() - before
    last_build = result.pop("last_build")
    workers = planned_workers(messages) if options.planned else options.workers
    if options.planned and builder == "ptsort":    # it starts only workers that pay
        workers = sum(row["participant"] is not None for row in last_build) - 1
    if builder == "server":
        if last_build:
            raise BuildError("ptsort built the server's index")
        check_server(messages, 0 if is_gist(keys) else workers)
    else:
        parts, total = ptsort_participants(last_build, workers)
        result["participants"] = parts
        result["tuples"] = total["tuples"]
        result["comparisons"] = total["comparisons"]
        result["restarts"] = sum("ptsort: restarting build" in m for m in messages)
        result["peak_memory_bytes"] = total["peak_memory_bytes"]
    return result


def prepare(cluster, options, table):
    """Warm or empty the caches, as options.cache says."""
    if options.cache == "cold":
        cluster.chill()
    else:
        warm(cluster, table)


def warm(cluster, table):
    """Run a checkpoint, load the table into the server's buffers, and touch the
    memory that the next command may need."""
    cluster.run("CHECKPOINT", "SELECT pg_prewarm('%s') \\g /dev/null\n" % table)
    freememory.touch_for(cluster, table)


def check(cluster, memory):
    """Run amcheck on the index.  Returns "ok", or amcheck's error.  With more
    memory (maintenance_work_mem) amcheck overlooks fewer missing rows."""
    try:
        cluster.run("SET maintenance_work_mem = '%s'" % memory,
                    "SELECT bt_index_parent_check('%s', true, true)" % INDEX)
        return "ok"
    except SqlError as error:
        return str(error)


def measure(cluster, options, shape, collations):
    """Build the index of one shape with each builder in turn, or with ptsort
    alone, options.runs times.  The builders alternate in going first.  Returns
    a dict with the status "ok", "skipped" or "error", the reason, and each
    builder's builds."""
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
        return dict(result, status="skipped", reason="this machine has too few rows")
    builders = BUILDERS if options.builders == "both" else ("ptsort",)
    for builder in builders:
        result[builder] = []
    try:
        for n in range(options.runs):
            for builder in builders if n % 2 == 0 else reversed(builders):
                prepare(cluster, options, table)
                done = build(cluster, builder, options, table, keys)
                if options.check and n == 0 and not is_gist(keys):
                    done["amcheck"] = check(cluster, options.memory)
                result[builder].append(done)
                cluster.run("DROP INDEX " + INDEX)
    except (BuildError, SqlError) as error:
        cluster.run("DROP INDEX IF EXISTS " + INDEX)
        return dict(result, status="error", reason=str(error))
    return dict(result, status="ok", rows=result["ptsort"][0]["tuples"])


def load(cluster, options, table):
    """Create the table unless it exists.  Returns its name."""
    name = shapes.table_name(table, options.rows)
    if cluster.value("SELECT to_regclass('%s')" % name) == "":
        print("   loading %s" % name, flush=True)
        cluster.run(*shapes.load_statements(table, options.rows))
    set_workers(cluster, options, name)
    return name


def set_workers(cluster, options, table):
    """Set the table's parallel_workers, or let the server plan the number of
    workers."""
    cluster.run("ALTER TABLE %s %s" % (
        table, "RESET (parallel_workers)" if options.planned
        else "SET (parallel_workers = %d)" % options.workers))


def rows_of(cluster, table):
    """The number of rows in a table."""
    return int(cluster.value("SELECT count(*) FROM %s" % table))


def find_collations(cluster, wanted=shapes.COLLATIONS):
    """The wanted collations that the server has, as {key: quoted name}."""
    query = """SELECT quote_ident(collname) FROM pg_collation
        WHERE collprovider IN ('c', 'i') AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
        AND lower(replace(collname, '-', '')) = lower(replace('%s', '-', ''))
        ORDER BY collname LIMIT 1"""
    found = {key: cluster.value(query % name)
             for key, name in wanted.items()}
    return {key: name for key, name in found.items() if name}
