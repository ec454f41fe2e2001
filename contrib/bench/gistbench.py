#!/usr/bin/env python3
"""Build the same GiST and GIN indexes with the server and with ptsort, and
compare the times, the pages and the index blocks that searches read.  `make
bench-gist` calls `run` and `report` in turn; see bench-gist.sh.
"""

import argparse
import statistics
import sys

import bench
import cluster
import shapes

# name: (extension or None, value of a row i with the random numbers x, y and z,
# condition of a search, order of a search for neighbours or None).  q is
# another row's value.
GIST = {
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

# name: (extension or None, value, condition of a search, operator class).  i * 0
# is there for the server to choose new numbers in each row; t is a message of a
# program of this machine (corpus.py).
JSON = ("jsonb_build_object('id', i, 'mail', md5(i::text), 'kind', (x * 50)::int, 'tags',"
        " ARRAY(SELECT 'tag ' || (random() * 5000)::int FROM generate_series(1, 6 + i * 0)))",
        "v @> jsonb_build_object('tags', jsonb_path_query_array(q, '$.tags[0 to 1]'))")
LEXEMES = "v @@ plainto_tsquery('simple', array_to_string((tsvector_to_array(q))[1:2], ' '))"
GIN = {
    "trigrams": ("pg_trgm", "(SELECT string_agg(left(md5(random()::text), 1 + (random() * 6)::int),"
                 " ' ') FROM generate_series(1, 12 + i * 0))",
                 "v LIKE '%' || substr(q, 5, 8) || '%'", "gin_trgm_ops"),
    "tsvector": (None, "array_to_tsvector(ARRAY(SELECT left(md5((random() ^ 2 * 1.9e6)::int::text),"
                 " 8) FROM generate_series(1, 12 + i * 0)))", LEXEMES, "tsvector_ops"),
    "jsonb": (None, *JSON, "jsonb_ops"),
    "jsonb_path": (None, *JSON, "jsonb_path_ops"),
    "array": (None, "ARRAY(SELECT (random() * 65535)::int FROM generate_series(1, 8 + i * 0))",
              "v @> q[1:2]", "array_ops"),
    "message_trigrams": ("pg_trgm", "t", "v LIKE '%' || q || '%'", "gin_trgm_ops"),
    "message_tsvector": (None, "to_tsvector('simple', t)", LEXEMES, "tsvector_ops"),
}
SHAPES = {**GIST, **GIN}

BUILD = """
SET maintenance_work_mem = '{memory}'; SET ptsort.enable = {enable};
SET max_parallel_maintenance_workers = {workers};
DROP INDEX IF EXISTS bench_index;
ALTER TABLE bench_rows SET (parallel_workers = {workers});
CHECKPOINT;
SET client_min_messages = debug1;
SELECT clock_timestamp() AS start \\gset
CREATE INDEX bench_index ON bench_rows USING {using}{request};
SELECT json_build_object(
    'seconds', extract(epoch FROM clock_timestamp() - :'start'::timestamptz),
    'pages', pg_relation_size('bench_index') / current_setting('block_size')::int);
"""

# A bitmap scan or an index scan of each query reads the index only.
SEARCH = """
SET enable_seqscan = off; SET max_parallel_workers_per_gather = 0;
SELECT idx_blks_read + idx_blks_hit AS before
    FROM pg_statio_user_indexes WHERE indexrelname = 'bench_index' \\gset
SELECT sum(n) AS answer FROM bench_queries, LATERAL (%s) AS s \\gset
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT json_build_object('blocks', idx_blks_read + idx_blks_hit - :before,
    'answer', :'answer') FROM pg_statio_user_indexes WHERE indexrelname = 'bench_index';
"""


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    for name, kind, default in (
            ("rows", int, 1000000), ("memory", str, "64MB"), ("workers", bench.numbers, "0,1"),
            ("runs", int, 3), ("source", str, "?"),
            ("shapes", bench.list_of(lambda w: shapes.chosen(w, SHAPES, tuple(SHAPES), {})), "")):
        run.add_argument("--" + name, type=kind, default=default)
    run.add_argument("--keep", action="store_true", help="do not drop the table")
    run.add_argument("--out", required=True, help="directory for results.json")
    commands.add_parser("report").add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def create_table(server, name, rows):
    """Create the table of a shape, and the table of its 1,000 queries."""
    load, source = "", """(SELECT i, random() AS x, random() AS y, random() AS z
        FROM generate_series(1, %d) AS i) AS r""" % rows
    if name.startswith("message"):
        load, source = """CREATE TEMP TABLE texts (i int GENERATED ALWAYS AS IDENTITY, t text);
            COPY texts (t) FROM PROGRAM 'python3 "%s" messages %d';
            """ % (shapes.CORPUS.replace("'", "''"), rows), "texts"
    server.psql("""DROP TABLE IF EXISTS bench_queries, bench_rows;
        SELECT setseed(0.5) \\g /dev/null
        %sCREATE TABLE bench_rows AS SELECT i AS id, %s AS v FROM %s;
        CREATE TABLE bench_queries AS SELECT v AS q FROM bench_rows ORDER BY id LIMIT 1000;
        VACUUM ANALYZE bench_rows, bench_queries;
        """ % (load, SHAPES[name][1], source))


def build(server, options, using, builder):
    """Build the index once.  The messages must show that this builder built it."""
    ours, workers = builder["ours"], builder["workers"]
    done, messages = server.json(BUILD.format(
        memory=options.memory, workers=workers, enable="on" if ours else "off", using=using,
        request=" WITH (parallel_workers = %d)" % workers if ours else ""))
    found = "; ".join(m.partition("DEBUG:  ")[2] for m in messages)
    wanted = ('ptsort: building index "bench_index": %d participant' % (workers + 1) if ours
              else "with request for %d parallel worker" % workers if workers else "serially")
    if wanted not in found or ("ptsort: built" in found) != ours:
        raise cluster.SqlError("another builder: " + found)
    return done


def search(server, condition, order):
    """Blocks and answers of the 1,000 searches, and of those for neighbours."""
    queries = {"searches": "SELECT count(*) AS n FROM bench_rows WHERE " + condition}
    if order:
        queries["neighbours"] = ("SELECT sum(d)::numeric(20, 6) AS n FROM (SELECT %s AS d FROM"
                                 " bench_rows ORDER BY %s LIMIT 10) AS t" % (order, order))
    return {kind: server.json(SEARCH % query)[0] for kind, query in queries.items()}


def measure(server, options, name):
    """All builds of a shape, interleaved: a list with one entry for each builder."""
    extension, _, condition, last = SHAPES[name]
    using, order = ("gin (v %s)" % last, None) if name in GIN else ("gist (v)", last)
    server.run("CREATE EXTENSION IF NOT EXISTS " + (extension or "ptsort"))
    create_table(server, name, options.rows)
    # from 18 on, the server builds GIN indexes with workers, too
    parallel = name in GIN and int(server.value("SHOW server_version_num")) >= 180000
    builders = [{"ours": ours, "workers": workers, "builds": []} for ours in (False, True)
                for workers in (options.workers if ours or parallel else [0])]
    for _ in range(options.runs):
        for builder in builders:
            builder["builds"].append(build(server, options, using, builder))
            builder["searches"] = search(server, condition, order)
    for kind in builders[0]["searches"]:
        if len({builder["searches"][kind]["answer"] for builder in builders}) > 1:
            raise SystemExit("%s: answers of %s differ" % (name, kind))
    return builders


def line(name, builder, builders):
    """A line of the report.  The base of the ratio is the server's build with the
    same number of workers if there is one, otherwise the server's serial build."""
    base = min((b for b in builders if not b["ours"]),
               key=lambda b: b["workers"] != builder["workers"])
    seconds, other = (statistics.median(done["seconds"] for done in b["builds"])
                      for b in (builder, base))
    return "%-16s %s %d %8.2f s  ratio %5.2f  pages %7d" % (
        name, "ptsort" if builder["ours"] else "server", builder["workers"], seconds,
        other / seconds, builder["builds"][0]["pages"]) + "".join(
            "  %s %.2f" % (kind, found["blocks"] / 1000)
            for kind, found in builder["searches"].items())


def run(options):
    """Measure all shapes.  Returns the exit status: 1 if a shape failed."""
    server = cluster.Cluster()
    results = {"settings": dict(bench.machine_facts(server), source=options.source,
                                rows=options.rows, memory=options.memory), "shapes": []}
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
        server.run("DROP TABLE IF EXISTS bench_queries, bench_rows")
    return int(all(shape["status"] != "ok" for shape in results["shapes"]))


def text(results):
    """The report: times, ratios, pages, index blocks per query."""
    lines = ["%(server_version)s, %(rows)d rows, %(memory)s, load %(load).1f"
             % results["settings"]]
    for shape in results["shapes"]:
        lines += [line(shape["name"], b, shape["builders"]) for b in shape.get("builders", [])]
        if "reason" in shape:
            lines.append("%-16s left out: %s" % (shape["name"], shape["reason"]))
    return "\n".join(lines) + "\n"


def main(arguments):
    options = parse(arguments)
    if options.command == "run":
        return run(options)
    return bench.publish(options.out, text(bench.load(options.out)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
