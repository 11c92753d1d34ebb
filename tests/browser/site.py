"""Looks at the site in chromium: every page at three widths, every drawing in light and dark, the switch of the scheme, the search.

usage: site.py SITE [SHOTS]   SITE is the folder of the site; SHOTS gets a screenshot of each page at each width, in light and dark.
"""
import glob
import os
import sys
import time

from chromium import WIDTHS, check, contrast, failures, luminance, shoot, start, view

# what a reader may look for, and the page that must be found
SEARCHES = {"neighbours": "neighbours.html", "certify": "options.html", "poisson": "likelihoods.html", "gallery": "gallery.html"}
SMALLEST = 7  # pixels of a text in a drawing, on any screen; thumbnails may have less
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 20, 22)"}  # behind a drawing that has no ground of its own

PAGE = """
var content = document.querySelector(".content");
return {
  wide: Math.max(document.documentElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth),
  out: Array.from(content.querySelectorAll("*")).filter(function (e) {
    return e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table-wrapper, pre, p:has(> img.wide)");
  }).map(function (e) { return e.tagName + " " + e.textContent.slice(0, 40); }).slice(0, 3),
  drawings: Array.from(content.querySelectorAll("img")).map(function (i) {
    return {file: decodeURI(i.src), width: i.getBoundingClientRect().width, there: i.naturalWidth > 0, thumbnail: i.closest("a") !== null};
  })
};
"""

DRAWING = """
var svg = document.documentElement, ground = svg.querySelector("rect.bg");
return {
  width: svg.viewBox.baseVal.width,
  ground: ground ? getComputedStyle(ground).fill : null,
  texts: Array.from(svg.querySelectorAll("text")).map(function (t) {
    return {text: t.textContent, size: parseFloat(getComputedStyle(t).fontSize), fill: getComputedStyle(t).fill};
  })
};
"""

PIXEL = """
var told = arguments[arguments.length - 1], image = new Image();
image.onload = function () {
  var canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  told("rgb(" + Array.from(pen.getImageData(0, 0, 1, 1).data).slice(0, 3) + ")");
};
image.src = "data:image/png;base64," + arguments[0];
"""


def look_at_drawings(driver, files):
    """Texts must be legible on either ground. Returns the smallest text of each drawing, as a share of its width."""
    smallest = {}
    for file in files:
        for scheme in ("light", "dark"):
            view(driver, 1400, scheme)
            driver.get(file)
            drawing = driver.execute_script(DRAWING)
            check(drawing["texts"], "%s has no text" % file)
            for t in drawing["texts"]:
                ground = drawing["ground"] or PAPER[scheme]
                check(contrast(t["fill"], ground) >= 4.5, "%s, %s: '%s' is %s on %s" % (file, scheme, t["text"], t["fill"], ground))
        smallest[file] = min((t["size"] for t in drawing["texts"]), default=99) / drawing["width"]
    return smallest


def look_at_page(driver, url, width, where):
    view(driver, width)
    driver.get(url)
    page = driver.execute_script(PAGE)
    check(page["wide"] <= 0 and not page["out"], "%s leaves the screen by %d pixels: %s" % (where, page["wide"], page["out"]))
    for drawing in page["drawings"]:
        check(drawing["there"], "%s does not show %s" % (where, drawing["file"]))
    return page["drawings"]


def look_at_pages(driver, site, shots):
    seen = []
    for path in sorted(glob.glob(os.path.join(site, "*.html")) + glob.glob(os.path.join(site, "notes", "*.html"))):
        name = os.path.splitext(os.path.relpath(path, site))[0]
        if name in ("search", "genindex", "report"):
            continue
        for width in WIDTHS:
            where = "%s at %d pixels" % (name, width)
            seen += [(where, drawing) for drawing in look_at_page(driver, "file://" + path, width, where)]
            for scheme in ("light", "dark") if shots else ():
                view(driver, width, scheme)
                shoot(driver, shots, "%s-%d-%s" % (name.replace("/", "-"), width, scheme))
    smallest = look_at_drawings(driver, sorted({drawing["file"] for _, drawing in seen}))
    for where, drawing in seen:
        size = smallest[drawing["file"]] * drawing["width"]
        check(size >= SMALLEST or drawing["thumbnail"], "%s: a text of %s has %.1f pixels" % (where, drawing["file"], size))


def ground_of_first_drawing(driver):
    """The colour of a corner of the first drawing of the page, as it is on the screen."""
    box = driver.execute_script("var b = document.querySelector('article img').getBoundingClientRect(); return [b.left, b.top + scrollY];")
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {
        "captureBeyondViewport": True, "clip": {"x": box[0] + 4, "y": box[1] + 4, "width": 2, "height": 2, "scale": 1}})
    return driver.execute_async_script(PIXEL, shot["data"])


def look_at_switch(driver, site):
    """A reader's own choice of the scheme holds for the drawings, too."""
    for system, chosen in (("light", "dark"), ("dark", "light")):
        view(driver, 800, system)
        driver.get("file://" + os.path.join(site, "index.html"))
        driver.execute_script("document.body.dataset.theme = arguments[0];", chosen)
        for _ in range(50):  # it takes the browser a moment
            time.sleep(0.2)
            colour = ground_of_first_drawing(driver)
            if (luminance(colour) < 0.1) == (chosen == "dark"):
                break
        else:
            check(False, "a %s page on a %s system shows drawings on %s" % (chosen, system, colour))


def look_for(driver, site, word, page, rounds):
    """The addresses that the search finds, as a reader uses it: until the page is among them, in at most so many rounds."""
    driver.get("file://" + os.path.join(site, "index.html"))
    field = driver.find_element("css selector", ".sidebar-search")
    field.send_keys(word + "\n")
    for _ in range(rounds):  # they come one by one
        time.sleep(0.3)
        found = driver.execute_script("return Array.from(document.querySelectorAll('ul.search li a')).map(function (a) { return a.href; });")
        if any("/" + page in address for address in found):
            break
    return found


def look_at_search(driver, site):
    view(driver, 1400)
    for word, page in SEARCHES.items():
        found = look_for(driver, site, word, page, 200)
        check(any("/" + page in address for address in found), "the search for '%s' does not find %s but %s" % (word, page, found[:5]))
    check(not look_for(driver, site, "xyzzyx", "", 20), "the search finds what is on no page")


def main():
    site, shots = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    driver = start()
    try:
        look_at_pages(driver, site, shots)
        look_at_switch(driver, site)
        look_at_search(driver, site)
    finally:
        driver.quit()
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
