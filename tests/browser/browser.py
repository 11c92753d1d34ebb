"""Looks at reports in chromium: in two fonts, at three widths, light and dark, in print and without scripts; hovers and sorts. Looks at
drawings in both fonts, too.

usage: browser.py FOLDER [SHOTS]   FOLDER has NAME.html and NAME.csv, and drawings NAME.svg; SHOTS gets a screenshot of each view.
OATGP_FONTS: other families in place of the two, with commas between them. Ends with 77 if nothing failed but a family is not installed.
"""
import csv
import glob
import json
import os
import re
import sys

from chromium import WIDTHS, check, contrast, failures, luminance, shoot, start, view

# one that is as wide as Arial, and one of the widest
FONTS = os.environ.get("OATGP_FONTS", "Liberation Sans,DejaVu Sans").split(",")
ADVANCES = os.path.join(os.path.dirname(__file__), "..", "..", "src", "plot", "advances.def")
TARGETS = {"mcycle": "accel", "boston": "medv", "map": "yield <t/ha>"}
# reports of which only the layout is looked at: odd data, classes and counts
ODD = ("many", "two", "classes", "counts")


def load(driver, url, font):
    """Opens a page or a drawing as it looks where this is the only font."""
    driver.get(url)
    driver.execute_script("""
      var root = document.documentElement, style = document.createElementNS(root.namespaceURI, "style");
      style.textContent = ':not(code):not(pre) { font-family: "' + arguments[0] + '" !important; }';
      root.appendChild(style);""", font)


