"""The chart of ptsort's speed relative to the server, as SVG: one bar for
each shape.  The panel is light or dark, as the reader's system prefers."""

import textwrap
from xml.sax.saxutils import escape

WIDTH = 820
MARGIN = 24
LABEL_WIDTH = 220
TIMES_WIDTH = 230
BAR = 18
STEP = 28

# Maximum number of characters in a line of a subtitle: it fits between the
# margins in any likely font of 12 px.
LINE = 105

STYLE = """
.panel { fill: #ffffff; stroke: #d0d7de }
text { fill: #1f2328; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif }
.title { font-size: 18px; font-weight: 600 }
.small { font-size: 12px; fill: #59636e }
.grid { stroke: #d0d7de; stroke-width: 1 }
.mark { stroke: #59636e; stroke-width: 1.5 }
.ratio { font-weight: 600 }
.bar { fill: #1f6feb }
.slow { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
.panel { fill: #0d1117; stroke: #3d444d }
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.grid { stroke: #3d444d }
.mark { stroke: #9198a1 }
.bar { fill: #4493f8 }
.slow { fill: #f0883e }
}
"""


def element(name, content=None, **attributes):
    """One SVG element.  Pass the attribute class as class_."""
    text = "".join(' %s="%s"' % (
        key.rstrip("_").replace("_", "-"),
        "%g" % value if isinstance(value, float) else escape(str(value), {'"': "&quot;"}))
        for key, value in attributes.items())
    if content is None:
        return "<%s%s/>" % (name, text)
    return "<%s%s>%s</%s>" % (name, text, escape(content), name)


def document(title, subtitles, height, body):
    """Make an SVG document with the title, the lines of the subtitles, and the
    elements of body."""
    head = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
        'viewBox="0 0 %d %d" role="img">' % (WIDTH, height, WIDTH, height),
        element("title", title),
        "<style>%s</style>" % STYLE,
        element("rect", class_="panel", x=0.5, y=0.5, width=float(WIDTH - 1),
                height=float(height - 1), rx=8),
        element("text", title, class_="title", x=MARGIN, y=34)]
    for n, words in enumerate(subtitles):
        head.append(element("text", words, class_="small", x=MARGIN, y=56 + 18 * n))
    return "\n".join(head + body + ["</svg>"]) + "\n"


def tick_step(top, lines=8):
    """The distance between grid lines on an axis from 0 to top.  Chooses a
    round number that gives at most `lines` lines."""
    step = 0.001
    while True:
        for factor in (1, 2, 5):
            if top / (step * factor) <= lines:
                return step * factor
        step *= 10


def seconds(value):
    """Format a time with three digits, or in whole milliseconds."""
    return "%.1f s" % value if value >= 10 else (
        "%.2f s" % value if value >= 0.1 else "%.0f ms" % (value * 1000))


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
    subtitles = [line for words in subtitles for line in textwrap.wrap(words, LINE)]
    top = 70 + 18 * len(subtitles)
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
    return document(title, subtitles, bottom + 48, body)
