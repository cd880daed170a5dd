"""`scripts/fetch-packages [NAME...]`: fetch and unpack packages, install the tools they need."""

from __future__ import annotations

import argparse
import sys

from . import fetch, sources
from .project import Project
from .projects import PROJECTS, chosen


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(prog="fetch-packages", description=__doc__)
    known = ", ".join(project.name for project in PROJECTS)
    parser.add_argument("name", nargs="*", help=f"of {known}; all but slow ones without a name")
    parser.add_argument("--no-install", action="store_true", help="install no build tools")
    return parser.parse_args()


def fetched(project: Project) -> bool:
    """Fetch one project's source and print where it is, or say why not."""
    try:
        print(sources.fetched(project, fetch.cache_folder()) or project.source.name)
    except (fetch.UnavailableError, fetch.CorruptError) as error:
        print(f"fetch-packages: {project.name}: {error}", file=sys.stderr)
        return False
    return True


def tools_ready(projects: list[Project], install: bool) -> bool:
    """Install what is missing, or say what is."""
    missing = fetch.missing_tools(projects)
    try:
        if missing and install:
            fetch.install_tools(missing)
            missing = fetch.missing_tools(projects)
    except fetch.UnavailableError as error:
        print(f"fetch-packages: {error}", file=sys.stderr)
        return False
    if missing:
        print(f"fetch-packages: not installed: {' '.join(missing)}", file=sys.stderr)
    return not missing


def main() -> int:
    """0 if everything asked for is there and can be built."""
    wanted = arguments()
    try:
        projects = chosen(wanted.name)
    except KeyError as error:
        print(f"fetch-packages: no such package: {error.args[0]}", file=sys.stderr)
        return 2
    # The tools first: pip looks into what it downloads, and some of that wants them.
    ready = tools_ready(projects, not wanted.no_install)
    results = [fetched(project) for project in projects]
    return 0 if ready and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
