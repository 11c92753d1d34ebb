"""The site made of these pages by Sphinx; 'script/docs --site' builds it."""

import pathlib
import re

from docutils import nodes

project = "oatgp"
extensions = ["myst_parser"]
exclude_patterns = ["requirements.txt"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "oatgp"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["report.html"]

WIDE = 46  # a drawing as wide as that many of its smallest letters would have letters of 7 pixels on a phone


def mark_wide_drawings(app, doctree):
    """Gives a class to the drawings that site.css lets scroll on a phone."""
    for image in doctree.findall(nodes.image):
        path = pathlib.Path(app.srcdir, image["uri"])
        if path.suffix == ".svg":
            text = path.read_text(encoding="utf-8")
            width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1])
            letters = min(float(size) for size in re.findall(r"font(?:-size)?:([\d.]+)px", text))
            if width > WIDE * letters:
                image["classes"].append("wide")


def setup(app):
    app.connect("doctree-read", mark_wide_drawings)