def installed(driver, font):
    """Asks for the font that chromium takes for the letters of a text in this family."""
    driver.get("data:text/html,<p style='font-family: \"%s\"'>abc</p>" % font.replace(" ", "%20"))
    driver.execute_script("return document.querySelector('p').offsetWidth;")  # now it is laid out
    driver.execute_cdp_cmd("DOM.enable", {})
    driver.execute_cdp_cmd("CSS.enable", {})
    root = driver.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
    node = driver.execute_cdp_cmd("DOM.querySelector", {"nodeId": root, "selector": "p"})["nodeId"]
    used = driver.execute_cdp_cmd("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    driver.execute_cdp_cmd("CSS.disable", {})
    driver.execute_cdp_cmd("DOM.disable", {})
    return [entry["familyName"] for entry in used] == [font]


# ---- what is where: one question to the page, answered with numbers -----------------------------------------------------

BOXES = """
function box(e) { var r = e.getBoundingClientRect(); return [r.left, r.top + scrollY, r.right, r.bottom + scrollY]; }
function colour(e, property) { return getComputedStyle(e)[property]; }
/* the corners on the page of a line of text, which may be turned */
function corners(t) {
  var b = t.getBBox(), m = t.getScreenCTM();
  return [[b.x, b.y], [b.x + b.width, b.y], [b.x + b.width, b.y + b.height], [b.x, b.y + b.height]].map(function (p) {
    var at = new DOMPoint(p[0], p[1]).matrixTransform(m);
    return [at.x, at.y + scrollY];
  });
}
function texts(svg) {
  return Array.from(svg.querySelectorAll("text")).map(function (t) {
    var title = t.querySelector("title"), all = title ? title.textContent : null;
    return {text: all ? t.textContent.slice(0, -all.length) : t.textContent, all: all, corners: corners(t), length: t.getComputedTextLength(),
            units: parseFloat(colour(t, "fontSize")), size: parseFloat(colour(t, "fontSize")) * svg.getScreenCTM().a,
            bold: +colour(t, "fontWeight") > 500, fill: colour(t, "fill")};
  });
}
"""

LAYOUT = BOXES + """
return {
  wide: document.documentElement.scrollWidth,
  inner: innerWidth,
  blocks: Array.from(document.querySelectorAll("h1, h2, header > p, .key, nav, main > p, figure, .wide, pre")).filter(
    function (e) { return e.getClientRects().length > 0; }).map(box),
  figures: Array.from(document.querySelectorAll("figure")).map(function (f) {
    var svg = f.querySelector("svg");
    return {
      title: f.querySelector("h3").textContent,
      box: box(f),
      svg: box(svg),
      caption: box(f.querySelector("figcaption")),
      marks: svg.querySelectorAll("path").length,
      named: !!svg.querySelector("title").textContent && !!svg.querySelector("desc").textContent,
      texts: texts(svg)
    };
  }),
  body: [colour(document.body, "color"), colour(document.body, "backgroundColor")],
  caption: [colour(document.querySelector("figcaption"), "color"), colour(document.querySelector("figure"), "backgroundColor")],
  ground: colour(document.querySelector("svg .bg"), "fill"),
  rows: document.querySelectorAll("table.sortable tbody tr").length,
  buttons: document.querySelectorAll("table.sortable button").length
};
"""


DRAWING = BOXES + "var svg = document.documentElement; return {svg: box(svg), texts: texts(svg)};"


def read_advances():
    with open(ADVANCES, encoding="utf-8") as file:
        found = re.findall(r"OAT_ADVANCE\((\w+), (\w+), (\d+), (\d+)\)", file.read())
    return [(int(first, 16), int(last, 16), int(plain), int(bold)) for first, last, plain, bold in found]


def expected_width(text, units, bold, table=read_advances()):
    return sum(row[3 if bold else 2] for c in text for row in table if row[0] <= ord(c) <= row[1]) * units / 1000


def touch(a, b, slack=1.0):
    """Whether two convex shapes, each a list of corners, share more than a rim: there is no direction in which they are apart."""
    for shape in (a, b):
        for (x0, y0), (x1, y1) in zip(shape, shape[1:] + shape[:1]):
            size = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1
            spans = [[(x * (y0 - y1) + y * (x1 - x0)) / size for x, y in corners] for corners in (a, b)]
            if min(map(max, spans)) - max(map(min, spans)) <= slack:
                return False
    return True


def around(corners):
    xs, ys = zip(*corners)
    return [min(xs), min(ys), max(xs), max(ys)]


def overlap(a, b, slack=1.0):
    return min(a[2], b[2]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[1], b[1]) > slack


def inside(a, b, slack=1.5):
    return a[0] >= b[0] - slack and a[1] >= b[1] - slack and a[2] <= b[2] + slack and a[3] <= b[3] + slack


def check_texts(f, where):
    for i, t in enumerate(f["texts"]):
        check(inside(around(t["corners"]), f["svg"]), "%s: '%s' is cut off" % (where, t["text"]))
        check(t["length"] <= 1.01 * expected_width(t["text"], t["units"], t["bold"]) + 0.2,
              "%s: '%s' is %.1f wide, which is more than the table of advances says" % (where, t["text"], t["length"]))
        for other in f["texts"][:i]:
            check(not touch(t["corners"], other["corners"]), "%s: '%s' lies on '%s'" % (where, t["text"], other["text"]))


def check_figure(f, where):
    where = "%s, '%s'" % (where, f["title"])
    width, height = f["svg"][2] - f["svg"][0], f["svg"][3] - f["svg"][1]
    check(width >= 240 and height >= 150, "%s is %.0f x %.0f pixels: too small to see" % (where, width, height))
    check(inside(f["svg"], f["box"]) and inside(f["caption"], f["box"]), "%s leaves its frame" % where)
    check(not overlap(f["svg"], f["caption"]), "%s lies on its caption" % where)
    check(f["marks"] >= 4 and f["named"], "%s has no marks, or no title and description" % where)
    for t in f["texts"]:
        check(t["size"] >= 8, "%s: '%s' is written with %.1f pixels" % (where, t["text"], t["size"]))
    check_texts(f, where)


def check_layout(page, where):
    check(page["wide"] <= page["inner"], "%s scrolls sideways: %d pixels" % (where, page["wide"]))
    check(len(page["figures"]) >= 6, "%s has %d figures" % (where, len(page["figures"])))
    for i, a in enumerate(page["blocks"]):
        for b in page["blocks"][:i]:
            check(not overlap(a, b), "%s: two parts overlap, at %s and %s" % (where, a, b))
    for f in page["figures"]:
        check_figure(f, where)


def check_colours(page, scheme, where):
    dark = luminance(page["body"][1]) < 0.1
    check(dark == (scheme == "dark"), "%s has the background %s" % (where, page["body"][1]))
    for pair in (page["body"], page["caption"], (page["figures"][0]["texts"][0]["fill"], page["ground"])):
        check(contrast(*pair) >= 4.5, "%s: %s on %s is hard to read" % (where, pair[0], pair[1]))


# ---- what is done with it ------------------------------------------------------------------------------------------------

# The places on the screen of a numbered point, and what its panel is about.
POINT = """
var path = document.querySelector(arguments[0] + " [data-numbers]"), svg = path.ownerSVGElement;
svg.scrollIntoView({block: "center"});
var number = path.dataset.numbers.split(" ")[arguments[1]];
var place = path.getAttribute("d").split("M")[arguments[1] + 1].match(/^(-?[\\d.]+) (-?[\\d.]+)/);
var at = new DOMPoint(+place[1], +place[2]).matrixTransform(svg.getScreenCTM());
return {number: +number, x: at.x, y: at.y};
"""


def tip(driver):
    return driver.execute_script("var t = document.getElementById('tip'); return t && !t.hidden ? t.textContent : null;")


def move(driver, x, y):
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})


def check_hover(driver, name, folder):
    with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure = next(i for i, f in enumerate(driver.execute_script(LAYOUT)["figures"]) if f["title"] == "Observed against predicted") + 1
    for which in (0, 5):
        point = driver.execute_script(POINT, "#figure%d" % figure, which)
        move(driver, point["x"], point["y"])
        text = tip(driver)
        check(text is not None and text.startswith("row "), "%s: no value at a point, but %r" % (name, text))
        if not text:
            continue
        # a neighbour may lie on it: whichever row is told, its value must be the one in the data
        told = dict(line.split(": ", 1) for line in text.split("\n")[1:])
        row = int(text.split("\n")[0][4:])
        observed = [float(r[TARGETS[name]]) for r in rows]
        spread = max(observed) - min(observed)
        check(abs(float(told[TARGETS[name]]) - observed[row - 1]) <= 0.0005 * spread,
              "%s: row %d is told as %s and is %g" % (name, row, told, observed[row - 1]))
    move(driver, 2, 2)
    check(tip(driver) is None, "%s: the value stays when the pointer has left" % name)


