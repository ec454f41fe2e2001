#!/usr/bin/env python3
"""Build the same GiST indexes with the server and with ptsort, and compare the
times, the pages and the index blocks that searches read.

    gistbench.py run       measure, on the server that PGHOST and PGPORT name
    gistbench.py report    make text from the results

`make bench-gist` calls bench-gist.sh, which starts a private server and runs
these commands in turn.
"""

import argparse
import os
import statistics
import sys

import bench
import cluster

TABLE = "gist_rows"
INDEX = "gist_index"

# name: (extension or None, value of a row i with the random numbers x, y and z,
# condition of a window, order of a search for neighbours or None).  q is
# another row's value.
SHAPES = {
    "point": (None, "point(x * 1000, y * 1000)",
              "v <@ box(q + point(1, 1), q - point(1, 1))", "v <-> q"),
    "postgis_point": ("postgis", "ST_SetSRID(ST_Point(x * 360 - 180, y * 180 - 90), 4326)",
                      "v && ST_Expand(q, 0.1)", "v <-> q"),
    "postgis_line": ("postgis", "ST_MakeLine(ST_Point(x * 100, y * 100),"
                     " ST_Point(x * 100 + z / 10, y * 100 + z / 5))",
                     "v && ST_Expand(q, 0.01)", "v <-> q"),
    # circles of 8 corners; every thousandth has 4,000, and is toasted
    "postgis_polygon": ("postgis", "ST_Buffer(ST_Point(x * 360 - 180, y * 180 - 90),"
                        " z * z / 10, CASE WHEN z < 0.001 THEN 1000 ELSE 2 END)",
                        "v && ST_Expand(q, 0.1)", "v <-> q"),
    "range": (None, "int8range((x * 1e9)::int8, (x * 1e9 + y * 1e5 + 1)::int8)", "v && q", None),
    "btree_int8": ("btree_gist", "(x * 1e12)::int8", "v BETWEEN q AND q + 10000000", "v <-> q"),
}

BUILD = """
LOAD 'ptsort';
SET maintenance_work_mem = '{memory}';
SET max_parallel_maintenance_workers = {workers};
SET ptsort.enable = {enable};
DROP INDEX IF EXISTS {index};
CHECKPOINT;
SELECT clock_timestamp() AS start \\gset
CREATE INDEX {index} ON {table} USING gist (v){request};
SELECT json_build_object(
    'seconds', extract(epoch FROM clock_timestamp() - :'start'::timestamptz),
    'pages', pg_relation_size('{index}') / current_setting('block_size')::int,
    'participants', (SELECT count(participant) FROM ptsort_last_build()));
"""

# A bitmap scan or an index scan of each query reads the index only.
SEARCH = """
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT idx_blks_read + idx_blks_hit AS before
    FROM pg_statio_user_indexes WHERE indexrelname = '{index}' \\gset
SELECT sum(n) AS answer FROM gist_queries, LATERAL ({query}) AS s \\gset
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT json_build_object('blocks', idx_blks_read + idx_blks_hit - :before,
    'answer', :'answer') FROM pg_statio_user_indexes WHERE indexrelname = '{index}';
"""


def choose(words):
    """The names in a comma-separated list, or all names."""
    names = [word for word in words.split(",") if word] or list(SHAPES)
    unknown = set(names) - set(SHAPES)
    if unknown:
        raise argparse.ArgumentTypeError("unknown: " + " ".join(sorted(unknown)))
    return names


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=1000000)
    run.add_argument("--shapes", type=choose, default="")
    run.add_argument("--memory", default="64MB")
    run.add_argument("--workers", type=bench.numbers, default="0,1")
    run.add_argument("--runs", type=int, default=3)
    run.add_argument("--keep", action="store_true", help="do not drop the table")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")
    show = commands.add_parser("report", help="text from results.json")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def create_table(server, value, rows):
    """Create the table of a shape, and the table of its 1,000 queries."""
    server.run("DROP TABLE IF EXISTS gist_queries, " + TABLE, "SELECT setseed(0.5)")
    server.psql("""SELECT setseed(0.5) \\g /dev/null
        CREATE TABLE %s AS SELECT i AS id, %s AS v FROM (SELECT i, random() AS x,
            random() AS y, random() AS z FROM generate_series(1, %d) AS i) AS r;
        CREATE TABLE gist_queries AS SELECT v AS q FROM %s ORDER BY id LIMIT 1000;
        """ % (TABLE, value, rows, TABLE))
    server.run("VACUUM ANALYZE %s, gist_queries" % TABLE)


