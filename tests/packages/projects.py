"""The corpus: real packages, each with a driver, as people build them.

This file is data, like `languages`, which has some of them, and `catalogue`, whose five packages it
takes over.
"""

from __future__ import annotations

from .catalogue import LUA, MAKE, REDIS, XZ, ZLIB, Package
from .languages import CLASSIC_LEVEL, DBI, DIGEST, LXML, OJ, PSUTIL, PYCRYPTODOME, ZSTD_GO
from .project import Debian, Project, tools


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
    tools=tools(bmake="bmake"),
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
    tools=tools(cmake="cmake"),
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
    tools=tools(cmake="cmake"),
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
    tools=tools(cmake="cmake", ninja="ninja-build"),
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
    tools=tools(cmake="cmake"),
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
    tools=tools(scons="scons"),
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

LINUX = Project(
    name="linux-tinyconfig",
    driver="kbuild",
    source=Debian(
        "linux", "6.1.176", "9aad4025973feea3f0d978e82ab7db97d8d5ce3f59fcc6b1f316153d66e3a504"
    ),
    prepare=(("make", "tinyconfig"),),
    # The kernel says when, by whom and where it was built.
    environment=(
        ("KBUILD_BUILD_HOST", "host"),
        ("KBUILD_BUILD_TIMESTAMP", "2001-09-09"),
        ("KBUILD_BUILD_USER", "user"),
    ),
    build=(("make",),),
    parallel=("-j2",),
    touch="kernel/fork.c",
    products=("vmlinux", "System.map", "arch/*/boot/*Image"),
    tools=tools(bc="bc", bison="bison", flex="flex"),
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
    CLASSIC_LEVEL,
    BZIP2,
    COREUTILS,
    LINUX,
)


def chosen(names: list[str]) -> list[Project]:
    """The projects of these names, all but the slow ones for an empty list; KeyError if unknown."""
    known = {project.name: project for project in PROJECTS}
    return [known[name] for name in names or known if names or not known[name].slow]
