"""The packages: what is built, with which commands, and what may differ, each with its reason.

This file is data.  It knows nothing of caches, of apt or of the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

COMPILER = {"gcc": "build-essential", "make": "build-essential"}
AUTOTOOLS = {
    "autoreconf": "autoconf",
    "automake": "automake",
    "autopoint": "autopoint",
    "pkg-config": "pkg-config",
}

DEPENDENCIES = "automake has the compiler write dependencies so, and renames them afterwards"


@dataclass(frozen=True)
class Excuse:
    """Paths (a shell pattern; * also matches /) that are not compared, and why."""

    pattern: str
    reason: str


@dataclass(frozen=True)
class Passing:
    """A file that is written under one suffix and renamed to another when it is complete.

    A build that was stopped may leave it under the first, holding what it holds under the second.
    """

    written: str
    kept: str
    reason: str


@dataclass(frozen=True)
class Edit:
    """A change of an unpacked source without which it cannot be built here."""

    path: str
    old: str
    new: str
    reason: str


@dataclass(frozen=True)
class Fault:
    """A source to break, what is compiled from it, and what then cannot be made."""

    source: str
    objects: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Witness:
    """The build is in full swing once so many files of this pattern have been made anew."""

    pattern: str
    count: int


@dataclass(frozen=True)
class Package:
    """One package at one upstream version.

    `ignored` are files never compared.  Where `warm` names sources (shell patterns), the builds
    with an error and with an interruption start from the built tree with these touched, not from
    the configured one: old results lie about, and it is quicker.
    """

    name: str
    version: str
    sha256: str
    make: tuple[str, ...]
    programs: tuple[str, ...]
    touch: str
    fault: Fault
    witness: Witness
    configure: tuple[tuple[str, ...], ...] = ()
    edits: tuple[Edit, ...] = ()
    tools: tuple[tuple[str, str], ...] = tuple(COMPILER.items())
    warm: tuple[str, ...] = ()
    passing: tuple[Passing, ...] = ()
    ignored: tuple[Excuse, ...] = ()
    suite: str = ""


LUA = Package(
    name="lua5.4",
    version="5.4.4",
    sha256="164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61",
    make=("make", "-C", "src", "linux"),
    programs=("src/lua", "src/luac"),
    touch="src/lvm.c",
    fault=Fault("src/lgc.c", ("src/lgc.o",), ("src/liblua.a", "src/lua", "src/luac")),
    witness=Witness("src/*.o", 12),
)

ZLIB = Package(
    name="zlib",
    version="1.2.13.dfsg",
    sha256="71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1",
    configure=(("./configure",),),
    make=("make",),
    programs=("example", "minigzip", "examplesh", "minigzip64"),
    touch="inflate.c",
    fault=Fault(
        "inflate.c",
        ("inflate.o", "inflate.lo"),
        ("libz.a", "libz.so.1.2.13", "example", "examplesh", "minigzip"),
    ),
    witness=Witness("*.*o", 8),
)

REDIS = Package(
    name="redis",
    version="7.0.15",
    sha256="4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982",
    # Its own jemalloc would be configured inside the build, which finds our shims on PATH.
    make=("make", "MALLOC=libc"),
    programs=("src/redis-server", "src/redis-cli", "src/redis-benchmark"),
    touch="src/t_string.c",
    fault=Fault("src/cluster.c", ("src/cluster.o",), ("src/redis-server", "src/redis-sentinel")),
    witness=Witness("src/*.o", 6),
    warm=("src/[a-c]*.c",),
)

MAKE = Package(
    name="make-dfsg",
    version="4.3",
    sha256="be4c17542578824e745f83bcd2a9ba264206187247cb6a5f5df99b0a9d1f9047",
    edits=(
        Edit("Makefile.am", "man_MANS =", "#man_MANS =", "the manual is not in this tarball"),
        Edit(
            "configure.ac",
            "po/Makefile.in Makefile \\",
            "po/Makefile.in \\",
            "Makefile is named twice, which autoconf refuses",
        ),
    ),
    configure=(("autoreconf", "-fi"), ("./configure", "--disable-nls", "--without-guile")),
    tools=tuple((COMPILER | AUTOTOOLS).items()),
    make=("make",),
    programs=("make",),
    touch="src/read.c",
    fault=Fault("src/job.c", ("src/job.o",), ("make",)),
    witness=Witness("src/*.o", 10),
    passing=(Passing(".Tpo", ".Po", DEPENDENCIES),),
)

XZ = Package(
    name="xz-utils",
    version="5.4.1",
    sha256="5d9827aa1875b21c288f78864bb26d2650b436ea8d2cad364e4921eb6266a5a5",
    configure=(("./configure", "--disable-nls"),),
    make=("make",),
    programs=("src/xz/.libs/xz", "src/liblzma/.libs/liblzma.so.5.4.1"),
    touch="src/liblzma/lzma/lzma_decoder.c",
    fault=Fault(
        "src/liblzma/common/index.c",
        (
            "src/liblzma/.libs/liblzma_la-index.o",
            "src/liblzma/liblzma_la-index.o",
            "src/liblzma/liblzma_la-index.lo",
        ),
        ("src/liblzma/liblzma.la", "src/liblzma/.libs/liblzma.a", "src/xz/.libs/xz"),
    ),
    witness=Witness("src/liblzma/*.lo", 15),
    passing=(
        Passing(".Tpo", ".Plo", DEPENDENCIES),
        Passing(".Tpo", ".Po", DEPENDENCIES),
        Passing(".loT", ".lo", "libtool writes its description of an object so"),
    ),
)

PACKAGES = (LUA, ZLIB, MAKE, XZ, REDIS)
