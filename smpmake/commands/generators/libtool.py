"""libtool as it compiles one source: into x.lo, and x.o and .libs/x.o as the project wants.

Which of them is in the script itself, which configure has written.  `libtool_link` has how it
links; its other modes start commands that are met one by one.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from smpmake.commands.families import analyse as analyse_tool
from smpmake.commands.families import is_compiler
from smpmake.commands.model import Analysis, Invocation, Kind, Write, named
from smpmake.commands.options import names
from smpmake.commands.paths import basename, dirname, join

_QUIET: Final = names("--silent --quiet --verbose --no-silent --no-quiet --preserve-dup-deps")
_END: Final = "# ### END LIBTOOL CONFIG\n"
_MODES: Final = ("compile", "link")
#: How libraries are called on Linux.
_NAMES: Final = " ".join(
    rf"\$libname{rest}"
    for rest in (
        r"\$release\$shared_ext\$versuffix",
        r"\$release\$shared_ext\$major",
        r"\$shared_ext",
    )
)
_PLAIN_NAMES: Final = (
    *("version_type=linux", "libext=a", 'shrext_cmds=".so"'),
    f'library_names_spec="{_NAMES}"',
)
_SETTING: Final = re.compile(r'^(\w+)="?([\w.]*)"?$', re.MULTILINE)


class Settings(NamedTuple):
    """What a project's libtool script says of the project.

    shared, static  it makes shared libraries, and objects for them in `folder`; static ones.
    plain_names     a library is called as it is on Linux.
    """

    shared: bool
    static: bool
    folder: str
    plain_names: bool


class Call(NamedTuple):
    """A compile or a link by libtool: the script, the mode, the compiler with all words behind it,
    and whether it says what it does."""

    script: str
    mode: str
    command: tuple[str, ...]
    speaks: bool


def call_of(argv: tuple[str, ...]) -> Call | None:
    """What is done, if that is what the words (a shell and the script, or it alone) mean."""
    start = 0 if basename(argv[0]) == "libtool" else 1
    if not start and "/" not in argv[0]:  # one that is on PATH
        return None
    if len(argv) <= start or basename(argv[start]) != "libtool":
        return None
    mode, speaks = "", True
    words = iter(enumerate(argv[start + 1 :], start + 1))
    for at, word in words:
        if not word.startswith("-"):
            return Call(argv[start], mode, argv[at:], speaks) if mode in _MODES else None
        option, equals, value = word.partition("=")
        if option in ("--mode", "--tag"):
            if not equals:
                value = next(words, (0, ""))[1]
            if option == "--tag" and not value.isupper():  # disable-shared
                return None
            mode = value if option == "--mode" else mode
        elif word not in _QUIET:
            return None
        else:
            speaks &= word not in ("--silent", "--quiet")
    return None


def compile_of(argv: tuple[str, ...]) -> Call | None:
    """The compile, if it is a plain one: the compiler with its own words alone."""
    call = call_of(argv)
    plain = _command(call.command) if call is not None and call.mode == "compile" else None
    return call._replace(command=plain[0]) if call is not None and plain is not None else None


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


def analyse(inv: Invocation, call: Call, settings: Settings) -> Analysis | None:
    """The meaning of a compile by libtool; None if it is not plain."""
    plain = _command(call.command)
    if plain is None or not is_compiler(call.command[0]):
        return None
    command, only = plain
    meaning = analyse_tool(inv._replace(argv=command))
    first, *others = meaning.writes or (Write(""),)
    if meaning.kind is not Kind.COMPILE or meaning.refusal is not None:
        return None
    if meaning.split is not None or meaning.argv is not None:
        return None
    if not first.path.endswith(".lo") or any(write.target for write in others):
        return None
    folder, name = dirname(first.path), basename(first.path).removesuffix(".lo")
    inner = join(folder, settings.folder) if "/" in first.path else settings.folder
    made, folders = [first._replace(header=False)], []
    if (settings.static and only != "-shared") or only == "-static":
        made.append(Write(f"{first.path.removesuffix('.lo')}.o", header=False))
    if only != "-static" and (settings.shared or only == "-shared"):
        if not settings.shared:  # it refuses
            return None
        made.append(Write(f"{inner}/{name}.o", header=False))
        folders.append(inner)
    gone = Write(f"{first.path}T", removed=True, target=False, header=False)
    return meaning._replace(
        reads=(*meaning.reads, call.script),
        writes=(*made, *others, gone),
        tool=basename(call.command[0]),
        main=call.command,
        speaks=call.speaks,
        folders=tuple(folders),
        programs=named(meaning.programs, call.command[0]),
    )


@functools.lru_cache(8)
def settings_of(script: str) -> Settings | None:
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
    plain_names = all(f"\n{line}\n" in head for line in _PLAIN_NAMES)
    try:
        shared, static = yes[said["build_libtool_libs"]], yes[said["build_old_libs"]]
        return Settings(shared, static, said["objdir"], plain_names)
    except KeyError:
        return None
