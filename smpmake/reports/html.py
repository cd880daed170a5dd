"""`smpmake report --html`: one page, complete in itself, made from the document (document.py).

Jinja makes it of the templates in page/, and escapes whatever it inserts: what a report shows comes
from other people's projects, and plain text cannot get in as anything else, not even by forgetting
something.  No library draws it: a page that is kept beside a build's logs must be small, work
without a network and for years, and bring no code of others into a place where source is read.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import Final

import jinja2
import markupsafe

from smpmake.reports import charts, complaints, heading, phrases, sections, tables
from smpmake.reports.document import Document
from smpmake.reports.pack import pack, script_safe
from smpmake.units import printable

#: In the order in which they need each other.
_SCRIPTS: Final = (
    "data.js",
    "colours.js",
    "timeline_layout.js",
    "timeline_drawing.js",
    "overview.js",
    "gaps.js",
    "timeline_controls.js",
    "search.js",
    "details.js",
    "table.js",
    "tree.js",
    "page.js",
)
#: Whole lines of them, and what lines begin with; who wants to read the scripts finds them with
#: their sources.
_COMMENTS: Final = re.compile(r"^\s*//.*\n|^[ \n]+", re.MULTILINE)
_INDENT: Final = re.compile(r"^ +", re.MULTILINE)


def html(document: Document, earlier: list[Document]) -> str:
    """The page.  `earlier`: id, started_unix, wall, status and speedup of builds like this one."""
    script, whole = _script(), heading.is_whole(document)
    if not whole:  # of a part there is no longest chain
        document = {**document, "critical_path": []}
    return (
        environment()
        .get_template("page.html")
        .render(
            title=sections.title(document),
            # Of scripts ours alone may run, known by its hash: nothing that a project smuggled in.
            hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=markupsafe.Markup(_INDENT.sub("", _source("page.css"))),
            script=markupsafe.Markup(script),
            data=markupsafe.Markup(script_safe(pack(document))),
            head=sections.head(document),
            failures=sections.failures(document),
            figures=sections.figures(document),
            findings=sections.findings(document),
            split=sections.split(document),
            what_if=charts.what_if(document) if whole else None,
            what_if_notes=sections.what_if(document),
            lengths=charts.lengths(document),
            commands=tables.commands(document),
            groups=tables.groups(document),
            headers=tables.headers(document),
            complaints=complaints.complaints(document),
            surroundings=phrases.surroundings(document["environment"]),
            path=sections.path(document) if whole else None,
            stalls=tables.stalls(document),
            builds=tables.builds(document, earlier),
            builds_picture=charts.builds,
            foot=sections.foot(document),
        )
    )


def environment() -> jinja2.Environment:
    """Templates in which everything is escaped, and shows its control characters; what is missing
    is an error."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: object) -> object:
    """What is no markup by its type can do nothing, and halves of broken UTF-8 become U+FFFD."""
    if isinstance(value, str) and not isinstance(value, markupsafe.Markup):
        return printable(value)
    return value


def _script() -> str:
    body = "\n".join(_COMMENTS.sub("", _source(name)) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def _source(name: str) -> str:
    return resources.files("smpmake.reports").joinpath("page", name).read_text(encoding="utf-8")
