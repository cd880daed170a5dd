"""libtool as it compiles one source: into x.lo, and x.o and .libs/x.o as the project wants.

Which of them is in the script itself, which configure has written.  Its other modes start commands
that are met one by one.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from smpmake.commands.families import analyse as analyse_tool
from smpmake.commands.families import is_compiler
from smpmake.commands.model import Analysis, Invocation, Kind, Write
from smpmake.commands.options import names
from smpmake.commands.paths import basename, dirname, join

_QUIET: Final = names("--silent --quiet --verbose --no-silent --no-quiet --preserve-dup-deps")
_END: Final = "# ### END LIBTOOL CONFIG\n"
_SETTING: Final = re.compile(r'^(\w+)="?([\w.]*)"?$', re.MULTILINE)


class Products(NamedTuple):
    """What a project's libtool makes of a source.

    shared, static  an object for shared libraries, in `folder`; one for static ones.
    """

    shared: bool
    static: bool
    folder: str


class Call(NamedTuple):
    """A compile by libtool: the script, the compiler's own words, options that say what is made,
    and whether it says what it does."""

    script: str
    command: tuple[str, ...]
    only: str
    speaks: bool


def compile_of(argv: tuple[str, ...]) -> Call | None:
    """What is compiled, if that is what the words (a shell and the script, or it alone) mean."""
    start = 0 if basename(argv[0]) == "libtool" else 1
    if not start and "/" not in argv[0]:  # one that is on PATH
        return None
    if len(argv) <= start or basename(argv[start]) != "libtool":
        return None
    is_compile, speaks = False, True
    words = iter(enumerate(argv[start + 1 :], start + 1))
    for at, word in words:
        if not word.startswith("-"):
            found = _command(argv[at:]) if is_compile else None
            return Call(argv[start], *found, speaks) if found is not None else None
        option, equals, value = word.partition("=")
        if option in ("--mode", "--tag"):
            if not equals:
                value = next(words, (0, ""))[1]
            if option == "--tag" and not value.isupper():  # disable-shared
                return None
            is_compile |= option == "--mode" and value == "compile"
        elif word not in _QUIET:
            return None
        else:
            speaks &= word not in ("--silent", "--quiet")
    return None


def _command(words: tuple[str, ...]) -> tuple[tuple[str, ...], str] | None:
    """The compiler's words without libtool's own, and -shared or -static; None for rarer ones."""
    kept, only = [], ""
    for word in words:
        if word in ("-shared", "-static"):
            if only:
                return None
            only = word
        elif word.startswith(("-Wc,", "-Xcompiler", "-prefer-", "-no-suppress", "@")):
            return None
        else:
            kept.append(word)
    return tuple(kept), only


def analyse(inv: Invocation) -> Analysis | None:
    """The meaning of a compile by libtool; None if it is none, or not plain."""
    call = compile_of(inv.argv)
    if call is None or not is_compiler(call.command[0]):
        return None
    text = inv.files.read_text(call.script)
    products = _products(text) if text is not None else None
    meaning = analyse_tool(inv._replace(argv=call.command))
    first, *others = meaning.writes or (Write(""),)
    plain = meaning.kind is Kind.COMPILE and meaning.refusal is None and meaning.split is None
    if products is None or not plain or meaning.argv is not None:
        return None
    if not first.path.endswith(".lo") or any(write.target for write in others):
        return None
    folder, name = dirname(first.path), basename(first.path).removesuffix(".lo")
    inner = join(folder, products.folder) if "/" in first.path else products.folder
    made = [first._replace(header=False)]
    if (products.static and call.only != "-shared") or call.only == "-static":
        made.append(Write(f"{first.path.removesuffix('.lo')}.o"))
    if call.only != "-static" and (products.shared or call.only == "-shared"):
        if not products.shared or not inv.files.is_dir(inner):  # it makes that folder, or refuses
            return None
        made.append(Write(f"{inner}/{name}.o"))
    gone = Write(f"{first.path}T", removed=True, target=False)
    return meaning._replace(
        reads=(*meaning.reads, call.script),
        writes=(*made, *others, gone),
        tool=basename(call.command[0]),
        speaks=call.speaks,
    )


@functools.lru_cache(8)
def _products(script: str) -> Products | None:
    """What a libtool script says; None where it is none of GNU's, or an unusual one."""
    head, end, _ = script.partition(_END)
    if not end or "\nmacro_version=2.4" not in head:
        return None
    said = dict(_SETTING.findall(head))
    if 'compiler_c_o="no"' in script or said.get("compiler_c_o") != "yes":
        return None
    if said.get("pic_mode") != "default":
        return None
    yes = {"yes": True, "no": False}
    try:
        shared, static = yes[said["build_libtool_libs"]], yes[said["build_old_libs"]]
        return Products(shared, static, said["objdir"])
    except KeyError:
        return None
