"""Horizontal bars on a logarithmic scale, as SVG with its text as text."""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 860, 205, 60
BAR, GAP, GROUP_GAP, HEAD = 13, 3, 12, 62
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
OURS, THEIRS = "#1b6ca8", "#b9b9b9"


def draw(panels):
    """panels: (title, [(group, {label: ratio, or a word in its place})]). One picture, each panel with its own scale."""
    parts, y = [], 10
    for title, groups in panels:
        groups = [(name, bars) for name, bars in groups if bars]
        if groups:
            drawn, y = _panel(title, groups, y)
            parts += drawn
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>', *parts, "</svg>", ""])


def _panel(title, groups, top):
    ratios = [ratio for _, bars in groups for ratio in bars.values() if not isinstance(ratio, str)]
    place = _scale(min(ratios + [0.9]), max(ratios + [1.1]))
    bars, y = [], top + HEAD
    for name, group in groups:
        drawn, y = _group(name, group, y, place)
        bars += drawn
    heading = _text(10, top + 18, title, "start", 'font-size="14" font-weight="bold"')
    return [heading, *_axis(place, top + HEAD - 8, y - GROUP_GAP, ratios), *bars], y + 14


def _scale(lowest, highest):
    low, high = math.log(lowest * 0.9), math.log(highest * 1.05)
    return lambda ratio: LEFT + (math.log(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _axis(place, top, bottom, ratios):
    parts = []
    for tick in (tick for tick in TICKS if min(ratios + [0.9]) <= tick <= max(ratios)):
        x = place(tick)
        colour = "#555555" if tick == 1 else "#e4e4e4"
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}"/>')
        parts.append(_text(x, top - 5, f"{tick:g}", "middle", 'fill="#555555"'))
    return parts


def _group(name, bars, y, place):
    parts = [_text(10, y + BAR - 3, name, "start", 'font-weight="bold"')]
    for label, ratio in bars.items():
        y += BAR + GAP
        parts.append(_text(LEFT - 6, y + BAR - 3, label, "end"))
        parts += _bar(label, ratio, y, place)
    return parts, y + BAR + GROUP_GAP


def _bar(label, ratio, y, place):
    one = place(1)
    if isinstance(ratio, str):
        return [_text(one + 5, y + BAR - 3, ratio, "start", 'fill="#a33333"')]
    x = place(ratio)
    colour = OURS if label.startswith("oatgp") else THEIRS
    bar = f'<rect x="{min(x, one):.1f}" y="{y}" width="{max(abs(x - one), 2):.1f}" height="{BAR}" fill="{colour}"/>'
    return [bar, _text(max(x, one) + 5, y + BAR - 3, f"{ratio:.3g}", "start")]


def _text(x, y, text, anchor, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'
