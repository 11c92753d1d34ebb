"""Horizontal bars as SVG, with text as text, in colours for light and dark pages."""

import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 440, 150, 92
BAR, GAP, GROUP_GAP, HEAD = 14, 4, 14, 60
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
ROOM = 24  # between the numbers of two ticks
STYLE = """<style>
#chart text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1b1b1b}
#chart .title{font-size:13px;font-weight:bold}
#chart .group{font-weight:bold}
#chart .tick,#chart .under{fill:#555555}
#chart .bg{fill:#ffffff}
#chart .grid{stroke:#e4e4e4}
#chart .base{stroke:#8c8c8c}
#chart .ours{fill:#0072b2}
#chart .theirs{fill:#b9b9b9}
@media screen and (prefers-color-scheme:dark){
#chart text{fill:#e8e8e8}
#chart .tick,#chart .under{fill:#b4b8be}
#chart .bg{fill:#15171b}
#chart .grid{stroke:#32363d}
#chart .base{stroke:#767c86}
#chart .ours{fill:#3d97e6}
#chart .theirs{fill:#5d636c}
}
</style>"""


@dataclasses.dataclass(frozen=True)
class Bar:
    label: str
    value: float | None  # None: only the words
    words: str


@dataclasses.dataclass(frozen=True)
class Panel:
    """Groups are (name, bars); a name may be empty. Bars begin at 1 on a logarithmic scale, or at 0 on a linear one."""

    title: str
    under: str
    groups: list
    logarithmic: bool = True


def draw(name, panels):
    """One picture, each panel with its own scale. The name is for those who cannot see it."""
    parts, y = [], 8
    for panel in panels:
        if any(bars for _, bars in panel.groups):
            drawn, y = _panel(panel, y)
            parts += drawn
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" id="chart" role="img" aria-labelledby="chart-title" {size}>'
    title = f'<title id="chart-title">{escape(name)}</title>'
    return "\n".join([head, title, STYLE, f'<rect class="bg" width="{WIDTH}" height="{y}"/>', *parts, "</svg>", ""])


def _panel(panel, top):
    values = [bar.value for _, bars in panel.groups for bar in bars if bar.value is not None]
    place = _logarithmic(values) if panel.logarithmic else _linear(values)
    base = place(1 if panel.logarithmic else 0)
    ticks = _ticks(values, place) if panel.logarithmic else {}
    parts = [_text(8, top + 14, panel.title, "start", "title"), _text(8, top + 30, panel.under, "start", "under")]
    parts += [_text(x, top + HEAD - 10, f"{tick:g}", "middle", "tick") for tick, x in ticks.items()]
    y = top + (HEAD if ticks else HEAD - 14)
    for name, bars in panel.groups:
        if bars:
            if name:
                parts.append(_text(8, y + BAR - 3, name, "start", "group"))
                y += BAR + GAP
            end = y + len(bars) * (BAR + GAP)
            parts += _grid(ticks, y - GAP / 2, end - GAP / 2)
            parts += [part for i, bar in enumerate(bars) for part in _bar(bar, y + i * (BAR + GAP), place, base)]
            y = end + GROUP_GAP - GAP
    return parts, y + 10


def _logarithmic(values):
    low, high = math.log(0.9 * min(values + [0.9])), math.log(1.05 * max(values + [1.1]))
    return lambda value: LEFT + (math.log(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _linear(values):
    return lambda value: LEFT + value / max(values) * (WIDTH - LEFT - RIGHT)


def _ticks(values, place):
    """Powers of ten first, then the others that have room for their number."""
    kept = {}
    for tick in sorted(TICKS, key=lambda tick: (math.log10(tick) % 1 > 0, tick)):
        if min(values + [1]) <= tick <= max(values + [1]) and all(abs(place(tick) - x) >= ROOM for x in kept.values()):
            kept[tick] = place(tick)
    return kept


def _grid(ticks, top, bottom):
    kinds = {tick: "base" if tick == 1 else "grid" for tick in ticks}
    return [f'<line class="{kinds[tick]}" x1="{x:.1f}" y1="{top:g}" x2="{x:.1f}" y2="{bottom:g}"/>' for tick, x in ticks.items()]


def _bar(bar, y, place, base):
    label = _text(LEFT - 6, y + BAR - 3, bar.label, "end")
    if bar.value is None:
        return [label, _text(base + 5, y + BAR - 3, bar.words, "start", "under")]
    x = place(bar.value)
    kind = "ours" if bar.label.startswith("oatgp") else "theirs"
    drawn = f'<rect class="{kind}" x="{min(x, base):.1f}" y="{y}" width="{max(abs(x - base), 2):.1f}" height="{BAR}"/>'
    return [label, drawn, _text(max(x, base) + 5, y + BAR - 3, bar.words, "start")]


def _text(x, y, text, anchor, kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