def build(server, options, workers):
    """Build the index once; workers is None for the server's build."""
    ours = workers is not None
    done, _ = server.json(BUILD.format(
        memory=options.memory, workers=workers or 0, enable="on" if ours else "off",
        index=INDEX, table=TABLE,
        request=" WITH (parallel_workers = %d)" % workers if ours else ""))
    if done["participants"] != (workers + 1 if ours else 0):
        raise cluster.SqlError("a build had %d participants" % done["participants"])
    return done


def search(server, condition, order):
    """Blocks per query and answers of the windows and of the neighbours."""
    queries = {"windows": "SELECT count(*) AS n FROM %s WHERE %s" % (TABLE, condition)}
    if order:
        queries["neighbours"] = ("SELECT sum(d)::numeric(20, 6) AS n FROM (SELECT %s AS d FROM"
                                 " %s ORDER BY %s LIMIT 10) AS t" % (order, TABLE, order))
    found = {}
    for name, query in queries.items():
        found[name], _ = server.json(SEARCH.format(index=INDEX, query=query))
    return found


def measure(server, options, name):
    """All builds of a shape, interleaved: a list with one entry for each builder."""
    extension, value, condition, order = SHAPES[name]
    if extension:
        server.run("CREATE EXTENSION IF NOT EXISTS " + extension)
    create_table(server, value, options.rows)
    builders = [{"workers": w, "builds": []} for w in [None] + options.workers]
    for _ in range(options.runs):
        for builder in builders:
            builder["builds"].append(build(server, options, builder["workers"]))
            builder["searches"] = search(server, condition, order)
    for builder in builders[1:]:
        for kind, found in builder["searches"].items():
            if found["answer"] != builders[0]["searches"][kind]["answer"]:
                raise SystemExit("%s: answers of %s differ" % (name, kind))
    return builders


def line(name, builder, base):
    """A line of the report."""
    seconds = statistics.median(b["seconds"] for b in builder["builds"])
    words = "%-14s %-9s %8.2f s  ratio %5.2f  pages %7d" % (
        name, "server" if builder["workers"] is None else "workers %d" % builder["workers"],
        seconds, statistics.median(b["seconds"] for b in base["builds"]) / seconds,
        builder["builds"][0]["pages"])
    for kind, found in builder["searches"].items():
        words += "  %s %.2f" % (kind, found["blocks"] / 1000)
    return words


def run(options):
    """Measure all shapes.  Returns the exit status: 1 if a shape failed."""
    server = cluster.Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS ptsort")
    results = {"settings": dict(bench.machine_facts(server), source=options.source,
                                rows=options.rows, memory=options.memory), "shapes": []}
    os.makedirs(options.out, exist_ok=True)
    for name in options.shapes:
        shape = {"name": name, "status": "ok"}
        try:
            shape["builders"] = measure(server, options, name)
        except cluster.SqlError as error:
            shape.update(status="left out", reason=str(error))
        results["shapes"].append(shape)
        bench.save(results, options.out)
        print(name, shape["status"], flush=True)
    if not options.keep:
        server.run("DROP TABLE IF EXISTS gist_queries, " + TABLE)
    return int(all(shape["status"] != "ok" for shape in results["shapes"]))


def text(results):
    """The report: times, ratios, pages, index blocks per query."""
    lines = ["%(server_version)s, %(rows)d rows, %(memory)s, load %(load).1f"
             % results["settings"]]
    for shape in results["shapes"]:
        if shape["status"] != "ok":
            lines.append("%-14s left out: %s" % (shape["name"], shape["reason"]))
            continue
        lines += [line(shape["name"], b, shape["builders"][0]) for b in shape["builders"]]
    return "\n".join(lines) + "\n"


def main(arguments):
    options = parse(arguments)
    if options.command == "run":
        return run(options)
    return bench.publish(options.out, text(bench.load(options.out)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
