"""What a file's name says about who reads it."""

from __future__ import annotations

import re
from typing import Final

_PRODUCT: Final = re.compile(
    r"(?:.*\.(?:o|obj|a|so|lo|loT|lai|la|laT|lib|dll|exe|d|dd|dep|Po|Tpo|Plo|Tlo|Tplo|P|gch|pch|dwo|su|"
    r"gcno|gcda|ci|pdb|map|os|ko|elf|bin|hex|err|res|mbr|sym|ilk|bak|lbc|lnk|"
    # manuals, scripts, packages: no compiler reads these either
    r"[1-9]|[1-9]x|[1-9]pm|html|info|texi|pod|pdf|ps|dvi|log|trs|mo|gmo|"
    r"py|pyc|pl|pm|rb|sh|gz|xz|bz2|zst|zip|tar|whl)|.*\.so\.[0-9.]+|"
    # what CMake's makefiles write while they build
    r"(?:.*/)?[0-9]+|.*\.(?:ts|make|cmake|internal|marks)|(?:.*/)?CMakeFiles/.*\.txt)\Z",
    re.DOTALL,
)
_HEADER: Final = re.compile(r".*\.(?:[hH][^./]{0,3}|in[cl]|ipp|tcc|tpp|txx|def)\Z", re.DOTALL)


def is_product(path: str) -> bool:
    """Whether a path's name says that compilers hardly ever include it.

    No result depends on that.
    """
    return _PRODUCT.match(path) is not None


def is_library(path: str) -> bool:
    """Whether it is called as shared libraries are: programs may load it."""
    return ".so" in path[path.rfind("/") :]


def is_header(path: str) -> bool:
    """Whether it is called as headers are: compiles wait for it beforehand."""
    return _HEADER.match(path) is not None
