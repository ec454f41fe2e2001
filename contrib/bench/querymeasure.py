"""Measure a query with ptsort.sort off and on, in turn, in one session.

The server's clock measures the time of each run.  The CPU time comes from the
kernel's statistics of the session's process and of the postmaster's terminated
children, which are the workers.  A query counts only if its plan has the
expected nodes and all results are equal.  If ptsort.min_sort_rows is 0,
ptsort_last_sort() must also report a sort.
"""

import freememory
import queries
from cluster import SqlError


class QueryError(Exception):
    """Raised for a query that cannot be compared; str() gives the reason."""


# Functions for a session.  process_ms() returns the CPU time in ms that the
# session's process used so far, and workers_ms() the CPU time in ms that the
# workers used so far.  The kernel counts the workers' time in hundredths of a
# second.
SESSION = """
CREATE FUNCTION pg_temp.process_ms() RETURNS float8 LANGUAGE sql AS
$$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6 $$;
CREATE FUNCTION pg_temp.workers_ms() RETURNS float8 LANGUAGE sql AS
$$ SELECT (w[14]::float8 + w[15]::float8) * 10 FROM regexp_split_to_array(regexp_replace(
    pg_read_file('/proc/' || split_part(pg_read_file('postmaster.pid'), E'\\n', 1) || '/stat'),
    '^.*\\) ', ''), ' ') AS w $$;
CREATE FUNCTION pg_temp.loop(query text, last int) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    n int8;
    total int8 := 0;
BEGIN
    FOR i IN 0 .. last LOOP
        EXECUTE query INTO n USING i;
        total := total + n;
    END LOOP;
    RETURN total;
END $$;
CREATE FUNCTION pg_temp.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        lines := lines || line || E'\\n';
    END LOOP;
    RETURN lines;
END $$;
SET work_mem = '{memory}';
SET max_parallel_workers_per_gather = {workers};
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET ptsort.min_sort_rows = {min_rows};
SET client_min_messages = warning;
SELECT pg_prewarm('{table}') \\g /dev/null
"""

# Wait for the end of earlier sessions: they end some time after psql ends, and
# the kernel then adds the sessions' CPU time to the workers' CPU time.
ALONE = """
DO $$ DECLARE
    pid text := split_part(pg_read_file('postmaster.pid'), E'\\n', 1);
BEGIN
    FOR i IN 1 .. 1000 LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN coalesce((SELECT count(*) FROM pg_stat_activity) = regexp_count(
            pg_read_file(format('/proc/%s/task/%s/children', pid, pid), 0, 100000, true),
            '\\d+'), true);
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
"""

RUN = """
SET ptsort.sort = {sort};
SELECT clock_timestamp() AS start, pg_temp.workers_ms() AS workers,
    pg_temp.process_ms() AS process \\gset
{sql}
SELECT json_build_object('engine', '{engine}', 'result', {result},
    'process', pg_temp.process_ms() - :process,
    'workers', pg_temp.workers_ms() - :workers,
    'ms', extract(epoch FROM clock_timestamp() - :'start'::timestamptz) * 1000);
"""

END = """
SET ptsort.sort = off;
SELECT json_build_object('taken', (SELECT coalesce(json_agg(s), '[]')
    FROM ptsort_last_sort() AS s), 'plan', {plan});
"""


ENGINES = ("server", "ptsort")


def turns(runs):
    """The engines in the order of their runs: they alternate in going first."""
    return [engine for n in range(runs)
            for engine in (ENGINES if n % 2 == 0 else ENGINES[::-1])]


def quoted(words):
    return "'%s'" % words.replace("'", "''")


def warm_ups(query):
    """The number of unmeasured runs by each engine.  Work that a session does
    only once would distort the times of short queries."""
    return 1 if query.table == "groups" else 0


def script(query, options, memory, workers, collations):
    """The psql script of a session that warms up, and then runs a query
    options.reps times with each engine.  The script prints one JSON object a
    line.  Raises KeyError with the key of a collation that the server lacks."""
    sql = queries.fill(query.sql, options.rows, collations)
    shown = queries.fill(query.shown or query.sql, options.rows, collations)
    selects = sql.startswith("SELECT")
    lines = [SESSION.format(memory=memory, workers=workers,
                            min_rows=options.min_rows if options.min_rows is not None
                            else "DEFAULT",
                            table=queries.table_name(queries.TABLES[query.table], options.rows))]
    lines += [ALONE] if workers else []
    lines += [statement + ";" for statement in query.before]
    for engine in turns(warm_ups(query) + options.reps):
        lines.append(RUN.format(
            sort=query.sort if engine == "ptsort" else "off", engine=engine,
            sql="SELECT (%s)::text AS result \\gset" % sql if selects else sql + ";",
            result=":'result'" if selects else "NULL"))
        lines += [statement + ";" for statement in query.after]
    lines.append(END.format(plan="pg_temp.plan(%s)" % quoted(shown)))
    return "\n".join(lines)


def check(query, runs, workers, end, min_rows):
    """Raise QueryError unless the runs have equal results and the right
    plan."""
    results = {run["result"] for run in runs}
    if len(results) > 1:
        raise QueryError("results differ: " + ", ".join(sorted(map(str, results))))
    if query.plan is None:
        return
    plan = end["plan"]
    for node in [*query.plan, *(["Gather"] if workers else [])]:
        if node not in plan:
            raise QueryError("the plan has no %s:\n%s" % (node, plan))
    if not end["taken"] and min_rows == 0:
        raise QueryError("ptsort did no sort:\n" + plan)


def measure(cluster, options, query, memory, workers, collations):
    """Measure one query.  Returns a dict with the status "ok", "skipped" or
    "error", the reason, and the runs of each engine."""
    result = {"name": query.name, "label": query.label, "sort": query.sort,
              "memory": memory, "workers": workers, "floor": query.floor}
    if int(cluster.value("SHOW server_version_num")) < query.since * 10000:
        return dict(result, status="skipped",
                    reason="plans have no such sort before PostgreSQL %d" % query.since)
    try:
        words = script(query, options, memory, workers, collations)
    except KeyError as missing:
        return dict(result, status="skipped", reason="the server has no collation "
                    + queries.COLLATIONS[missing.args[0]])
    try:
        for table in {query.table, *(["orders"] if "{orders}" in query.sql else [])}:
            load(cluster, options, queries.TABLES[table])
        freememory.touch_for(cluster, queries.table_name(
            queries.TABLES[query.table], options.rows))
        lines = cluster.json_lines(words)
        check(query, lines[:-1], workers, lines[-1], options.min_rows)
    except (QueryError, SqlError) as error:
        return dict(result, status="error", reason=str(error))
    *runs, end = lines
    for run in runs:
        run["cpu"] = run["process"] + (run["workers"] if workers else 0)
    return dict(result, status="ok", taken=bool(end["taken"]), plan=end["plan"],
                **{engine: [run for run in runs if run["engine"] == engine][warm_ups(query):]
                   for engine in ENGINES})


def load(cluster, options, table):
    """Create the table unless it exists."""
    name = queries.table_name(table, options.rows)
    if cluster.value("SELECT to_regclass('%s')" % name) == "":
        print("   loading %s" % name, flush=True)
        cluster.run(*queries.load_statements(table, options.rows))
