"""Writes advances.def, the widths of characters that figures are laid out with.

usage: advances.py FOLDER... >advances.def
FOLDER: where the fonts of Debian's packages fonts-dejavu-core, fonts-liberation, fonts-roboto-unhinted and fonts-noto-core are, say
/usr/share/fonts/truetype. Needs fontTools (python3-fonttools).

A width is the largest advance that the character has in any of the families, in thousandths of the font's size, so that a text is at
most as wide as the sum of its characters, whichever of these fonts the reader has (Arial has the advances of Liberation Sans). Letters of
the usual alphabets are taken one by one; elsewhere 64 neighbours have one width, rounded up to a tenth. Of a character that none of
the families has, Noto's font for its script tells the width; what that lacks too is a square, an emoji a little more. From U+3000 on
(Chinese, Japanese, Korean, emoji) thousands of neighbours have one width, a square's at least.
"""
import pathlib
import sys

from fontTools.ttLib import TTFont

FAMILIES = ("DejaVuSans", "LiberationSans", "Roboto", "NotoSans")
SCRIPTS = ("NotoSans?*",)
SINGLE = ((0x20, 0x180), (0x386, 0x3d0), (0x400, 0x460), (0x2010, 0x2030), (0x2212, 0x2213))
LAST = 0x10ffff
EAST = 0x3000
SQUARE, EMOJI = 1000, 1400


def files(families, folders, weight):
    for family in families:
        names = [family + "-" + weight + ".ttf"] + ([family + ".ttf"] if weight == "Regular" else [])
        found = [path for folder in folders for name in names for path in sorted(pathlib.Path(folder).rglob(name))]
        if not found:
            sys.exit("advances.py: no %s %s in %s; install its package or name its folder" % (family, weight, " ".join(folders)))
        yield from found


def advances(families, folders, weight):
    widths = {}
    for path in files(families, folders, weight):
        font = TTFont(path, lazy=True)
        unit, metrics = font["head"].unitsPerEm, font["hmtx"]
        for c, glyph in font.getBestCmap().items():
            widths[c] = max(widths.get(c, 0), -(-1000 * metrics[glyph][0] // unit))
    return widths


def table_of(folders, weight):
    scripts = {c: width for c, width in advances(SCRIPTS, folders, weight).items() if c < EAST}
    return scripts | advances(FAMILIES, folders, weight)


def missing(c):
    return EMOJI if 0x1f000 <= c < 0x20000 else SQUARE


def blocks():
    c = 0x20
    while c <= LAST:
        single = any(first <= c < end for first, end in SINGLE)
        size = 1 if single else 64 if c < EAST else 4096
        end = (c // size + 1) * size
        end = min([end] + [first for first, _ in SINGLE if first > c])
        yield c, end - 1
        c = end


def width(table, first, last):
    known = [table[c] for c in range(first, last + 1) if c in table]
    if first == last:
        return known[0] if known else missing(first)
    known = [-(-max(known) // 100) * 100] if known else []
    return max(known + ([missing(first)] if first >= EAST or not known else []))


def rows(regular, bold):
    merged = []
    for first, last in blocks():
        plain = width(regular, first, last)
        row = [first, last, plain, max(plain, width(bold, first, last))]
        if merged and merged[-1][2:] == row[2:]:
            merged[-1][1] = last
        else:
            merged.append(row)
    return merged


def main(folders):
    print("/* Made by advances.py: the widest advance of each character in DejaVu Sans, Liberation Sans, Roboto and Noto Sans.")
    print(" * OAT_ADVANCE(first character, last character, width in thousandths of the size, width in bold) */")
    line = ""
    for row in rows(table_of(folders, "Regular"), table_of(folders, "Bold")):
        item = "OAT_ADVANCE(0x%x, 0x%x, %d, %d)" % tuple(row)
        if line and len(line) + 1 + len(item) > 120:
            print(line)
            line = ""
        line += (" " if line else "") + item
    print(line)


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1:])
