"""The common parts of the pictures: a panel with a title.  The panel is light
or dark, as the reader's system prefers, so that the picture is readable on any
background."""

import textwrap
from xml.sax.saxutils import escape

WIDTH = 820
MARGIN = 24

# Maximum number of characters in a line of a subtitle.  A line of this
# length fits between the margins in any likely font of 12 px, if an average
# letter is at most 7.2 px wide.
LINE = 105

STYLE = """
.panel { fill: #ffffff; stroke: #d0d7de }
text { fill: #1f2328; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif }
.title { font-size: 18px; font-weight: 600 }
.small { font-size: 12px; fill: #59636e }
.grid { stroke: #d0d7de; stroke-width: 1 }
.mark { stroke: #59636e; stroke-width: 1.5 }
%s
@media (prefers-color-scheme: dark) {
.panel { fill: #0d1117; stroke: #3d444d }
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.grid { stroke: #3d444d }
.mark { stroke: #9198a1 }
%s
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


def wrapped(subtitles):
    """Wrap the subtitles into lines."""
    return [line for words in subtitles for line in textwrap.wrap(words, LINE)]


def top_of(subtitles):
    """The y coordinate where the panel's contents begin, below the
    subtitles."""
    return 60 + 18 * len(wrapped(subtitles))


def document(title, subtitles, height, body, light, dark):
    """Make an SVG document with the title, the subtitles and the elements of
    body.  light and dark are additional style rules."""
    head = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
        'viewBox="0 0 %d %d" role="img">' % (WIDTH, height, WIDTH, height),
        element("title", title),
        "<style>%s</style>" % (STYLE % (light.strip(), dark.strip())),
        element("rect", class_="panel", x=0.5, y=0.5, width=float(WIDTH - 1),
                height=float(height - 1), rx=8),
        element("text", title, class_="title", x=MARGIN, y=34)]
    for n, words in enumerate(wrapped(subtitles)):
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
