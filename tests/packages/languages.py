"""The corpus, second part: packages of languages that have a way of their own to build them."""

from __future__ import annotations

from .catalogue import Excuse
from .project import Debian, GoModule, NpmPackage, Project, Sdist, Wheel, tools

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
    slow=True,
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
    tools=(*tools(), ("xml2-config", "libxml2-dev"), ("xslt-config", "libxslt1-dev")),
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
    tools=(*tools(perl="perl"), ("/usr/lib/*/perl/*/CORE/perl.h", "libperl-dev")),
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
    tools=tools(R="r-base-core"),
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
    tools=(*tools(ruby="ruby"), ("/usr/include/ruby-*/ruby.h", "ruby-dev")),
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
    tools=tools(go="golang-go"),
    ignored=(Excuse(".gocache/*", "go's own cache, whose entries hold times"),),
)

CLASSIC_LEVEL = Project(
    name="classic-level",
    driver="npm rebuild, node-gyp",
    source=NpmPackage(
        "classic-level",
        "3.0.0",
        "d9e6af24197bcc8a4575c89df3d6d3aab8be0b182d26d0ee80355d4c8ee442d7",
        (
            NpmPackage(
                "napi-macros",
                "2.2.2",
                "38d89034a07786f39b0d4ddc505ae8aaeb1b1c319e14fcff8f5bd116c63d631a",
            ),
            NpmPackage(
                "node-gyp-build",
                "4.8.4",
                "940450fb4158bddc23ae156432a67338a4d7ab6a585b639c61b3b0a14d2bac24",
            ),
        ),
    ),
    data="node-addon",
    build=(("npm", "rebuild"),),
    environment=(
        ("npm_config_build_from_source", "true"),
        # The headers are there; node-gyp would download them.
        ("npm_config_nodedir", "/usr"),
        ("npm_config_offline", "true"),
        ("npm_config_update_notifier", "false"),
    ),
    parallel=("--jobs=2",),
    # node-gyp cleans first.
    anew=True,
    touch="node_modules/classic-level/deps/leveldb/leveldb-1.20/db/db_impl.cc",
    products=("node_modules/classic-level/build/Release/classic_level.node",),
    at_once=(Excuse("node_modules/.bin/*", "npm makes its links side by side"),),
    tools=(*tools(npm="npm"), ("/usr/include/node/node_api.h", "libnode-dev")),
)
