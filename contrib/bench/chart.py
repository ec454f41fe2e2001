"""The chart of ptsort's speed relative to the server, as SVG: one bar for
each shape."""

from svg import MARGIN, WIDTH, document, element, seconds, tick_step, top_of

LABEL_WIDTH = 220
TIMES_WIDTH = 230
BAR = 18
STEP = 28

LIGHT = """
.ratio { font-weight: 600 }
.bar { fill: #1f6feb }
.slow { fill: #bc4c00 }
"""
DARK = """
.bar { fill: #4493f8 }
.slow { fill: #f0883e }
"""


def bar_elements(y, label, summary, x):
    """The SVG elements of a shape: its name, bar and ratio, and the times of
    the server and of ptsort.  x maps a ratio to its x coordinate."""
    ratio, base = summary["ratio"], y + BAR - 4
    return [
        element("text", label, x=LABEL_WIDTH, y=base, text_anchor="end"),
        element("rect", class_="bar" if ratio >= 1 else "slow", x=x(0), y=y,
                width=x(ratio) - x(0), height=BAR, rx=2),
        element("text", "%.1f\u00d7" % ratio, class_="ratio",
                x=max(x(ratio), x(1)) + 6, y=base),
        element("text", "%s \u2192 %s" % (seconds(summary["server_s"]),
                                          seconds(summary["ptsort_s"])),
                class_="small", x=WIDTH - MARGIN, y=base, text_anchor="end"),
    ]


def chart(title, subtitles, bars):
    """Draw a chart of bars [(label, summary)], in the order of the list.  Each
    summary comes from report.summarize().  Returns the SVG document."""
    most = max([1.0] + [summary["ratio"] for _, summary in bars])
    step = tick_step(most)
    left = LABEL_WIDTH + 12
    top = top_of(subtitles) + 10
    bottom = top + STEP * len(bars)

    def x(ratio):
        return float(left + (WIDTH - left - TIMES_WIDTH) * ratio / most)

    body = [element("text", "server \u2192 ptsort", class_="small",
                    x=WIDTH - MARGIN, y=top - 8, text_anchor="end")]
    for n in range(int(most / step + 1e-9) + 1):
        body.append(element("line", class_="grid", x1=x(n * step), x2=x(n * step),
                            y1=top - 2, y2=bottom))
        body.append(element("text", "%g\u00d7" % (n * step), class_="small",
                            x=x(n * step), y=bottom + 18, text_anchor="middle"))
    for n, (label, summary) in enumerate(bars):
        body += bar_elements(top + STEP * n + 4, label, summary, x)
    body.append(element("line", class_="mark", x1=x(1), x2=x(1), y1=top - 6,
                        y2=bottom))
    body.append(element("text", "server = 1\u00d7; longer is faster",
                        class_="small", x=left, y=bottom + 36))
    return document(title, subtitles, bottom + 48, body, LIGHT, DARK)
