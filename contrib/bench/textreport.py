"""The report about real text: median ratios for each kind of collation, and
shapes whose ratios are below their floors.  A floor is a minimum ratio of the
server's time to ptsort's time."""

from collections import namedtuple
from statistics import median

from report import table

# A kind of collation, and the floor for the median ratio of its data sets
Kind = namedtuple("Kind", "label floor")
KINDS = {"C": Kind('"C"', 2.5), "libc": Kind("the C library's", 6.0),
         "ICU": Kind("ICU's", 1.8)}

# The floor for the ratio of each data set
LEAST = 1.0
# A shape whose text is nearly in order, and its floor
NEAR_ORDER, NEAR_ORDER_LEAST = "find_c", 1.3


def restarts(shape):
    """The number of ptsort's builds that started over."""
    return sum(build.get("restarts", 0) > 0 for build in shape["ptsort"])


def misses(shape):
    """The shape's failures to meet the requirements, as a list of phrases."""
    ratio = shape["summary"]["ratio"]
    least = NEAR_ORDER_LEAST if shape["name"] == NEAR_ORDER else LEAST
    found = ["below %.1f" % least] if ratio < least else []
    if restarts(shape):
        found.append("started over in %d of %d builds"
                     % (restarts(shape), len(shape["ptsort"])))
    return found


def text(results):
    """The report about real text; "" if no real text was measured."""
    measured = [s for s in results["shapes"] if s.get("kind")
                and s.get("summary", {}).get("ratio") is not None]
    if not measured:
        return ""
    rows = []
    for kind, what in KINDS.items():
        ratios = [s["summary"]["ratio"] for s in measured if s["kind"] == kind]
        if ratios:
            rows.append([what.label, len(ratios), "%.2f" % median(ratios),
                         what.floor, "%.2f" % min(ratios), "%.2f" % max(ratios)])
    lines = ["", "Real text:"] + table(
        ["collations", "sets", "median", "floor", "least", "most"], rows)
    lines += ["%s: %.2f, %s" % (s["label"], s["summary"]["ratio"], ", ".join(misses(s)))
              for s in measured if misses(s)]
    return "\n".join(lines) + "\n"
