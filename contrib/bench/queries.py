"""The tables and queries of `make bench-query`, and the queries' floors.  A
floor is the minimum ratio of the server's time to ptsort's time.

The server counts the sorted rows, so that it need not send them to the client:
`SELECT count(id) FROM (SELECT ... ORDER BY ... OFFSET 0) s`.  OFFSET 0 keeps
the planner from removing the sort.  The results do not depend on the order of
equal rows.
"""

import re
from collections import namedtuple

import shapes
from shapes import AMOUNT, AT, FIRST_NAMES, LAST_NAMES, URL, WORDS, Table, chosen, number, pick

# A query.  name selects the query on the command line, label appears in the
# report, and table is the table that the query reads.  In sql, {events},
# {orders}, {groups} and {few} are tables, {last10} is the last group of 10
# rows, and {en} and {icu} are collations.  sort is the value of ptsort.sort to
# compare with off.  plan lists the nodes that the plan must have; None skips
# this check.  shown is the query for EXPLAIN, by default sql.  memories and
# workers list the settings to measure the query with.  floor is the minimum
# ratio, or None.  since is the first version of the server that has the plan.
Query = namedtuple("Query", "name label table sort sql floor plan shown before after memories "
                   "workers since",
                   defaults=(None, ("Sort",), None, (), (), ("1GB", "4MB"), (0, 1), 15))

COLLATIONS = shapes.COLLATIONS
NEVER_SLOWER = 0.97
FEW = (1, 2, 4, 10, 100, 1000, 30000)       # distinct values of a column

TABLES = {t.name: t for t in (
    # rows of 260 bytes
    Table("events", 1.0, """
        i AS id, hashint8extended(i, 1) AS account, %s AS at, %s AS amount,
        md5(i::text) AS token, %s AS url,
        %s || ' ' || %s || ' ' || %s || ' ' || %s AS name,
        CASE WHEN i %% 3 = 0 THEN %s || ' ' || %s ELSE '' END AS phrase,
        'Brand#' || %s || %s AS brand, %s || ' ' || %s AS kind,
        %s::int4 AS size, %s::int4 AS supplier""" % (
            AT, AMOUNT, URL, pick(FIRST_NAMES, 21), pick(FIRST_NAMES, 22),
            pick(LAST_NAMES, 23), pick(LAST_NAMES, 24), pick(WORDS, 25),
            pick(WORDS, 26), number(27, 8), number(28, 4), pick(WORDS, 29),
            "(%s)[1 + %s]" % ("ARRAY['BRASS', 'COPPER', 'NICKEL', 'TIN']", number(30, 4)),
            number(31, 64), number(32, 16384))),
    # every fifth row of events
    Table("orders", 0.2, "i AS id, md5((i * 5)::text) AS token"),
    # groups of 10 to 100,000 rows; queries sort one group at a time
    Table("groups", 1.0, """
        i AS id, hashint8extended(i, 1) AS account, md5(i::text) AS token, %s AS url,
        ((i - 1) / 10)::int4 AS g10, ((i - 1) / 100)::int4 AS g100,
        ((i - 1) / 1000)::int4 AS g1000, ((i - 1) / 10000)::int4 AS g10000,
        ((i - 1) / 100000)::int4 AS g100000""" % URL),
    # columns with few distinct values, in random order
    Table("few", 1.0, "i AS id, " + ", ".join(
        "{v} AS b{n}, {v}::numeric AS n{n}, 'status ' || {v} AS t{n}".format(
            n=n, v="abs(hashint8extended(i, 40) %% %d)" % n) for n in FEW)),
)}

# Maximum total number of rows that the sorts of one loop read
MOST_OF_GROUPS = 200000
SIZES = (10, 100, 1000, 10000, 100000)

# The loops that measure overhead have ROUNDS statements.  Loops over PARTITIONS
# partitions have PARTITIONS_ROUNDS statements.
ROUNDS = 2000
PARTITIONS = 1000
PARTITIONS_ROUNDS = 20

MEMORIES = ("1GB", "64MB", "4MB")

LOOP = "SELECT pg_temp.loop('%s', %s)"
SERIAL = dict(memories=("4MB",), workers=(0,))


def counted(select, what="id"):
    """A query whose rows the server counts."""
    return "SELECT count(%s) FROM (%s OFFSET 0) s" % (what, select)


def ordered(name, label, keys, sort, floor):
    """A query SELECT ... ORDER BY."""
    select = "SELECT id, %s FROM {events}" % re.sub(r" COLLATE {\w+}| COLLATE \"C\"", "", keys)
    return Query("order_" + name, "ORDER BY " + label, "events", sort,
                 counted("%s ORDER BY %s" % (select, keys)), floor)


