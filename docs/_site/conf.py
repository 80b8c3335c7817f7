"""Sphinx's settings. Why these tools: docs/decisions/0008-documentation-site.md."""

from sfumato._version import __version__

project = "Sfumato"
author = project_copyright = "The Sfumato maintainers"
release = __version__
extensions = ["myst_parser"]

myst_heading_anchors = 4  # links to headings, named as code hosts name them

html_theme = "furo"
html_title = f"Sfumato {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["../../build/site-pages"]  # whole pages, which are copied as they are
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which browsers refuse when the site is opened from a folder
html_last_updated_fmt = ""
