"""`smpmake report --html`: one page, complete in itself, made from the document (document.py).

No library draws it: a page that is kept beside a build's logs must be small, work without a network
and for years, and bring no code of others into a place where source code is read.  What is in
page/ is all there is.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from string import Template
from typing import Final

from smpmake.reports import sections, tables
from smpmake.reports.document import Document
from smpmake.reports.markup import join, text
from smpmake.reports.pack import pack, script_safe

#: In the order in which they need each other.
_SCRIPTS: Final = (
    "data.js",
    "timeline_layout.js",
    "timeline_drawing.js",
    "timeline_controls.js",
    "details.js",
    "table.js",
    "page.js",
)


def html(document: Document, earlier: list[Document]) -> str:
    """The page.  `earlier`: id, started_unix, wall, status and speedup of builds like this one."""
    script = _script()
    parts = [
        sections.failures(document),
        sections.figures(document),
        sections.findings(document),
    ]
    after = [
        tables.commands(document),
        tables.groups(document),
        tables.headers(document),
        sections.path(document),
        tables.stalls(document),
        tables.builds(document, earlier),
    ]
    return Template(_source("page.html")).substitute(
        title=text(sections.title(document)),
        # Of scripts ours alone may run, known by its hash: nothing that a project smuggled in.
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=_source("page.css"),
        head=sections.head(document),
        before=join(parts),
        split=sections.split(document),
        what_if=sections.what_if(document),
        after=join(after),
        foot=sections.foot(document),
        data=script_safe(pack(document)),
        script=script,
    )


def _script() -> str:
    body = "\n".join(_source(name) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def _source(name: str) -> str:
    return resources.files("smpmake.reports").joinpath("page", name).read_text(encoding="utf-8")
