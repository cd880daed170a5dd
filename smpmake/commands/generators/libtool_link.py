"""libtool as it links: a library with its versions and its links, or a program.

What exactly comes out may depend on libraries that are pending themselves: a program that uses a
shared one of the project's is a script, and the program proper lies in libtool's folder.  So all
that may be made is an output, and what need not be made may be missing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from smpmake.commands.families import analyse as analyse_tool
from smpmake.commands.families import is_compiler
from smpmake.commands.generators.libtool import Call, Settings
from smpmake.commands.model import Analysis, Invocation, Kind, Write, named
from smpmake.commands.options import names
from smpmake.commands.paths import basename, dirname, join

#: libtool's own options, which its compiler is not given as they are.
_FLAGS: Final = names(
    """-all-static -avoid-version -export-dynamic -module -no-fast-install -no-install -no-undefined
    -shared -static -static-libtool-libs -thread-safe"""
)
_VALUED: Final = names(
    """-export-symbols -export-symbols-regex -o -R -release -rpath -version-info -version-number
    -weak"""
)
#: Those of which more would have to be known.
_REFUSED: Final = (
    *("-Wc,", "-X", "-bindir", "-dlopen", "-dlpreopen", "-framework", "-inst-prefix-dir"),
    *("-objectlist", "-os2dllname", "-precious-files-regex", "-shrext", "@"),
)
_LINKED: Final = (".lo", ".la", ".o", ".a", ".so")


class _Request(NamedTuple):
    """The words behind the compiler: what that is given, and libtool's own."""

    kept: tuple[str, ...]
    flags: frozenset[str]
    values: dict[str, str]

    @property
    def version(self) -> tuple[str, str] | None:
        """What stands behind a library's name, and in what it is looked for by; None: malformed.

        https://www.gnu.org/software/libtool/manual/html_node/Updating-version-info.html
        """
        info, number = self.values.get("-version-info"), self.values.get("-version-number")
        if info is not None and number is not None:
            return None
        said = info if info is not None else number
        if "-avoid-version" in self.flags or (said is None and "-release" in self.values):
            return "", ""
        parts = [part or "0" for part in (*(said or "").split(":"), "", "")[:3]]
        if not all(part.isdecimal() for part in parts):
            return None
        first, second, third = map(int, parts)
        if info is None:  # the numbers as they are to stand there, or none
            return f".{first}.{second}.{third}", f".{first}"
        if third > first:  # the age is more than the interface's number
            return None
        return f".{first - third}.{third}.{second}", f".{first - third}"


def analyse(inv: Invocation, call: Call, settings: Settings) -> Analysis | None:
    """The meaning of a link by libtool; None if it is a rarer one."""
    request = _read(call.command)
    if request is None or not settings.plain_names or not is_compiler(call.command[0]):
        return None
    output = request.values.get("-o", "")
    meaning = analyse_tool(inv._replace(argv=(call.command[0], *request.kept, "-o", output)))
    if meaning.kind is not Kind.LINK or meaning.refusal is not None or meaning.argv is not None:
        return None
    first, *others = meaning.writes or (Write(""),)
    if not output or first.path != output or meaning.split is not None:
        return None
    inner = join(dirname(output), settings.folder) if "/" in output else settings.folder
    made = _made(basename(output), request, settings)
    if made is None:
        return None
    beside = [join(inner, name) for name in made]
    perhaps = [Write(path, target=False, header=False, perhaps=True) for path in beside]
    symbols = request.values.get("-export-symbols")
    behind = (path for name in meaning.reads for path in _behind(name, settings))
    return meaning._replace(
        reads=(*meaning.reads, *behind, call.script, *([symbols] if symbols else [])),
        writes=(first._replace(header=False), *others, *perhaps),
        tool=basename(call.command[0]),
        main=call.command,
        speaks=call.speaks,
        folders=(inner,),
        programs=named(meaning.programs, call.command[0]),
    )


def _behind(path: str, settings: Settings) -> tuple[str, ...]:
    """What libtool may take where one of its own files is named."""
    stem, inner = path[:-3], join(dirname(path), settings.folder)
    hidden = join(inner, basename(stem)) if "/" in path else f"{settings.folder}/{stem}"
    if path.endswith(".lo"):
        return f"{hidden}.o", f"{stem}.o"
    return (f"{hidden}.so", f"{hidden}.a") if path.endswith(".la") else ()


def _read(words: tuple[str, ...]) -> _Request | None:
    kept: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        if word in _FLAGS:
            flags.add(word)
        elif word in _VALUED:
            values[word] = next(rest, "")
        elif word.startswith(_REFUSED):
            return None
        elif not word.startswith("-") and not word.endswith(_LINKED):
            return None  # a source, or the value of an option
        else:
            kept.append(word)
    return _Request(tuple(kept), frozenset(flags), values)


def _made(name: str, request: _Request, settings: Settings) -> list[str] | None:
    """What may come into being in libtool's own folder; None where that cannot be told."""
    if not name.endswith(".la"):
        return None if name.endswith((".lo", ".o")) else [name, f"lt-{name}"]
    library = name.removesuffix(".la")
    made = [name, f"{library}.a", f"{library}.lai", f"{name}.lnkscript"]
    if any(option.startswith("-export-symbols") for option in request.values):
        made += [f"{library}.exp", f"{library}.ver"]
    if "-rpath" in request.values and settings.shared:
        version = request.version
        if version is None:
            return None
        release = request.values.get("-release")
        versioned = f"{library}-{release}.so" if release is not None else f"{library}.so"
        made += [versioned + version[0], versioned + version[1], f"{library}.so"]
    return list(dict.fromkeys(made))
