"""The corpus: real packages, each with a driver, as people build them.

This file is data, like `catalogue`, whose five packages it takes over.  In commands and variables
`{folder}` stands for the build folder, `{cache}` for what was fetched, `{python}` for the Python
that runs the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from .catalogue import COMPILER, LUA, MAKE, REDIS, XZ, ZLIB, Edit, Excuse, Package

Command = tuple[str, ...]


@dataclass(frozen=True)
class Debian:
    """The upstream tarball of a Debian source package."""

    name: str
    version: str
    sha256: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Wheel:
    """A wheel that builds need, pure Python."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Sdist:
    """A source distribution of a Python package, with the wheels that building it needs."""

    name: str
    version: str
    sha256: str
    requires: tuple[Wheel, ...]
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class GoModule:
    """A module that the project's `go.mod` names; `go.sum` there pins it."""

    name: str
    version: str


@dataclass(frozen=True)
class Project:
    """A source, the driver it is built with, and how.

    `data` is a folder below `data/` that is laid over the source.  `prepare` is done before
    anything is measured or compared; each command of `build` is run by itself, under smpmake with
    smpmake before it.  `parallel` is what makes the last of them parallel by the driver's own
    means.  `products` must be there in the end.  Where the driver builds everything `anew` each
    time, fewer steps say as much.
    """

    name: str
    driver: str
    source: Debian | Sdist | GoModule
    build: tuple[Command, ...]
    touch: str
    products: tuple[str, ...]
    prepare: tuple[Command, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    parallel: Command = ()
    data: str = ""
    tools: tuple[tuple[str, str], ...] = tuple(COMPILER.items())
    ignored: tuple[Excuse, ...] = ()
    slow: bool = False
    anew: bool = False


def _tools(**more: str) -> tuple[tuple[str, str], ...]:
    return tuple((COMPILER | more).items())


def _known(package: Package, driver: str, slow: bool = False) -> Project:
    """A package of the catalogue as a project."""
    return Project(
        name=package.name,
        driver=driver,
        source=Debian(package.name, package.version, package.sha256, package.edits),
        prepare=package.configure,
        build=(package.make,),
        parallel=("-j2",),
        touch=package.touch,
        products=package.programs,
        tools=package.tools,
        ignored=package.ignored,
        slow=slow,
    )


PCIUTILS = Project(
    name="pciutils",
    driver="GNU make, recursive",
    source=Debian(
        "pciutils", "3.9.0", "8953a785b2e3af414434b8fdcbfb75c90758819631001e60dd3afb89b22b2331"
    ),
    build=(("make", "ZLIB=no", "DNS=no", "HWDB=no"),),
    parallel=("-j2",),
    touch="lib/access.c",
    products=("lspci", "setpci", "lib/libpci.a"),
)

GPERF = Project(
    name="gperf",
    driver="GNU make, recursive, C++",
    source=Debian(
        "gperf", "3.1", "1f88819b78187350e7e6ca24b5e15cbf4083659773508d3f018b9b525e9d1cb8"
    ),
    prepare=(("./configure",),),
    build=(("make",),),
    parallel=("-j2",),
    touch="src/search.cc",
    products=("src/gperf",),
)

POPT = Project(
    name="popt",
    driver="automake, libtool",
    source=Debian(
        "popt", "1.19+dfsg", "4cd0cd2963d0c4078f65949599d97135c15ee6c09cf3a36a9a1b2753025bb06b"
    ),
    prepare=(("./configure", "--disable-nls"),),
    build=(("make",),),
    parallel=("-j2",),
    touch="src/popt.c",
    products=("src/.libs/libpopt.so.0.0.2", "src/.libs/libpopt.a"),
)

_STAGE = (
    "make && rm -rf stage && make install DESTDIR=$PWD/stage && tar --sort=name --mtime=@0 "
    "--owner=0 --group=0 --numeric-owner -cf stage.tar stage && ls -R stage > stage.list"
)
POPT_STAGED = Project(
    name="popt-staged",
    driver="make, make install, tar, ls -R in a script",
    source=POPT.source,
    prepare=POPT.prepare,
    build=(("sh", "-c", _STAGE),),
    touch="src/popt.c",
    products=("stage.tar", "stage.list", "stage/usr/local/lib/libpopt.so.0.0.2"),
    anew=True,
    tools=POPT.tools,
)

S_NAIL = Project(
    name="s-nail",
    driver="GNU make, .NOTPARALLEL",
    source=Debian(
        "s-nail", "14.9.24", "4c93f73032702a18cf00830b4faa606c262db65fbfc08266c33510cfb3125934"
    ),
    # Its configuration alone would take as long as everything else.
    prepare=(("make", "config"),),
    build=(("make", "build"),),
    parallel=("-j2",),
    touch="src/mx/accmacvar.c",
    products=(".obj/s-nail",),
)

CDPARANOIA = Project(
    name="cdparanoia",
    # Its two libraries are made of objects of the same names, compiled with other flags.
    driver="GNU make, dependencies missing",
    source=Debian(
        "cdparanoia",
        "3.10.2+debian",
        "402f8b8b4370dbdc276dfd624f768956d212893542a91ecbaa6b4206b2afef03",
    ),
    prepare=(("./configure",),),
    build=(("make",),),
    parallel=("-j2",),
    touch="interface/toc.c",
    products=("cdparanoia", "interface/libcdda_interface.a", "paranoia/libcdda_paranoia.a"),
)

BMAKE = Project(
    name="bmake",
    driver="bmake",
    source=Debian(
        "bmake", "20200710", "6538fc4319ef79d178dca76d3b869f7aa93a9bb7b510df08a7d872c01a56b76c"
    ),
    prepare=(("./configure",),),
    # The program only: `all` would run its tests too.
    build=(("bmake", "-f", "Makefile", "-m", "mk", "bmake"),),
    parallel=("-j2",),
    touch="parse.c",
    products=("bmake",),
    tools=_tools(bmake="bmake"),
)

_C_ARES = Debian(
    "c-ares", "1.18.1", "1a7d52a8a84a9fbffb1be9133c0f6e17217d91ea5a6fa61f6b4729cda78ebbcf"
)

C_ARES_MAKE = Project(
    name="c-ares-make",
    driver="CMake, makefiles",
    source=_C_ARES,
    prepare=(("cmake", "-S", ".", "-B", "build"),),
    build=(("make", "-C", "build"),),
    parallel=("-j2",),
    touch="src/lib/ares_init.c",
    products=("build/lib/libcares.so.2.5.1", "build/bin/adig"),
    tools=_tools(cmake="cmake"),
)

C_ARES_BOTH = Project(
    name="c-ares-both",
    driver="CMake, makefiles, several libraries",
    source=_C_ARES,
    prepare=(("cmake", "-S", ".", "-B", "build", "-DCARES_STATIC=ON", "-DCARES_STATIC_PIC=ON"),),
    build=(("make", "-C", "build"),),
    parallel=("-j2",),
    touch="src/lib/ares_init.c",
    products=("build/lib/libcares.so.2.5.1", "build/lib/libcares_static.a", "build/bin/adig"),
    tools=_tools(cmake="cmake"),
)

C_ARES_NINJA = Project(
    name="c-ares-ninja",
    driver="CMake, ninja -j1",
    source=_C_ARES,
    prepare=(("cmake", "-G", "Ninja", "-S", ".", "-B", "build"),),
    build=(("ninja", "-C", "build", "-j1"),),
    parallel=("-j2",),
    touch="src/lib/ares_init.c",
    products=("build/lib/libcares.so.2.5.1", "build/bin/adig"),
    tools=_tools(cmake="cmake", ninja="ninja-build"),
)

LEVELDB = Project(
    name="leveldb",
    driver="CMake configured too, C++",
    source=Debian(
        "leveldb", "1.23", "9a37f8a6174f09bd622bc723b55881dc541cd50747cbd08831c2a82d620f6d76"
    ),
    build=(
        (
            *("cmake", "-S", ".", "-B", "build", "-DCMAKE_CXX_FLAGS=-O0"),
            *("-DLEVELDB_BUILD_TESTS=OFF", "-DLEVELDB_BUILD_BENCHMARKS=OFF"),
        ),
        ("make", "-C", "build"),
    ),
    parallel=("-j2",),
    touch="db/db_impl.cc",
    products=("build/libleveldb.a", "build/leveldbutil"),
    tools=_tools(cmake="cmake"),
)

MKSH = Project(
    name="mksh",
    anew=True,
    driver="sh script",
    source=Debian(
        "mksh", "59c", "77ae1665a337f1c48c61d6b961db3e52119b38e58884d1c89684af31f87bc506"
    ),
    build=(("sh", "Build.sh", "-r"),),
    touch="eval.c",
    products=("mksh",),
)

LUA_BASH = Project(
    name="lua-bash",
    anew=True,
    driver="bash script",
    source=Debian(LUA.name, LUA.version, LUA.sha256),
    data="lua-bash",
    build=(("bash", "build.bash"),),
    touch="src/lvm.c",
    products=("src/lua", "src/luac"),
)

LESS = Project(
    name="less",
    driver="configure, then make",
    source=Debian(
        "less", "590", "6aadf54be8bf57d0e2999a3c5d67b1de63808bb90deb8f77b028eafae3a08e10"
    ),
    build=(("./configure",), ("make",)),
    parallel=("-j2",),
    touch="ch.c",
    products=("less", "lesskey"),
)

DASH = Project(
    name="dash",
    driver="configure and make in a script",
    source=Debian(
        "dash", "0.5.12", "6a474ac46e8b0b32916c4c60df694c82058d3297d8b385b74508030ca4a8f28a"
    ),
    data="dash-script",
    build=(("sh", "build.sh"),),
    touch="src/eval.c",
    products=("src/dash",),
)

_SETUPTOOLS = Wheel(
    "setuptools", "84.2.1", "ca140b45d5325a9478f880e351484f62fef15f336462e449ca0c03c873d589c2"
)
_CYTHON = Wheel(
    "cython", "3.2.9", "a2b0e87f6b80790c929308ca0831d686f7a180feab684fe8cd4a4380bd96aaca"
)
_PIP_WHEEL = ("{python}", "-m", "pip", "wheel", "--no-deps", "-w", "wheels", ".")
#: Everything comes from the folder of fetched wheels.
_OFFLINE = (
    ("PIP_NO_INDEX", "1"),
    ("PIP_FIND_LINKS", "{cache}/wheels"),
    ("PIP_CONSTRAINT", "{cache}/wheels/constraints.txt"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PYTHONHASHSEED", "0"),
)

PSUTIL = Project(
    name="psutil",
    driver="pip wheel",
    source=Sdist(
        "psutil",
        "7.2.2",
        "0746f5f8d406af344fd547f1c8daa5f5c33dbc293bb8d6a16d80b4bb88f59372",
        (_SETUPTOOLS,),
    ),
    build=(_PIP_WHEEL,),
    environment=_OFFLINE,
    touch="psutil/arch/linux/proc.c",
    products=("wheels/psutil-*.whl",),
)

PYCRYPTODOME = Project(
    name="pycryptodome",
    anew=True,
    driver="pip wheel",
    source=Sdist(
        "pycryptodome",
        "4.4.0",
        "eab7620c60c85f3fa251d026ec06e094f036d96187bebb9752e46fbcebabbb55",
        (_SETUPTOOLS,),
    ),
    build=(_PIP_WHEEL,),
    environment=_OFFLINE,
    touch="src/AES.c",
    products=("wheels/pycryptodome-*.whl",),
)

LXML = Project(
    name="lxml",
    anew=True,
    driver="pip wheel",
    source=Sdist(
        "lxml",
        "6.1.3",
        "45222d94ddd511536f3b2f7d9deae3b2339b4ce0f075f1ca25703b07cad9dd21",
        (_SETUPTOOLS, _CYTHON),
    ),
    build=(_PIP_WHEEL,),
    # Two files of ten megabytes would take a minute otherwise.
    environment=(*_OFFLINE, ("CFLAGS", "-O0")),
    touch="src/lxml/etree.c",
    products=("wheels/lxml-*.whl",),
    tools=(*_tools(), ("xml2-config", "libxml2-dev"), ("xslt-config", "libxslt1-dev")),
)

DBI = Project(
    name="libdbi-perl",
    driver="Perl MakeMaker",
    source=Debian(
        "libdbi-perl", "1.643", "8a2b993db560a2c373c174ee976a51027dd780ec766ae17620c20393d2e836fa"
    ),
    prepare=(("perl", "Makefile.PL"),),
    build=(("make",),),
    parallel=("-j2",),
    touch="DBI.xs",
    products=("blib/arch/auto/DBI/DBI.so",),
    tools=(*_tools(perl="perl"), ("/usr/lib/*/perl/*/CORE/perl.h", "libperl-dev")),
)

DIGEST = Project(
    name="r-cran-digest",
    driver="R CMD INSTALL",
    source=Debian(
        "r-cran-digest",
        "0.6.31",
        "5a284f490eaca6750f695f00a584cfca3f180ca1046ac1107202141149d431b9",
    ),
    prepare=(("mkdir", "library"),),
    build=(("R", "CMD", "INSTALL", "--library=library", "."),),
    touch="src/sha1.c",
    products=("library/digest/libs/digest.so",),
    tools=_tools(R="r-base-core"),
)

OJ = Project(
    name="ruby-oj",
    driver="Ruby extconf",
    source=Debian(
        "ruby-oj", "3.14.2", "48eaf85809c6f5e227ad394f16aa5bd5a9236132a408119a9f4f890d2a7a5766"
    ),
    prepare=(("ruby", "-C", "ext/oj", "extconf.rb"),),
    build=(("make", "-C", "ext/oj"),),
    parallel=("-j2",),
    touch="ext/oj/parse.c",
    products=("ext/oj/oj.so",),
    tools=(*_tools(ruby="ruby"), ("/usr/include/ruby-*/ruby.h", "ruby-dev")),
)

ZSTD_GO = Project(
    name="zstd-go",
    driver="go build, cgo",
    source=GoModule("github.com/DataDog/zstd", "v1.5.6"),
    data="zstd-go",
    # Go's own library is not what is to be measured; its parts in C are built with ours.
    prepare=(("go", "build", "runtime", "fmt"),),
    build=(("go", "build", "-o", "packer", "."),),
    environment=(
        ("CGO_CFLAGS", "-O1"),
        ("CGO_ENABLED", "1"),
        ("GOCACHE", "{folder}/.gocache"),
        ("GOFLAGS", "-p=1 -mod=readonly -buildvcs=false"),
        ("GOMODCACHE", "{cache}/go"),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
    ),
    touch="main.go",
    products=("packer",),
    tools=_tools(go="golang-go"),
    ignored=(Excuse(".gocache/*", "go's own cache, whose entries hold times"),),
)

BZIP2 = Project(
    name="bzip2-scons",
    driver="scons",
    source=Debian(
        "bzip2", "1.0.8", "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269"
    ),
    data="bzip2-scons",
    build=(("scons", "-Q"),),
    parallel=("-j2",),
    touch="compress.c",
    products=("bzip2", "bzip2recover", "libbz2.a"),
    tools=_tools(scons="scons"),
)

COREUTILS = Project(
    name="coreutils",
    driver="automake",
    source=Debian(
        "coreutils", "9.1", "61a1f410d78ba7e7f37a5a4f50e6d1320aca33375484a3255eddf17a38580423"
    ),
    prepare=(("./configure", "--disable-nls"),),
    environment=(("FORCE_UNSAFE_CONFIGURE", "1"),),
    build=(("make",),),
    parallel=("-j2",),
    touch="src/ls.c",
    products=("src/ls", "src/sort", "src/cp"),
    slow=True,
)

PROJECTS = (
    _known(LUA, "GNU make -C"),
    _known(ZLIB, "own configure, GNU make"),
    _known(MAKE, "automake"),
    _known(XZ, "automake, libtool, recursive", slow=True),
    _known(REDIS, "GNU make, recursive", slow=True),
    PCIUTILS,
    GPERF,
    POPT,
    POPT_STAGED,
    S_NAIL,
    CDPARANOIA,
    BMAKE,
    C_ARES_MAKE,
    C_ARES_BOTH,
    C_ARES_NINJA,
    LEVELDB,
    MKSH,
    LUA_BASH,
    LESS,
    DASH,
    PSUTIL,
    PYCRYPTODOME,
    LXML,
    DBI,
    DIGEST,
    OJ,
    ZSTD_GO,
    BZIP2,
    COREUTILS,
)


def chosen(names: list[str]) -> list[Project]:
    """The projects of these names, all but the slow ones for an empty list; KeyError if unknown."""
    known = {project.name: project for project in PROJECTS}
    return [known[name] for name in names or known if names or not known[name].slow]
