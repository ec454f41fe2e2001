"""Write the report on measured builds: medians, ratios and text tables.

A results file is JSON: {"settings": {...}, "shapes": [...]}.  measure.measure()
returns the shapes.  bench.py adds to each shape the figures from summarize().
The tables and the chart show these figures.
"""

from statistics import median

MB = 1 << 20


def middle(builds, key):
    """The median of a figure over the builds; None without builds, or if a
    build lacks the figure."""
    values = [b.get(key) for b in builds]
    return None if not values or None in values else median(values)


def typical(builds):
    """The build with the median time.  If the number of builds is even, the
    function returns the faster one of the middle two builds.  The report shows
    the phases of the returned build."""
    return sorted(builds, key=lambda b: b["seconds"])[(len(builds) - 1) // 2]


def summarize(shape):
    """The figures of one measured shape, as a dict.  "ratio" is the ratio of
    the median times; "low" and "high" are the lowest and the highest ratio of
    any one run, which has a build by each builder.  The ratios and the server's
    figures are None if only ptsort was measured."""
    server, ptsort = shape.get("server", []), shape["ptsort"]
    ratios = [s["seconds"] / p["seconds"] for s, p in zip(server, ptsort)]
    tuples = ptsort[0]["tuples"]
    checks = [b["amcheck"] for b in server + ptsort if "amcheck" in b]
    return {
        "server_s": middle(server, "seconds"),
        "ptsort_s": middle(ptsort, "seconds"),
        "ratio": (middle(server, "seconds") / middle(ptsort, "seconds")
                  if server else None),
        "low": min(ratios, default=None),
        "high": max(ratios, default=None),
        "comparisons_per_tuple": middle(ptsort, "comparisons") / max(tuples, 1),
        "ptsort_memory": max(b["peak_memory_bytes"] for b in ptsort),
        "server_temp": middle(server, "temp_bytes"),
        "ptsort_temp": middle(ptsort, "temp_bytes"),
        "server_index": middle(server, "index_bytes"),
        "ptsort_index": middle(ptsort, "index_bytes"),
        "server_wal": middle(server, "wal_bytes"),
        "ptsort_wal": middle(ptsort, "wal_bytes"),
        "amcheck": (None if not checks else
                    "ok" if set(checks) == {"ok"} else
                    "; ".join(sorted(set(checks) - {"ok"}))),
    }


def table(header, rows):
    """The lines of a text table.  Aligns a column to the right if all its cells
    are numbers or '-'."""
    cells = [header] + [["-" if c is None else str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    right = [all(row[i][:1] in "-0123456789" for row in cells[1:])
             for i in range(len(header))]
    lines = ["  ".join(c.rjust(w) if r else c.ljust(w)
                       for c, w, r in zip(row, widths, right)).rstrip()
             for row in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return lines


def megabytes(size):
    """Bytes as megabytes for a table; None for None."""
    if size is None:
        return None
    return ("%.0f" if size >= 10 * MB else "%.1f") % (size / MB)


def times_table(shapes):
    """The table of times and ratios, with one line for each shape."""
    rows = []
    for shape in shapes:
        s = shape.get("summary")
        if s is None:
            rows.append([shape["label"], shape["rows"], None, None, None,
                         "%s: %s" % (shape["status"], shape["reason"].splitlines()[0])])
        elif s["ratio"] is None:
            rows.append([shape["label"], shape["rows"], None,
                         "%.2f" % s["ptsort_s"], None, None])
        else:
            rows.append([shape["label"], shape["rows"], "%.2f" % s["server_s"],
                         "%.2f" % s["ptsort_s"], "%.2f" % s["ratio"],
                         "%.2f to %.2f" % (s["low"], s["high"])])
    return table(["key", "rows", "server s", "ptsort s", "ratio", "single runs"],
                 rows)


def resources_table(shapes):
    """The table of the builds' resources, server / ptsort; comparisons and
    memory are ptsort's."""
    rows = []
    for shape in shapes:
        s = shape.get("summary")
        if s is not None:
            rows.append([shape["label"], "%.2f" % s["comparisons_per_tuple"],
                         megabytes(s["ptsort_memory"])]
                        + ["%s / %s" % (megabytes(s["server_" + what]) or "-",
                                        megabytes(s["ptsort_" + what]))
                           for what in ("temp", "index", "wal")]
                        + [s["amcheck"]])
    return table(["key", "comparisons per tuple", "memory MB", "temporary MB",
                  "index MB", "WAL MB", "amcheck"], rows)


PHASES = ("scan_ms", "sort_ms", "run_ms", "merge_load_ms")


def phases_table(shape):
    """The table of phases in ptsort's typical build, with one line for each
    participant."""
    rows = [[part["role"]] + ["%.0f" % part[phase] for phase in PHASES]
            for part in typical(shape["ptsort"])["participants"]]
    return table(["participant", "scan ms", "sort ms", "run ms", "merge and load ms"], rows)


def conditions(settings):
    """The sentence about the settings of the measurements."""
    workers = settings["workers"]
    return "PostgreSQL %s, %s, maintenance_work_mem %s, %s cache, %smedian of %d" % (
        settings["server_version"],
        "serial" if workers == 0 else "%s%d worker%s and the leader" % (
            "as planned up to " if settings.get("planned") else "",
            workers, "" if workers == 1 else "s"),
        settings["memory"], settings["cache"],
        "wal_level minimal, " if settings.get("wal_level") == "minimal" else "",
        settings["runs"])


def machine(settings):
    """The sentence about the machine and the version of ptsort."""
    return "%s, %d processors, %.0f GB; ptsort %s, %s" % (
        settings["cpu"], settings["cpus"], settings["machine_memory"] / 1024 / MB,
        settings["source"], settings["date"])


def text(results, all_phases=False):
    """The whole report, as one string.  The report shows the phases of all
    shapes if all_phases is true, and otherwise only those of "int8, random"."""
    settings, shapes = results["settings"], results["shapes"]
    lines = [conditions(settings), machine(settings)]
    if settings["load"] > 0.5:
        lines.append("The machine was busy before the first build: load %.1f."
                     % settings["load"])
    lines += [""] + times_table(shapes)
    measured = [s for s in shapes if "summary" in s]
    if measured:
        lines += ["", "server / ptsort:"] + resources_table(measured)
    for shape in measured:
        if all_phases or shape["name"] == "int8":
            lines += ["", "Phases: %s" % shape["label"]] + phases_table(shape)
    return "\n".join(lines) + "\n"
