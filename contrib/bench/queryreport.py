"""Make the report about measured queries: medians, ratios and text tables."""

from statistics import median

from report import machine, table


def middle(runs, what):
    """The median of the figure `what` over the runs."""
    return median(run[what] for run in runs)


def summarize(query, unit):
    """The figures of one measured query, as a dict.  The ratio compares elapsed
    times if unit is "ms", and CPU times if unit is "cpu"."""
    server, ptsort = query["server"], query["ptsort"]
    s = {engine: {what: middle(runs, what) for what in ("ms", "cpu")}
         for engine, runs in (("server", server), ("ptsort", ptsort))}
    ratios = [a[unit] / b[unit] for a, b in zip(server, ptsort)]
    s.update(ratio=s["server"][unit] / s["ptsort"][unit], low=min(ratios), high=max(ratios))
    s["missed"] = query["floor"] is not None and s["ratio"] < query["floor"]
    return s


def both(server, ptsort):
    """A cell with the numbers of the server and of ptsort."""
    return "%.0f / %.0f" % (server, ptsort)


def ratio_cell(value):
    return None if value is None else "%.2f" % value


def times_table(shown, unit):
    """The table of times and ratios, with one line for each query, memory and
    number of workers."""
    rows = []
    for query in shown:
        s = query.get("summary")
        head = [query["label"], query["memory"], query["workers"]]
        if s is None:
            rows.append(head + [None] * 6 + ["%s: %s" % (
                query["status"], query["reason"].splitlines()[0])])
            continue
        other = "cpu" if unit == "ms" else "ms"
        rows.append(head + [
            "%.0f" % s["server"][unit], "%.0f" % s["ptsort"][unit], ratio_cell(s["ratio"]),
            "%.2f to %.2f" % (s["low"], s["high"]), ratio_cell(query["floor"]),
            both(s["server"][other], s["ptsort"][other]),
            " ".join((["missed"] if s["missed"] else [])
                     + ([] if query["taken"] else ["not taken"]))])
    return table(["query", "work_mem", "workers", "server ms", "ptsort ms", "ratio",
                  "single runs", "floor", "time" if unit == "cpu" else "CPU", ""], rows)


def conditions(settings):
    """The sentence about the settings of the measurements."""
    return "PostgreSQL %s, %s rows, %s, median of %d%s" % (
        settings["server_version"], format(settings["rows"], ","),
        "CPU time" if settings["by"] == "cpu" else "time", settings["reps"],
        "" if settings["min_rows"] is None
        else ", ptsort.min_sort_rows = %d" % settings["min_rows"])


def text(results):
    """The whole report, as one string."""
    settings, shown = results["settings"], results["shapes"]
    lines = [conditions(settings), machine(settings)]
    if settings["load"] > 0.5:
        lines.append("The machine was busy before the first query: load %.1f."
                     % settings["load"])
    lines += ["", "CPU time of all processes.  The server sends no rows."]
    lines += times_table(shown, settings["by"])
    measured = [q for q in shown if "summary" in q]
    below = [q for q in measured if q["summary"]["missed"]]
    lines += ["", "%d of %d measurements miss a floor." % (len(below), len(measured))]
    return "\n".join(lines) + "\n"
