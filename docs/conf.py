"""Settings of the documentation site: ``python tools/docs.py build`` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

import usp

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "usp"
author = "the authors of usp"
copyright = author  # noqa: A001 - the name that Sphinx reads
version = release = usp.__version__

extensions = [
    "llms",
    "myst_parser",
    "repository",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["examples", "_*"]
smartquotes = False  # patterns and options are there to be copied
nitpicky = True
# Names of the standard library and of other packages, whose inventories are elsewhere; internal ones.
nitpick_ignore_regex = [
    ("py:.*", r"(?!usp\b).*"),
    ("py:.*", r"usp\._.*|.*\.(PageFields|CheckKeywords|Summary|Part|Signal)"),
    ("py:.*", r"usp\.fetch_parse\.(ImageEntry|UrlPage|FeedPage)"),
]

myst_enable_extensions = ["colon_fence", "deflist", "html_image"]
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"usp {version}"
html_static_path = ["_static"]
html_css_files = ["usp.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"source_edit_link": "", "top_of_page_buttons": []}