def column(driver, index):
    script = "var c = arguments[0]; return Array.from(document.querySelectorAll('table.sortable tbody tr')).map(" \
             "function (r) { return +r.cells[c].dataset.value; });"
    return driver.execute_script(script, index)


def check_sort(driver, name):
    before = column(driver, 5)
    check(before == sorted(before, reverse=True), "%s: the worst rows do not come first" % name)
    button = driver.find_elements("css selector", "table.sortable th button")[1]
    button.click()
    first = column(driver, 1)
    head = driver.find_elements("css selector", "table.sortable th")[1]
    check(first == sorted(first, reverse=True) and head.get_attribute("aria-sort") == "descending", "%s: a click does not sort" % name)
    button.send_keys("\n")  # the same by keyboard
    second = column(driver, 1)
    check(second == sorted(second) and second != first and head.get_attribute("aria-sort") == "ascending",
          "%s: the key does not turn the order" % name)


def check_logs(driver, name, url):
    for entry in driver.get_log("browser"):
        check(False, "%s: the console says %s" % (name, entry["message"]))
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            wanted = message["params"]["request"]["url"]
            check(wanted.split("#")[0] == url or wanted.startswith("data:"), "%s asks for %s" % (name, wanted))


def look_at(driver, name, folder, shots):
    """All of a report."""
    font = FONTS[0]
    url = "file://" + os.path.join(folder, name + ".html")
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            where = "%s at %d pixels, %s, in %s" % (name, width, scheme, font)
            view(driver, width, scheme)
            load(driver, url, font)
            page = driver.execute_script(LAYOUT)
            check_layout(page, where)
            check_colours(page, scheme, where)
            shoot(driver, shots, "%s-%d-%s" % (name, width, scheme))
        check_hover(driver, name, folder)
        check_sort(driver, name)
    view(driver, 690, "dark", "print")  # the width of a sheet of A4 less its margins
    page = driver.execute_script(LAYOUT)
    check(luminance(page["figures"][0]["texts"][0]["fill"]) < 0.1 and luminance(page["ground"]) > 0.9, "%s is printed dark" % name)
    check_layout(page, name + " in print")
    view(driver, 800)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    load(driver, url, font)
    page = driver.execute_script(LAYOUT)  # the page's own scripts are off, not those of the driver
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    check(page["buttons"] == 0 and page["rows"] > 0, "%s without scripts: %d rows, %d buttons" % (name, page["rows"], page["buttons"]))
    check_layout(page, name + " without scripts")
    check_logs(driver, name, url)


def look_again(driver, name, folder, shots, font):
    """Where the things of a report are."""
    for width, media in [(width, "") for width in WIDTHS] + [(690, "print")]:
        view(driver, width, "light", media)
        load(driver, "file://" + os.path.join(folder, name + ".html"), font)
        check_layout(driver.execute_script(LAYOUT), "%s at %d pixels%s, in %s" % (name, width, media and ", " + media, font))
        shoot(driver, shots, "%s-%d-%s%s" % (name, width, font.replace(" ", ""), media and "-" + media))


def look_at_drawing(driver, path, shots, font):
    name = os.path.splitext(os.path.basename(path))[0]
    view(driver, 1400)
    load(driver, "file://" + path, font)
    drawing = driver.execute_script(DRAWING)
    check(len(drawing["texts"]) >= 2, "%s has %d texts" % (name, len(drawing["texts"])))
    check_texts(drawing, "%s in %s" % (name, font))
    shoot(driver, shots, "%s-%s" % (name, font.replace(" ", "")))


def look_at_all(driver, folder, shots):
    drawings = sorted(glob.glob(os.path.join(folder, "*.svg")))
    check(drawings, "there are no drawings in %s" % folder)
    for name in TARGETS:
        look_at(driver, name, folder, shots)
    missing = [font for font in FONTS if not installed(driver, font)]
    for font in FONTS:
        if font in missing:
            continue
        for name in ODD + (tuple(TARGETS) if font != FONTS[0] else ()):
            look_again(driver, name, folder, shots, font)
        for path in drawings:
            look_at_drawing(driver, path, shots, font)
    return missing


def main():
    folder, shots = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    driver = start()
    try:
        missing = look_at_all(driver, folder, shots)
    finally:
        driver.quit()
    print("%d failures" % len(failures))
    for font in missing:
        print("skipped: nothing was looked at in %s, which is not installed (script/bootstrap --test does that)" % font)
    return 1 if failures else 77 if missing else 0


sys.exit(main())