def small(name, label, key, sort):
    """Queries that sort few rows, in a loop or as rescans of one node."""
    for size in SIZES:
        one = "SELECT count(id) FROM (SELECT id, %s FROM {groups} WHERE g%d = %%s " \
            "ORDER BY %s OFFSET 0) s" % (key.split()[0], size, key)
        yield Query("small_%s_%d" % (name, size), "%s rows: %s" % (format(size, ","), label),
                    "groups", sort,
                    LOOP % (one % "$1", "{last%d}" % size), 0.98 if size == 1000 else NEVER_SLOWER,
                    shown=one % "0", **SERIAL)
        yield Query("rescan_%s_%d" % (name, size),
                    "rescans, %s rows: %s" % (format(size, ","), label), "groups", sort,
                    "SELECT count(id) FROM generate_series(0, {last%d}) AS g, "
                    "LATERAL (SELECT id, %s FROM {groups} WHERE g%d = g ORDER BY %s OFFSET 1) s"
                    % (size, key.split()[0], size, key), NEVER_SLOWER, **SERIAL)


def few(name, label, keys, sort, floor):
    """Queries that sort repeated keys: one for each number of distinct
    values."""
    for n in FEW:
        by = keys.replace("#", str(n))
        select = "SELECT id, %s FROM {few}" % re.sub(r" COLLATE ({\w+}|\"C\")", "", by)
        yield Query("few_%s_%d" % (name, n), "%s value%s: %s" % (
            format(n, ","), "s" if n > 1 else "", label), "few", sort,
            counted("%s ORDER BY %s" % (select, by)), floor,
            memories=("4MB", "64MB", "1GB"), workers=(0,))


def aggregate(name, label, sql, sort, floor, workers=(0,)):
    """A query whose Sort node is for an aggregate with ORDER BY or DISTINCT
    inside."""
    return Query("agg_" + name, label, "events", sort, "SELECT " + sql, floor,
                 ("Aggregate", "Sort"), memories=MEMORIES, workers=workers, since=16)


MAKE_PARTITIONS = """DO $$ BEGIN
    IF to_regclass('bench_parts') IS NULL THEN
        CREATE TABLE bench_parts (id int4, v text) PARTITION BY LIST (id);
        FOR i IN 1 .. %d LOOP
            EXECUTE format('CREATE TABLE bench_parts_%%s PARTITION OF bench_parts
                FOR VALUES IN (%%s)', i, i);
        END LOOP;
    END IF;
END $$""" % PARTITIONS

