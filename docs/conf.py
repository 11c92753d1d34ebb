"""The site made of these pages by Sphinx; 'script/docs --site' builds it."""

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
