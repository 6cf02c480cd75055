"""What the site has beside the pages of docs/: navigation, project files, notebooks, commands.

`mkdocs.yml` names this file. The navigation is the tables of docs/README.md. Project files and
notebooks become pages; a link to a file that the site lacks becomes the name of that file.
"""

import json
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

from autoeval.command_table import GROUPS
from autoeval.commands.command_line import help_of

ROOT = Path(__file__).parents[1]
INDEX = "docs/README.md"
PROJECT = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "meta_sets/README.md": "reference/meta-sets.md",
}
NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): f"getting-started/{path.stem}.md"
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
}
ADDED = {**PROJECT, **NOTEBOOKS}
COMMANDS_HERE = "<!-- the commands, from their parsers -->"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|!?\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)]*)?\)")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_config(config):
    """Take the navigation from the index."""
    config.nav = [{"Home": "README.md"}]
    for title, text in re.findall(r"^## (.+)\n((?:.|\n(?!## ))*)", index(), re.MULTILINE):
        links = re.findall(r"^\| \[([^\]]*)\]\(([^)]+)\)", text, re.MULTILINE)
        pages = [{name: site_path(repository_path(INDEX, target))} for name, target in links]
        config.nav.append({title: pages})
    return config


def on_files(files, config):
    """Add project files and notebooks."""
    for path, page in ADDED.items():
        text = (ROOT / path).read_text("utf-8")
        content = markdown_of(json.loads(text)) if path in NOTEBOOKS else text
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lead links to pages of the site, and write the reference of commands."""
    if COMMANDS_HERE in markdown:  # on one page of them all
        markdown = markdown.replace(COMMANDS_HERE, commands())
    source = next((p for p, to in ADDED.items() if to == page.file.src_uri), None)
    own = source or f"docs/{page.file.src_uri}"

    def lead(link):
        image, text, target, anchor = link.groups()
        if re.match(r"[a-z]+:", target) or not target:
            return link[0]
        path = repository_path(own, target)
        there = site_path(path)
        if not (ROOT / path).exists():
            return link[0]  # a warning of the build
        if there is None or files.get_file_from_path(there) is None:
            code = f"`{path}`"
            return text if path in text else f"{text} ({code})"
        relative = posixpath.relpath(there, posixpath.dirname(page.file.src_uri) or ".")
        return f"{image}[{text}]({relative}{anchor or ''})"

    parts = FENCE.split(markdown)
    return "".join(part if k % 2 else LINK.sub(lead, part) for k, part in enumerate(parts))


def index():
    """Return the text of the index."""
    return (ROOT / INDEX).read_text("utf-8")


def repository_path(page, target):
    """Return where a link of a page leads, from the root of the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def site_path(path):
    """Return the page or file of the site for a file of the repository, or None."""
    return path.removeprefix("docs/") if path.startswith("docs/") else ADDED.get(path)


def markdown_of(notebook):
    """Write the cells of a notebook, with what they print, as a page."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        shown = "".join("".join(out.get("text", [])) for out in cell.get("outputs", []))
        parts += [f"```text\n{shown.rstrip()}\n```"] if shown else []
    return "\n\n".join(parts)


def commands():
    """Write the help of every command."""
    parts = []
    for title, group in GROUPS.items():
        parts.append(f"## {title.capitalize()}")
        for name, command in group.items():
            parts += [f"### autoeval {name}", f"```text\n{help_of(name, command)}\n```"]
    return "\n\n".join(parts)