QUERIES = {q.name: q for q in (
    ordered("url", "URL, en_US", "url COLLATE {en}", "text", 6),
    ordered("name", "name, en_US", "name COLLATE {en}", "text", 4),
    ordered("token", "md5, en_US", "token COLLATE {en}", "text", 3),
    ordered("token_icu", "md5, en-x-icu", "token COLLATE {icu}", "text", 1.5),
    ordered("url_icu", "URL, en-x-icu", "url COLLATE {icu}", "text", 1.5),
    ordered("int8", "int8", "account", "on", 1.2),
    ordered("token_c", 'md5, "C"', 'token COLLATE "C"', "on", 1.2),
    ordered("at", "timestamptz", "at", "on", NEVER_SLOWER),
    ordered("amount", "numeric", "amount", "on", NEVER_SLOWER),
    ordered("phrase_int8", "(text of 4,097 values, en_US; int8)",
            "phrase COLLATE {en}, account", "text", NEVER_SLOWER),

    Query("group_url", "GROUP BY URL, en_US", "events", "text",
          counted("SELECT url COLLATE {en} AS id, max(amount) FROM {events} GROUP BY 1"),
          NEVER_SLOWER, ("GroupAggregate", "Sort"), before=("SET enable_hashagg = off",)),
    Query("group_phrase", "GROUP BY text of 4,097 values, en_US", "events", "text",
          counted("SELECT phrase COLLATE {en} AS id, max(amount) FROM {events} GROUP BY 1"),
          NEVER_SLOWER, ("GroupAggregate", "Sort"), before=("SET enable_hashagg = off",)),
    Query("distinct_name", "DISTINCT name, en_US", "events", "text",
          counted("SELECT DISTINCT name COLLATE {en} AS id FROM {events}"),
          NEVER_SLOWER, ("Unique", "Sort"), before=("SET enable_hashagg = off",)),
    Query("window", "row_number() OVER (PARTITION BY text ORDER BY text), en_US", "events", "text",
          "SELECT sum(n) FROM (SELECT row_number() OVER (PARTITION BY phrase COLLATE {en} "
          "ORDER BY token COLLATE {en}) AS n FROM {events} OFFSET 0) s", NEVER_SLOWER,
          ("WindowAgg", "Sort")),
    Query("window_last", "a window's last 3 rows of each day: int8", "events", "on",
          "SELECT count(id) FROM (SELECT id, row_number() OVER (PARTITION BY at::date "
          "ORDER BY account) AS n FROM {events} OFFSET 0) s WHERE n <= 3", NEVER_SLOWER,
          ("WindowAgg", "Sort")),
    Query("join", "merge join on md5, en_US", "events", "text",
          "SELECT count(e.id) FROM {events} e JOIN {orders} o "
          "ON e.token COLLATE {en} = o.token COLLATE {en}", NEVER_SLOWER, ("Merge Join", "Sort"),
          before=("SET enable_hashjoin = off", "SET enable_nestloop = off"), workers=(0,)),
    Query("union", "UNION of names, en_US", "events", "text",
          counted("SELECT name COLLATE {en} AS id FROM {events} UNION "
                  "SELECT upper(name) COLLATE {en} FROM {events} WHERE id % 2 = 0"),
          NEVER_SLOWER, ("Unique", "Sort"), before=("SET enable_hashagg = off",), workers=(0,)),
    Query("create", "CREATE TABLE AS ... ORDER BY URL, en_US", "events", "text",
          "CREATE UNLOGGED TABLE bench_made AS SELECT id, url FROM {events} "
          "ORDER BY url COLLATE {en}", NEVER_SLOWER, after=("DROP TABLE bench_made",),
          workers=(0,)),
    Query("top_url", "top 100: URL, en_US", "events", "text",
          "SELECT count(id) FROM (SELECT id, url FROM {events} ORDER BY url COLLATE {en} "
          "LIMIT 100) s", NEVER_SLOWER),
    Query("top_int8", "top 100: int8", "events", "on",
          "SELECT count(id) FROM (SELECT id, account FROM {events} ORDER BY account "
          "LIMIT 100) s", NEVER_SLOWER),
    Query("lateral_top", "top 3 of each 100: md5, en_US", "groups", "text",
          "SELECT count(id) FROM generate_series(0, {last100}) AS g, LATERAL (SELECT id "
          "FROM {groups} WHERE g100 = g ORDER BY token COLLATE {en} LIMIT 3) s",
          NEVER_SLOWER, **SERIAL),

    # If an aggregate returns a string or an array, the query hashes that value.
    # The hash shows that the order is right, without a result of many megabytes.
    aggregate("count_name", "count(DISTINCT name), en_US",
              "count(DISTINCT name COLLATE {en}) FROM {events}", "text", 3, (0, 1)),
    aggregate("count_token", "count(DISTINCT md5), en_US",
              "count(DISTINCT token COLLATE {en}) FROM {events}", "text", 3),
    aggregate("count_int8", "count(DISTINCT int8)", "count(DISTINCT account) FROM {events}",
              "on", NEVER_SLOWER),
    aggregate("string_name", "string_agg(name ORDER BY name), en_US",
              "hashtextextended(string_agg(name, ',' ORDER BY name COLLATE {en}), 0) "
              "FROM {events}", "text", 2, (0, 1)),
    aggregate("array_token", "array_agg(md5 ORDER BY md5), en_US",
              "hash_array_extended(array_agg(token ORDER BY token COLLATE {en}), 0) "
              "FROM {events}", "text", 2),
    aggregate("group_token", "GROUP BY text: string_agg(md5 ORDER BY md5), en_US",
              "sum(n) FROM (SELECT hashtextextended(string_agg(token, ',' "
              "ORDER BY token COLLATE {en}), 0) AS n FROM {events} "
              "GROUP BY phrase COLLATE {en} OFFSET 0) s", "text", NEVER_SLOWER),

    Query("hits_url", "ClickBench: URLs by their count", "events", "on",
          "SELECT max(c) FROM (SELECT url COLLATE {en}, count(*) AS c FROM {events} "
          "GROUP BY 1 ORDER BY c DESC LIMIT 10) s", NEVER_SLOWER),
    Query("hits_phrase", "ClickBench: first phrases", "events", "text",
          "SELECT max(phrase) FROM (SELECT phrase COLLATE {en} AS phrase FROM {events} "
          "WHERE phrase <> '' ORDER BY 1 LIMIT 10) s", NEVER_SLOWER),
    Query("hits_phrase_time", "ClickBench: phrases by time, then text", "events", "on",
          "SELECT count(phrase) FROM (SELECT phrase FROM {events} WHERE phrase <> '' "
          "ORDER BY at, phrase COLLATE {en} LIMIT 10) s", NEVER_SLOWER),
    Query("tpch_10", "TPC-H 10: returned items by customer", "events", "on",
          "SELECT max(revenue) FROM (SELECT name COLLATE {en}, phrase COLLATE {en}, "
          "sum(amount * (1 - size / 100.0)) AS revenue FROM {events} GROUP BY 1, 2 "
          "ORDER BY revenue DESC LIMIT 20) s", NEVER_SLOWER, workers=(0,)),
    Query("tpch_16", "TPC-H 16: suppliers by brand, kind, size", "events", "text",
          "SELECT max(c) FROM (SELECT brand COLLATE {en}, kind COLLATE {en}, size, "
          "count(DISTINCT supplier) AS c FROM {events} WHERE size % 4 <> 1 GROUP BY 1, 2, 3 "
          "ORDER BY c DESC, 1, 2, 3 OFFSET 0) s", NEVER_SLOWER, ("GroupAggregate", "Sort"),
          workers=(0,)),

    *small("int8", "int8", "account", "on"),
    *small("token_c", 'md5, "C"', 'token COLLATE "C"', "on"),
    *small("token", "md5, en_US", "token COLLATE {en}", "text"),
    *small("url_icu", "URL, en-x-icu", "url COLLATE {icu}", "text"),

    *few("en", "text, en_US", "t# COLLATE {en}", "text", 0.98),
    *few("icu", "text, en-x-icu", "t# COLLATE {icu}", "text", 0.98),
    *few("c", 'text, "C"', 't# COLLATE "C"', "on", 0.95),
    *few("int8", "int8", "b#", "on", 0.95),
    *few("numeric", "numeric", "n#", "on", 0.95),
    *few("two", "(text, en_US; int8)", "t# COLLATE {en}, b#", "text", 0.98),

    Query("start", "planning and start without sorts", "groups", "on",
          LOOP % ("SELECT count(*) FROM {groups} WHERE id = $1", ROUNDS), NEVER_SLOWER,
          None, **SERIAL),
    Query("start_sort", "planning and start with a sort of 5 rows", "groups", "on",
          LOOP % ("SELECT count(*) FROM (SELECT i FROM generate_series($1, $1 + 4) AS i "
                  "ORDER BY i OFFSET 0) s", ROUNDS), NEVER_SLOWER, None, **SERIAL),
    Query("start_partitions", "planning and start with 1,000 partitions", "groups", "on",
          LOOP % ("SELECT count(v) + $1 FROM bench_parts", PARTITIONS_ROUNDS), NEVER_SLOWER,
          None, before=(MAKE_PARTITIONS,), **SERIAL),
    Query("start_partitions_sort", "planning and 1,000 merged sorts, en_US", "groups", "text",
          LOOP % ("SELECT count(v) + $1 FROM (SELECT v FROM bench_parts "
                  "ORDER BY v COLLATE {en} LIMIT 10) s", PARTITIONS_ROUNDS),
          NEVER_SLOWER, None, before=(MAKE_PARTITIONS,), **SERIAL),
)}

