"""The picture of `make bench-scale`: the model's speedup, the parts of the
model's time, and the participants' waits on this machine."""

import math

from svg import MARGIN, WIDTH, document, element, top_of

LEFT = 60
KEY_WIDTH = 170
CURVE = 260
BARS = 170
GAP = 70

COLOURS = ("#1f6feb", "#bc4c00", "#8250df", "#1a7f37", "#bf8700", "#cf222e",
           "#0a7ea4", "#d63aa8", "#59636e", "#7d4e00", "#6e7781")
LIGHT = "\n".join([".line { fill: none; stroke: #1f6feb; stroke-width: 2.5 }",
                   ".ideal { fill: none; stroke: #59636e; stroke-dasharray: 4 4 }",
                   ".dot { fill: #bc4c00 }"]
                  + [".c%d { fill: %s }" % it for it in enumerate(COLOURS)])
DARK = ".line { stroke: #4493f8 }\n.dot { fill: #f0883e }\n.c8 { fill: #9198a1 }"


def column(index, count):
    """The x coordinate of a column, if there are `count` columns."""
    return LEFT + (WIDTH - LEFT - KEY_WIDTH - MARGIN) * (index + 0.5) / count


def curve(top, numbers, modelled, seen):
    """Draw the modelled and the measured speedups by number of participants,
    with logarithmic axes."""
    most = max(2, *numbers)

    def y(times):
        return float(top + CURVE * (1 - math.log2(max(times, 0.5)) / math.log2(most)))

    body, times = [], 1
    while times <= most:
        body.append(element("line", class_="grid", x1=LEFT, y1=y(times), y2=y(times),
                            x2=WIDTH - KEY_WIDTH - MARGIN))
        body.append(element("text", "%d\u00d7" % times, class_="small", x=LEFT - 8,
                            y=y(times) + 4, text_anchor="end"))
        times *= 2
    at = [column(i, len(numbers)) for i in range(len(numbers))]
    for class_, values in (("ideal", numbers), ("line", modelled)):
        body.append(element("polyline", class_=class_, points=" ".join(
            "%.1f,%.1f" % (x, y(value)) for x, value in zip(at, values))))
    for x, value in zip(at, modelled):
        body.append(element("text", "%.1f" % value, x=x, y=y(value) - 8,
                            text_anchor="middle"))
    for n, times in seen.items():
        body.append(element("circle", class_="dot", cx=at[numbers.index(n)],
                            cy=y(times), r=4))
    for row, words in enumerate(("dashed: ideal", "line: the model", "dots: measured")):
        body.append(element("text", words, class_="small",
                            x=WIDTH - KEY_WIDTH, y=top + 14 + 18 * row))
    return body


def bars(top, title, numbers, shares):
    """Draw one bar for each number of participants.  shares [{name: part}] has
    the parts of each bar.  Beside the bars, draw a legend of the names."""
    names = []
    for share in shares:
        names += [name for name in share if name not in names]
    body = [element("text", title, x=LEFT, y=top - 10)]
    width = 0.6 * (WIDTH - LEFT - KEY_WIDTH - MARGIN) / len(numbers)
    for i, (n, share) in enumerate(zip(numbers, shares)):
        y, all_of_it = float(top + BARS), sum(share.values()) or 1
        for name in names:
            height = BARS * share.get(name, 0) / all_of_it
            y -= height
            if height > 0:
                body.append(element("rect", class_="c%d" % (names.index(name) % len(COLOURS)),
                                    x=column(i, len(numbers)) - width / 2, y=y,
                                    width=width, height=height))
        body.append(element("text", str(n), class_="small", x=column(i, len(numbers)),
                            y=top + BARS + 16, text_anchor="middle"))
    for row, name in enumerate(names):
        y = top + 10 + 16 * row
        body.append(element("rect", class_="c%d" % (row % len(COLOURS)),
                            x=WIDTH - KEY_WIDTH, y=y - 9, width=10, height=10, rx=2))
        body.append(element("text", name, class_="small", x=WIDTH - KEY_WIDTH + 16, y=y))
    return body


def picture(subtitles, numbers, modelled, seen, times, waits):
    """Returns the SVG document.  numbers has the numbers of participants,
    modelled has the model's speedups, and seen has the measured speedups as
    {number: speedup}.  times has the parts of the model's time, and waits has
    the samples, both as [{name: part}]."""
    top = top_of(subtitles) + 14
    second = top + CURVE + GAP
    third = second + BARS + GAP
    body = curve(top, numbers, modelled, seen)
    body += bars(second, "the parts of the model's time", numbers, times)
    body += bars(third, "what the participants did, on the cores of this machine",
                 numbers, waits)
    body.append(element("text", "participants", class_="small", x=LEFT,
                        y=third + BARS + 34))
    return document("CREATE INDEX by up to %d participants" % max(numbers),
                    subtitles, third + BARS + 48, body, LIGHT, DARK)
