"""Sort the same rows with the server and with ptsort, and measure the sorts.

The extension sortcompare (contrib/sortcompare) does the sorts.  For each shape
and budget, one session sorts with both engines in turn.  Other sessions measure
the first sort of a process.  Both engines must return the same keys in the same
order.
"""

import freememory
import sortshapes
from cluster import SqlError

ENGINES = ("server", "ptsort")
PARTS = ("put", "perform", "get")


class SortError(Exception):
    """Raised for sorts that cannot be compared; str() gives the reason."""


def turns(runs, limit=False):
    """The engines in the order of their runs: they alternate in going first.
    If limit is true, a run without a sort follows in each turn."""
    return [engine for n in range(runs)
            for engine in [*(ENGINES if n % 2 == 0 else ENGINES[::-1]),
                           *(["limit"] if limit else [])]]


def call(engines, arguments):
    """SQL that sorts once with each of the given engines."""
    return ("SELECT coalesce(json_agg(s), '[]') FROM sortcompare("
            "%s, engines => ARRAY[%s]) AS s;\n"
            % (arguments, ", ".join("'%s'" % e for e in engines)))


def call_parallel(reading, arguments):
    """SQL that sorts once with two processes."""
    return ("SELECT coalesce(json_agg(s), '[]') FROM sortcompare_parallel("
            "%s, workers => 1, reading => '%s') AS s;\n" % (arguments, reading))


def check(sorts):
    """Raise SortError if two of the given sorts returned different keys."""
    if len({(s["tuples"], s["checksum"]) for s in sorts}) > 1:
        raise SortError("the sorts read different keys: " + ", ".join(
            "%s %d rows %d" % (s.get("engine", "parallel"), s["tuples"], s["checksum"])
            for s in sorts))


def together(processes):
    """Combine the processes of a parallel sort into one result.  put and
    perform are the times of the process that used the most CPU time for put and
    perform together.  get and end are the longest times of any process; memory
    is the sum over all processes."""
    def longest(what):
        return max(p[what] for p in processes)
    leader = next(p for p in processes if p["participant"] == 0)
    most = max(processes, key=lambda p: p["put_cpu"] + p["perform_cpu"])
    found = {"engine": "parallel", "tuples": leader["tuples"],
             "checksum": leader["checksum"], "runs": None, "memory_said": None,
             "rss": None, "end_ms": longest("end_ms"), "end_cpu": longest("end_cpu")}
    for what in ("memory", "temp", "comparisons"):
        found[what] = sum(p[what] for p in processes)
    for unit in ("ms", "cpu"):
        found["put_" + unit] = most["put_" + unit]
        found["perform_" + unit] = most["perform_" + unit]
        found["get_" + unit] = longest("get_" + unit)
    return dict(found, processes=processes)


def sort_serially(cluster, options, name, arguments, limit):
    """Run serial sorts of the table 'name' with both engines.  Returns {"server":
    [...], "ptsort": [...], "first": {engine: [...]}}, and "limit": [...] if limit
    is true."""
    found = {"first": {engine: [] for engine in ENGINES}}
    for engine in turns(options.firsts):
        freememory.touch_for(cluster, name)
        found["first"][engine] += cluster.json(call([engine], arguments))[0]
    freememory.touch_for(cluster, name)
    later, _ = cluster.json(call(turns(options.runs, limit), arguments))
    for engine in {s["engine"] for s in later}:
        found[engine] = [s for s in later if s["engine"] == engine]
    check([s for s in later if s["engine"] in ENGINES]
          + found["first"]["server"] + found["first"]["ptsort"])
    return found


def sort_with_two(cluster, options, name, arguments):
    """Sort the table 'name' with ptsort in one process and in two.  The server does
    not sort here.  Returns a dict: "server" has the sorts by one process, "ptsort" has
    the sorts by two processes that read slices, and "leader" has the parallel
    sorts whose result only the leader reads."""
    found = {"server": [], "ptsort": [], "leader": []}
    for _ in range(options.runs):
        freememory.touch_for(cluster, name)
        found["server"] += cluster.json(call(["ptsort"], arguments))[0]
        for key, reading in (("ptsort", "slices"), ("leader", "leader")):
            freememory.touch_for(cluster, name)
            found[key].append(together(
                cluster.json(call_parallel(reading, arguments))[0]))
    check(found["server"] + found["ptsort"] + found["leader"])
    return found


def measure(cluster, options, shape, budget, collations):
    """Measure one shape with one budget.  Returns a dict with the status "ok",
    "skipped" or "error", the reason, and the sorts of each engine."""
    table = sortshapes.TABLES[shape.table]
    result = {"name": shape.name, "label": shape.label, "way": shape.way,
              "budget": budget, "budget_kb": sortshapes.budget_kb(budget, options.scale),
              "floor": sortshapes.floor(shape, budget),
              "text": any(shape.collations), "rows": None}
    name = sortshapes.table_name(table, options.scale)
    try:
        arguments = sortshapes.arguments(
            shape, name, result["budget_kb"], collations, options.told)
    except KeyError as missing:
        return dict(result, status="skipped", reason="the server has no collation "
                    + sortshapes.COLLATIONS[missing.args[0]])
    try:
        result["rows"] = load(cluster, options, table)
        if result["rows"] == 0:
            return dict(result, status="skipped", reason="this machine has no text of this kind")
        if shape.way == "parallel":
            return dict(result, status="ok", **sort_with_two(cluster, options, name, arguments))
        return dict(result, status="ok", **sort_serially(
            cluster, options, name, arguments, options.limit and shape.way == "rows"))
    except (SortError, SqlError) as error:
        return dict(result, status="error", reason=str(error))


def load(cluster, options, table):
    """Create the table unless it exists.  Returns its number of rows."""
    name = sortshapes.table_name(table, options.scale)
    if cluster.value("SELECT to_regclass('%s')" % name) == "":
        print("   loading %s" % name, flush=True)
        cluster.run(*sortshapes.load_statements(table, options.scale))
    return int(cluster.value("SELECT count(*) FROM %s" % name))
