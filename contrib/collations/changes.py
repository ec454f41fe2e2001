"""How two orders of the same characters differ.

An order is a list of code points.  The characters that changed their place are
the fewest characters that, taken out of both orders, leave the same order: all
characters except a longest increasing subsequence.
"""

import bisect
import functools

EXAMPLES = 3
CANDIDATES = 500        # characters that may be in examples


def pack(order):
    """An order as a string: ranges of code points in hexadecimal."""
    ranges = []
    for code in order:
        if ranges and ranges[-1][1] + 1 == code:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ",".join(f"{first:X}" if first == last else f"{first:X}-{last:X}"
                    for first, last in ranges)


def unpack(packed):
    """The order that pack() made a string of."""
    order = []
    for part in packed.split(","):
        first, _, last = part.partition("-")
        order.extend(range(int(first, 16), int(last or first, 16) + 1))
    return order


def longest_increasing(numbers):
    """The places of a longest increasing subsequence of different numbers."""
    ends = []           # least last number of a subsequence, by length
    places = []         # place of this number
    previous = []       # place of the number before, by place
    for place, number in enumerate(numbers):
        length = bisect.bisect_left(ends, number)
        previous.append(places[length - 1] if length > 0 else -1)
        ends[length:length + 1] = [number]
        places[length:length + 1] = [place]
    result = []
    place = places[-1] if places else -1
    while place >= 0:
        result.append(place)
        place = previous[place]
    return result[::-1]


def rarity(code):
    """A sort key: first the characters that readers know best."""
    char = chr(code)
    return (not char.isalnum(), not char.isascii(), char.isdigit(), char != char.lower(), code)


class Change:
    """The difference between two orders."""

    def __init__(self, before, after):
        ranks = {code: rank for rank, code in enumerate(after)}
        if len(before) != len(after) or set(before) != ranks.keys():
            raise ValueError("the orders have different characters")
        self.before = {code: rank for rank, code in enumerate(before)}
        self.after = ranks
        kept = longest_increasing([ranks[code] for code in before])
        self.moved = sorted(set(before).difference(before[place] for place in kept), key=rarity)
        self.count = len(self.moved)

    @functools.cached_property
    def known_best(self):
        """All characters; first those that readers know best."""
        return sorted(self.before, key=rarity)

    def partner(self, code):
        """A character whose order relative to "code" changed."""
        before, after = self.before[code], self.after[code]
        return next(other for other in self.known_best
                    if (self.before[other] < before) != (self.after[other] < after))

    def pairs(self):
        """A few pairs of characters, in the order before."""
        candidates = [sorted((code, self.partner(code)), key=rarity) for code in self.moved[:CANDIDATES]]
        used = set()
        found = []
        for pair in sorted(candidates, key=lambda pair: rarity(pair[1])):
            names = {chr(code).lower() for code in pair}
            if not names & used and len(found) < EXAMPLES:
                used |= names
                found.append(sorted(pair, key=self.before.__getitem__))
        return found

    def examples(self):
        """The pairs, for readers."""
        return [f"{show(first)} < {show(second)}" for first, second in self.pairs()]


def show(code):
    """A letter or digit, or the number of another character."""
    return chr(code) if chr(code).isalnum() else f"U+{code:04X}"
