"""Draw the timeline of a build as SVG: the phases of each participant.

A participant's phases follow one another without gaps, except that the final
merge starts when the last participant finishes its run.  At the end of a
build the picture shows the rest of the time: the time for starting workers, for
upper levels, for syncing and for the commit.
"""

from svg import MARGIN, WIDTH, document, element, seconds, tick_step, top_of

LABEL_WIDTH = 110
LANE = 20
STEP = 26
GAP = 22

# Phases in order, as in ptsort_last_build(), and their names in the picture
PHASES = (("scan_ms", "scan"), ("sort_ms", "sort"), ("run_ms", "run"),
          ("merge_load_ms", "merge and load"))

LIGHT = """
.scan { fill: #1f6feb }
.sort { fill: #bc4c00 }
.run { fill: #8250df }
.merge { fill: #1a7f37 }
"""
DARK = """
.scan { fill: #4493f8 }
.sort { fill: #f0883e }
.run { fill: #ab7df8 }
.merge { fill: #3fb950 }
"""


def intervals(participants):
    """The phases of each participant as (class, from, to), in milliseconds
    since the start of the build, without empty phases."""
    ready = [sum(p[key] for key, _ in PHASES[:3]) for p in participants]
    merge = max(ready, default=0)
    found = []
    for part in participants:
        spans, at = [], 0
        for key, words in PHASES:
            if key == "merge_load_ms":
                at = merge
            if part[key] > 0:
                spans.append((words.split()[0], at, at + part[key]))
            at += part[key]
        found.append(spans)
    return found


def legend(y):
    """The legend, with the colours of the phases."""
    body, at = [], LABEL_WIDTH + 12
    for _, words in PHASES:
        body.append(element("rect", class_=words.split()[0], x=at, y=y - 10,
                            width=12, height=12, rx=2))
        body.append(element("text", words, class_="small", x=at + 18, y=y))
        at += 40 + 7 * len(words)
    return body


def lanes(y, builder, build, x):
    """The SVG elements of one build: a lane for each participant, and a mark at
    the end of the build."""
    body = []
    parts = build["participants"]
    for part, spans in zip(parts, intervals(parts)):
        body.append(element("text", "%s, %s" % (builder, part["role"]),
                            x=LABEL_WIDTH, y=y + LANE - 5, text_anchor="end"))
        for name, start, end in spans:
            body.append(element("rect", class_=name, x=x(start), y=y,
                                width=x(end) - x(start), height=LANE))
        y += STEP
    end = x(build["seconds"] * 1000)
    body.append(element("line", class_="mark", x1=end, x2=end,
                        y1=y - STEP * len(parts) - 2, y2=y - 4))
    body.append(element("text", seconds(build["seconds"]), class_="small",
                        x=end + 5, y=y - STEP + LANE - 5))
    return body


def timeline(title, subtitles, builds):
    """Draw the timelines of builds {builder: build} on one scale.  The builds
    come from measure.build().  Returns the SVG document."""
    longest = max(build["seconds"] * 1000 for build in builds.values())
    left = LABEL_WIDTH + 12
    top = top_of(subtitles) + 26
    step = tick_step(longest)

    def x(ms):
        return float(left + (WIDTH - left - MARGIN - 50) * ms / longest)

    body, y = legend(top - 16), top
    for builder, build in builds.items():
        body += lanes(y, builder, build, x)
        y += STEP * len(build["participants"]) + GAP
    bottom = y - GAP + 4
    grid = []
    for n in range(int(longest / step + 1e-9) + 1):
        grid.append(element("line", class_="grid", x1=x(n * step), x2=x(n * step),
                            y1=top - 4, y2=bottom))
        grid.append(element("text", "%g" % (n * step / 1000), class_="small",
                            x=x(n * step), y=bottom + 16, text_anchor="middle"))
    grid.append(element("text", "s", class_="small", x=WIDTH - MARGIN, y=bottom + 16,
                        text_anchor="end"))
    return document(title, subtitles, bottom + 32, grid + body, LIGHT, DARK)