GROUPS = {
    "all": tuple(n for n in QUERIES if not n.startswith("few_")),
    "few": tuple(n for n in QUERIES if n.startswith("few_")),
    "order": tuple(n for n in QUERIES if n.startswith("order_")),
    "aggregates": tuple(n for n in QUERIES if n.startswith("agg_")),
    "small": tuple(n for n in QUERIES if n.startswith(("small_", "rescan_"))),
    "start": tuple(n for n in QUERIES if n.startswith("start")),
    "analytics": tuple(n for n in QUERIES if n.startswith(("hits_", "tpch_"))),
}
GROUPS["uses"] = tuple(n for n in QUERIES
                       if not any(n in names for group, names in GROUPS.items()
                                  if group != "all"))

def choose(words):
    """The queries in a list of names and of GROUPS; by default
    GROUPS["all"]."""
    return [QUERIES[name] for name in chosen(words, QUERIES, GROUPS["all"], GROUPS)]


def choose_memories(words):
    """The values of work_mem in a list; all of MEMORIES if the list is
    empty."""
    return chosen(words, MEMORIES, MEMORIES, {})


def rows_of(table, rows):
    """The number of rows in a table for the given value of ROWS."""
    if table.name == "groups":
        rows = min(rows, MOST_OF_GROUPS)
    return shapes.table_rows(table, rows)


def table_name(table, rows):
    """A table's name, which depends on the table's contents."""
    return "query_" + shapes.table_name(table, rows_of(table, rows))


def load_statements(table, rows):
    """The statements that make a table.  The last statement names the
    table."""
    *made, _ = shapes.load_statements(table, rows_of(table, rows))
    if table.name == "groups":
        made += ["CREATE INDEX ON loading (%s)" % column for column in
                 ("id", *("g%d" % size for size in SIZES))]
    return made + ["ALTER TABLE loading RENAME TO " + table_name(table, rows)]


def fill(sql, rows, collations):
    """Put the names of tables and collations into SQL.  Raises KeyError with
    the key of a collation that the server lacks."""
    names = {name: table_name(table, rows) for name, table in TABLES.items()}
    for size in SIZES:
        names["last%d" % size] = str(max(rows_of(TABLES["groups"], rows) // size, 1) - 1)
    return sql.format_map(dict(names, **collations))
