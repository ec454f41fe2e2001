"""Make the report about measured sorts: medians, ratios, and missed floors.  A
floor is the minimum ratio of a shape; see sortshapes.py."""

from statistics import median

from report import machine, megabytes, table

PARTS = ("put", "perform", "get")

# The memory that ptsort's sort may use in addition to the memory of the
# server's sort: a number of bytes, plus a fraction of the memory of the
# server's sort
SLACK_BYTES = 65536
SLACK_PART = 0.01


def total(sort, unit):
    """The time of a sort in ms, without the part "end"."""
    return sum(sort[part + "_" + unit] for part in PARTS)


def middle(sorts, unit):
    """The median time of sorts; None without sorts."""
    return median(total(s, unit) for s in sorts) if sorts else None


def part_medians(sorts, unit):
    """The median times of put, perform and get."""
    return [median(s[part + "_" + unit] for s in sorts) for part in PARTS]


def held(sort):
    """The peak memory of a sort in bytes: the larger of the measured value and
    the value that the sort reports."""
    return max(sort["memory"], sort["memory_said"] or 0)


def quotient(server, ptsort):
    """The ratio of two times; None if one is missing."""
    return server / ptsort if server and ptsort else None


def missed(shape, s):
    """The names of the floors that the shape misses."""
    found = []
    floor = shape["floor"]
    if floor is not None:
        found += [what for what in ("ratio", "first")
                  if s[what] is not None and s[what] < floor]
    if shape["way"] != "parallel" and s["ptsort_memory"] > (
            s["server_memory"] * (1 + SLACK_PART) + SLACK_BYTES):
        found.append("memory")
    if shape["text"] and s["comparisons_per_tuple"] > 2:
        found.append("comparisons")
    return found


def summarize(shape, unit):
    """The figures of one measured shape, as a dict.  unit is the unit of the
    ratios: "ms" or "cpu"."""
    server, ptsort = shape["server"], shape["ptsort"]
    first = shape.get("first", {})
    limit = middle(shape.get("limit"), unit)
    s = {
        "server": middle(server, unit), "ptsort": middle(ptsort, unit), "limit": limit,
        "ratios": {u: quotient(middle(server, u), middle(ptsort, u))
                   for u in ("ms", "cpu")},
        "first_server": middle(first.get("server"), unit),
        "first_ptsort": middle(first.get("ptsort"), unit),
        "server_parts": part_medians(server, unit),
        "ptsort_parts": part_medians(ptsort, unit),
        "server_end": median(x["end_" + unit] for x in server),
        "ptsort_end": median(x["end_" + unit] for x in ptsort),
        "server_memory": max(held(x) for x in server),
        "ptsort_memory": max(held(x) for x in ptsort),
        "server_temp": max(x["temp"] for x in server),
        "ptsort_temp": max(x["temp"] for x in ptsort),
        "comparisons_per_tuple":
            median(x["comparisons"] for x in ptsort) / max(shape["rows"], 1),
    }
    for engine in ("server", "ptsort"):
        fresh = [x["rss"] for x in first.get(engine, []) if x["rss"] is not None]
        s[engine + "_rss"] = max(fresh) if fresh else None
    s["ratio"] = s["ratios"][unit]
    s["first"] = quotient(s["first_server"], s["first_ptsort"])
    s["leader"] = quotient(s["server"], middle(shape.get("leader"), unit))
    s["missed"] = missed(shape, s)
    return s


def both(a, b, form="%.0f"):
    """A cell with the numbers of the server and of ptsort."""
    return "%s / %s" % tuple("-" if x is None else form % x for x in (a, b))


def ratio_cell(value):
    return None if value is None else "%.2f" % value


def times_table(shapes):
    """The table of times and ratios, with one line for each shape and
    budget."""
    rows = []
    for shape in shapes:
        s = shape.get("summary")
        head = [shape["label"], shape["budget"]]
        if s is None:
            rows.append(head + [None] * 9 + [
                "%s: %s" % (shape["status"], shape["reason"].splitlines()[0])])
            continue
        rows.append(head + [
            "%.0f" % s["server"], "%.0f" % s["ptsort"], ratio_cell(s["ratio"]),
            ratio_cell(s["first"]), ratio_cell(shape["floor"])]
            + [both(a, b) for a, b in zip(s["server_parts"], s["ptsort_parts"])]
            + [both(s["server_end"], s["ptsort_end"])]
            + ["missed: " + ", ".join(s["missed"]) if s["missed"] else ""])
    return table(["key", "budget", "server ms", "ptsort ms", "ratio", "first", "floor",
                  "put", "perform", "get", "end", ""], rows)


