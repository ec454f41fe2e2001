"""Draw the timelines of sorts of files as SVG: the phases of each participant,
from sortbench_report()."""

from svg import MARGIN, WIDTH, document, element, seconds, tick_step, top_of

LABEL_WIDTH = 190
LANE = 20
STEP = 26
GAP = 22

PHASES = ("open", "launch", "read", "sort", "write", "end", "close")
COLOURS = (("#6e7781", "#8c959f"), ("#a475f9", "#ab7df8"), ("#1f6feb", "#4493f8"), ("#bc4c00", "#f0883e"),
           ("#1a7f37", "#3fb950"), ("#bf8700", "#d29922"), ("#cf222e", "#f85149"))


def style(which):
    """The style rules for the phases' colours.  The argument `which` is 0
    for light, 1 for dark."""
    return "\n".join(".%s { fill: %s }" % (phase, colours[which])
                     for phase, colours in zip(PHASES, COLOURS))


def lanes(name, run, y, x):
    """The SVG elements of one sort, with a lane for each participant."""
    body = []
    spans = [r for r in run["report"] if r["participant"] is not None]
    for number in sorted({r["participant"] for r in spans}):
        body.append(element("text", "%s, %s" % (name, "worker %d" % number if number else "leader"),
                            x=LABEL_WIDTH, y=y + LANE - 5, text_anchor="end"))
        for r in spans:
            if r["participant"] == number:
                body.append(element("rect", class_=r["phase"], x=x(r["start_ms"]), y=y,
                                    width=x(r["start_ms"] + r["elapsed_ms"]) - x(r["start_ms"]), height=LANE))
        y += STEP
    end = x(run["seconds"] * 1000)
    body.append(element("text", seconds(run["seconds"]), class_="small", x=end + 5, y=y - STEP + LANE - 5))
    return body, y + GAP


def picture(title, runs):
    """Draw the timelines of sorts {name: run} on one scale.  Returns the SVG
    document."""
    longest = max((run["seconds"] * 1000 for run in runs.values()), default=1)
    left, top = LABEL_WIDTH + 12, top_of([]) + 26

    def x(ms):
        return float(left + (WIDTH - left - MARGIN - 50) * ms / longest)

    body, at, y = [], left, top
    for phase in PHASES:
        body.append(element("rect", class_=phase, x=at, y=top - 26, width=12, height=12, rx=2))
        body.append(element("text", phase, class_="small", x=at + 18, y=top - 16))
        at += 40 + 7 * len(phase)
    for name, run in runs.items():
        more, y = lanes(name, run, y, x)
        body += more
    grid, step, bottom = [], tick_step(longest), y - GAP + 4
    for n in range(int(longest / step + 1e-9) + 1):
        grid.append(element("line", class_="grid", x1=x(n * step), x2=x(n * step), y1=top - 4, y2=bottom))
        grid.append(element("text", "%g" % (n * step / 1000), class_="small", x=x(n * step), y=bottom + 16,
                            text_anchor="middle"))
    grid.append(element("text", "s", class_="small", x=WIDTH - MARGIN, y=bottom + 16, text_anchor="end"))
    return document(title, [], bottom + 32, grid + body, style(0), style(1))
