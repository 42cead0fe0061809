"""Settings of Sphinx for the documentation site, which make.py builds."""

from tilewright import __version__

project = "Tilewright"
author = "Tilewright's developers"
release = version = __version__
extensions = ["myst_parser"]
exclude_patterns = ["reference/language/*"]
myst_heading_anchors = 3
html_theme = "furo"
html_show_copyright = False
html_title = f"Tilewright {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
pygments_dark_style = "monokai"
