"""Settings of Sphinx for the pages as a site; scripts/make_site lays the sources out."""
project = "hcasim"
author = "the authors of hcasim"
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = []
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # pages begin at any level; placeholders are no CMake
highlight_language = "none"
html_theme = "furo"
html_title = "hcasim"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_extra_path = ["extra"]  # the reference of the interfaces