def limit_table(shapes):
    """The table of the times of copies of the rows, and of the engines' times
    divided by them."""
    rows = []
    for shape in shapes:
        s = shape["summary"]
        rows.append([shape["label"], shape["budget"], "%.0f" % s["limit"],
                     *(ratio_cell(s[engine] / s["limit"]) for engine in ("server", "ptsort"))])
    return table(["key", "budget", "limit ms", "server / limit", "ptsort / limit"], rows)


def two_table(shapes):
    """The table that compares sorts by two processes with sorts by one
    process."""
    rows = []
    for shape in shapes:
        s = shape["summary"]
        rows.append([shape["label"], shape["budget"], "%.0f" % s["server"],
                     "%.0f" % s["ptsort"], ratio_cell(s["ratio"]),
                     ratio_cell(s["leader"]), ratio_cell(shape["floor"]),
                     "missed: " + ", ".join(s["missed"]) if s["missed"] else ""])
    return table(["key", "budget", "one ms", "two ms", "slices", "leader", "floor", ""],
                 rows)


def peers_table(shapes, unit):
    """The table of the peers' times for the same sorts, and of the ratios of
    these times to ptsort's times."""
    names = sorted({name for s in shapes for name in s["peers"]})
    rows = []
    for shape in shapes:
        ours = shape["summary"]["ptsort"]
        row = [shape["label"], "%.0f" % shape["summary"]["server"], "%.0f" % ours]
        for name in names:
            took = shape["peers"].get(name, {})
            known = "reason" not in took and unit in took
            row += (["%.0f" % took[unit], "%.2f" % (took[unit] / ours)] if known
                    else [None, None])
        rows.append(row)
    return table(["key", "server ms", "ptsort ms"] + [
        word for name in names for word in (name + " ms", "ratio")], rows)


def resources_table(shapes):
    """The table of the sorts' resources, server / ptsort."""
    rows = []
    for shape in shapes:
        s = shape["summary"]
        rows.append([shape["label"], shape["budget"]]
                    + ["%s / %s" % (megabytes(s["server_" + what]) or "-",
                                    megabytes(s["ptsort_" + what]) or "-")
                       for what in ("memory", "rss", "temp")]
                    + ["%.2f" % s["comparisons_per_tuple"]])
    return table(["key", "budget", "memory MB", "RSS growth MB", "temporary MB",
                  "comparisons per tuple"], rows)


def conditions(settings):
    """The sentence about the settings of the measurements."""
    return ("PostgreSQL %s, scale %g (2 million rows of 290 bytes, 10 million of 40; "
            "budgets as well), %s, median of %d" % (
                settings["server_version"], settings["scale"],
                "CPU time" if settings["by"] == "cpu" else "time", settings["runs"])
            + ("" if settings["told"] else ", ptsort not told the number of rows"))


def text(results):
    """The whole report, as one string."""
    settings, shapes = results["settings"], results["shapes"]
    lines = [conditions(settings), machine(settings)]
    if settings["load"] > 0.5:
        lines.append("The machine was busy before the first sort: load %.1f."
                     % settings["load"])
    measured = [s for s in shapes if "summary" in s]
    alone = [s for s in shapes if s["way"] != "parallel" or "summary" not in s]
    lines += ["", "put, perform, get, end and all: server / ptsort; first: the ratio "
              "of the first sorts of new processes"] + times_table(alone)
    parallel = [s for s in measured if s["way"] == "parallel"]
    if parallel:
        lines += ["", "ptsort with two processes against one: ratios if both read "
                  "slices, and if only the leader reads"] + two_table(parallel)
    if measured:
        lines += ["", "server / ptsort (one process / two):"] + resources_table(measured)
    limited = [s for s in measured if s["summary"]["limit"]]
    if limited:
        lines += ["", "A copy of the rows (tuplestore), and the sorts divided by it:"]
        lines += limit_table(limited)
    rows = [s for s in measured if s.get("peers")]
    if rows:
        lines += ["", "Peers, in memory, one thread: ratios of the peers' times to ptsort's"]
        lines += peers_table(rows, settings["by"])
    below = [s for s in measured if s["summary"]["missed"]]
    lines += ["", "%d of %d measurements miss a floor." % (len(below), len(measured))]
    return "\n".join(lines) + "\n"
