# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the site: the pages of the tree as they are, in the order of docs/README.md. docs/site/build.sh builds it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "docs/site/headers"

project = "weir"
copyright = "weir maintainers, Apache-2.0"
version = re.search(r"project\(weir VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
html_title = f"weir {version}"
extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/README.md"]
html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["wide.css"]
html_css_files = ["wide.css"]
highlight_language = "none"


def listed_in(index):
  """The pages that an index links to in its tables, in its order, from the root of the tree."""
  folder = index.parent
  pages = re.findall(r"^\| \[[^]]*\]\(([^)#]+)\.md\)", index.read_text(), re.MULTILINE)
  return [str((folder / page).relative_to(ROOT)) for page in pages]


def contents():
  start, guides, lab = (listed_in(ROOT / folder / "README.md") for folder in ("docs/start", "docs", "docs/lab"))
  parts = {
      "Start": start + ["examples/README"],
      "Guides": [page for page in guides if not page.endswith("/README")] + [HEADERS],
      "Measurements": ["docs/lab/README"] + lab,
      "Project": ["CONTRIBUTING", "CHANGELOG", "SECURITY"],
  }
  hidden = ["docs/README", "docs/start/README"]
  trees = [f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n" for caption, pages in parts.items()]
  return "\n\n" + "\n".join(trees) + f"```{{toctree}}\n:hidden:\n\n" + "\n".join(hidden) + "\n```\n"


def headers():
  """A table of the public headers: what each is for, and Doxygen's page of it."""
  rows = []
  for path in sorted((ROOT / "include").rglob("*.h")):
    name = str(path.relative_to(ROOT / "include"))
    if name.startswith("nccl_device"):
      continue
    first = re.search(r"^/// (.*?)(?:\n///\s*\n|\n[^/])", path.read_text(), re.MULTILINE | re.DOTALL)[1]
    sentence = re.split(r"(?<=\.)\s", first.replace("\n/// ", " "))[0]
    page = path.name.replace("_", "__").replace(".", "_8")
    rows.append(f'| <a href="../../api/{page}.html"><code>{name}</code></a> | {sentence} |')
  return "\n| header | what it is for |\n|---|---|\n" + "\n".join(rows) + "\n"


def complete(app, name, source):
  if name == root_doc:
    source[0] += contents()
  if name == HEADERS:
    source[0] += headers()


def folder_without_link(app, env, node, content):
  """Pages link to folders of the sources, which are no pages; links to files become downloads."""
  target = ROOT / pathlib.Path(node.get("refdoc", root_doc)).parent / node.get("reftarget", "")
  return content if target.is_dir() else None


def setup(app):
  app.connect("source-read", complete)
  app.connect("missing-reference", folder_without_link)
