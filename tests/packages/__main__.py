"""`scripts/fetch-packages [NAME...]`: fetch and unpack packages, install the tools they need."""

from __future__ import annotations

import argparse
import sys

from . import fetch
from .catalogue import PACKAGES, Package, named


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(prog="fetch-packages", description=__doc__)
    known = ", ".join(package.name for package in PACKAGES)
    parser.add_argument("name", nargs="*", help=f"one of {known}; all of them without a name")
    parser.add_argument("--no-install", action="store_true", help="install no build tools")
    return parser.parse_args()


def fetched(package: Package) -> bool:
    """Fetch one package and print its path, or say why not."""
    try:
        print(fetch.fetch(package, fetch.cache_folder()))
    except (fetch.UnavailableError, fetch.CorruptError) as error:
        print(f"fetch-packages: {package.name}: {error}", file=sys.stderr)
        return False
    return True


def tools_ready(packages: list[Package], install: bool) -> bool:
    """Install what is missing, or say what is."""
    missing = fetch.missing_tools(packages)
    try:
        if missing and install:
            fetch.install_tools(missing)
            missing = fetch.missing_tools(packages)
    except fetch.UnavailableError as error:
        print(f"fetch-packages: {error}", file=sys.stderr)
        return False
    if missing:
        print(f"fetch-packages: not installed: {' '.join(missing)}", file=sys.stderr)
    return not missing


def main() -> int:
    """0 if everything asked for is there and can be built."""
    chosen = arguments()
    try:
        packages = named(chosen.name)
    except KeyError as error:
        print(f"fetch-packages: no such package: {error.args[0]}", file=sys.stderr)
        return 2
    results = [fetched(package) for package in packages]
    return 0 if tools_ready(packages, not chosen.no_install) and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
