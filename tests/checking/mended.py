"""Small makefiles in the shape of faults that public projects had and mended, each with its twin.

The makefiles are ours: of each project they have only what needs what.
"""

from __future__ import annotations

from typing import Final

from smpmake.checking.findings import Kind
from tests.checking.makefiles import Case

#: Two folders of which one reads the library of the other.
LIBRARY: Final = {
    "lib/Makefile": "libcom.a:\n\techo 1 >$@\n",
    "orbit/Makefile": "sp3orb: ../lib/libcom.a\n\tcat $< >$@\n",
}
#: What two makes compile that do not know of each other.
SHARED: Final = "%.bin: scope.o\n\tcat scope.o >$@\n"

MENDED: Final = [
    # https://github.com/reinauer/xSysInfo/pull/52: objects need headers that phony targets make
    Case("headers-by-phony-targets", Kind.READS, "proto/identify.h",
         ".PHONY: identify\nall: identify prog\n"
         "identify: fd\n\tmkdir -p proto; cp fd proto/identify.h\n"
         "prog: main.o\n\tcp main.o $@\nmain.o: main.c\n\tcat main.c proto/identify.h >$@\n",
         ".PHONY: identify\nall: identify prog\n"
         "identify: proto/identify.h\nproto/identify.h: fd\n\tmkdir -p proto; cp fd $@\n"
         "prog: main.o\n\tcp main.o $@\n"
         "main.o: main.c proto/identify.h\n\tcat main.c proto/identify.h >$@\n",
         {"fd": "1\n", "main.c": ""}),
    # https://github.com/zgimbutas/mwrap/pull/13: flex's code includes the header that bison makes
    Case("lexer-needs-the-parsers-header", Kind.READS, "wrap.hh",
         "wrap: wrap.o lex.o\n\tcat $^ >$@\nwrap.cc: wrap.y\n\tcp $< wrap.hh; cp $< $@\n"
         "wrap.o: wrap.cc\n\tcat wrap.cc wrap.hh >$@\nlex.cc: wrap.l\n\tcp wrap.l $@\n"
         "lex.o: lex.cc\n\tcat lex.cc wrap.hh >$@\n",
         "wrap: wrap.o lex.o\n\tcat $^ >$@\nwrap.cc: wrap.y\n\tcp $< wrap.hh; cp $< $@\n"
         "wrap.o: wrap.cc\n\tcat wrap.cc wrap.hh >$@\nlex.cc: wrap.l\n\tcp wrap.l $@\n"
         "lex.o: lex.cc wrap.cc\n\tcat lex.cc wrap.hh >$@\n",
         {"wrap.y": "1\n", "wrap.l": "2\n"}),
    # https://github.com/Matthias-Wandel/jhead/pull/67: objects in a folder of another rule
    Case("objects-in-a-folder", Kind.FOLDER, "obj",
         "all: objdir jhead\nobjdir:\n\t@mkdir -p obj\njhead: obj/a.o obj/b.o\n\tcat $^ >$@\n"
         "obj/%.o: %.c\n\tcat $< >$@\n",
         "all: objdir jhead\nobjdir:\n\t@mkdir -p obj\njhead: obj/a.o obj/b.o\n\tcat $^ >$@\n"
         "obj/a.o obj/b.o: | objdir\nobj/%.o: %.c\n\tcat $< >$@\n",
         {"a.c": "1\n", "b.c": "2\n"}),
    # https://github.com/NLnetLabs/ldns/pull/192: a link to config.h that only programs need
    Case("link-that-only-programs-need", Kind.READS, "config.h",
         "rrsig: setup rrsig.o\n\tcp rrsig.o $@\nsetup:\n\tln -sf ldns/config.h config.h\n"
         "rrsig.o: rrsig.c ldns/config.h\n\tcat rrsig.c config.h >$@\n",
         "rrsig: setup rrsig.o\n\tcp rrsig.o $@\nsetup:\n\tln -sf ldns/config.h config.h\n"
         "rrsig.o: rrsig.c ldns/config.h setup\n\tcat rrsig.c config.h >$@\n",
         {"rrsig.c": "", "ldns/config.h": "1\n"}),
    # https://github.com/OpenAoE/vblade/issues/16: one object of several lacks the probed header
    Case("one-object-of-several", Kind.READS, "config.h",
         "vblade: aoe.o bpf.o\n\tcat $^ >$@\naoe.o: aoe.c config.h\n\tcat $^ >$@\n"
         "bpf.o: bpf.c\n\tcat bpf.c config.h >$@\n"
         "config.h: probe.sh\n\tif sh probe.sh; then echo yes; else echo no; fi >$@\n",
         "vblade: aoe.o bpf.o\n\tcat $^ >$@\naoe.o: aoe.c config.h\n\tcat $^ >$@\n"
         "bpf.o: bpf.c config.h\n\tcat bpf.c config.h >$@\n"
         "config.h: probe.sh\n\tif sh probe.sh; then echo yes; else echo no; fi >$@\n",
         {"aoe.c": "", "bpf.c": "", "probe.sh": "true\n"}),
    # https://github.com/steveicarus/iverilog/pull/294: files go into folders that installdirs makes
    Case("installed-before-its-folder", Kind.FOLDER, "image/lib/ivl",
         "D = image\nall: installdirs $D/lib/ivl/ivl $D/lib/ivl/constants.vams\n"
         "installdirs:\n\tmkdir -p $D/bin $D/lib/ivl\n"
         "$D/lib/ivl/ivl: ivl\n\tinstall -m755 ivl $@\n"
         "$D/lib/ivl/%.vams: %.vams\n\tinstall -m644 $< $@\n",
         "D = image\nall: installdirs $D/lib/ivl/ivl $D/lib/ivl/constants.vams\n"
         "installdirs:\n\tmkdir -p $D/bin $D/lib/ivl\n"
         "$D/lib/ivl/ivl: ivl | installdirs\n\tinstall -m755 ivl $@\n"
         "$D/lib/ivl/%.vams: %.vams | installdirs\n\tinstall -m644 $< $@\n",
         {"ivl": "1\n", "constants.vams": "2\n"}),
    # https://github.com/ogham/exa/issues/277: the page's rule makes the program's folder, too
    Case("folder-of-a-neighbour", Kind.FOLDER, "bin",
         "install: install-man install-exa\ninstall-exa: exa\n\tinstall -m755 -- exa bin/\n"
         "install-man: exa.1\n\tinstall -dm755 -- bin man1\n\tinstall -m644 -- exa.1 man1/\n",
         "install: install-man install-exa\ninstall-exa: exa\n\tinstall -Dm755 -t bin -- exa\n"
         "install-man: exa.1\n\tinstall -dm755 -- bin man1\n\tinstall -m644 -- exa.1 man1/\n",
         {"exa": "1\n", "exa.1": "2\n"}),
    # https://github.com/Macaulay2/M2/pull/4732: a folder in a folder, and files in it
    Case("folder-in-a-folder", Kind.FOLDER, "share/Core",
         "all: share share/Core share/Core/a.m2\nshare:\n\tinstall -d $@\nshare/Core:\n\tmkdir $@\n"
         "share/Core/%: %\n\tinstall -m644 $< $@\n",
         "all: share share/Core share/Core/a.m2\nshare:\n\tinstall -d $@\n"
         "share/Core: | share\n\tmkdir $@\nshare/Core/%: % | share/Core\n\tinstall -m644 $< $@\n",
         {"a.m2": "1\n"}),
    # https://github.com/json-parser/json-parser/issues/183: of two libraries one makes the folder
    Case("one-of-two-makes-the-folder", Kind.FOLDER, "usr/lib",
         "install: install-shared install-static\n"
         "install-shared: j.so\n\tinstall -d usr/lib || true\n\tinstall -m755 j.so usr/lib/j.so\n"
         "install-static: j.a\n\tinstall -m755 j.a usr/lib/j.a\n",
         "install: install-shared install-static\n"
         "install-shared: j.so\n\tinstall -d usr/lib || true\n\tinstall -m755 j.so usr/lib/j.so\n"
         "install-static: j.a\n\tinstall -d usr/lib || true\n\tinstall -m755 j.a usr/lib/j.a\n",
         {"j.so": "1\n", "j.a": "2\n"}),
    # https://github.com/koron/cmigemo/pull/28: the folder is a sibling of what goes into it
    Case("folder-as-a-sibling", Kind.FOLDER, "utf-8.d",
         "all: utf-8.d utf-8.d/dict\nutf-8.d:\n\tmkdir -p $@\nutf-8.d/dict: dict\n\tcat dict >$@\n",
         "all: utf-8.d utf-8.d/dict\nutf-8.d:\n\tmkdir -p $@\n"
         "utf-8.d/dict: dict utf-8.d\n\tcat dict >$@\n",
         {"dict": "1\n"}),
    # https://github.com/PortAudio/portaudio/pull/452: a stamp's rule makes the objects' folders
    Case("folders-by-a-stamp", Kind.FOLDER, "src/common",
         "all: stamp src/common/a.lo\nstamp:\n\tmkdir -p src/common src/os\n\ttouch $@\n"
         "src/common/a.lo: a.c\n\tcat a.c >$@\n",
         "all: stamp src/common/a.lo\nstamp:\n\tmkdir -p src/common src/os\n\ttouch $@\n"
         "src/common/a.lo: a.c stamp\n\tcat a.c >$@\n",
         {"a.c": "1\n"}),
    # https://github.com/PrideLab/PRIDE-PPPAR/pull/65: folders need the library of another
    Case("folders-need-the-library", Kind.MADE_ELSEWHERE, "lib/libcom.a",
         "D = lib orbit\n.PHONY: $D\nall: $D\n$D:\n\t$(MAKE) -C $@\n",
         "D = lib orbit\n.PHONY: $D\nall: $D\n$D:\n\t$(MAKE) -C $@\norbit: lib\n", LIBRARY),
    # https://github.com/proftpd/proftpd/issues/2143: one make compiles what another links
    Case("linked-by-another-make", Kind.MADE_ELSEWHERE, "base32.o",
         ".PHONY: static tool\nall: static tool\nstatic:\n\t$(MAKE) -f mod.mk mod.a\n"
         "tool:\n\t$(MAKE) -f mod.mk auth\n",
         ".PHONY: static tool\nall: static tool\nstatic:\n\t$(MAKE) -f mod.mk mod.a\n"
         "tool: static\n\t$(MAKE) -f mod.mk auth\n",
         {"mod.mk": "mod.a: base32.o\n\tcp base32.o $@\nbase32.o: base32.c\n\tcp base32.c $@\n"
                    "auth:\n\tcat base32.o >$@\n",
          "base32.c": "1\n"}),
    # https://github.com/cs50/libcs50/pull/192: one rule, three targets, and a common object
    Case("three-targets-of-one-rule", Kind.BOTH_WRITE, "build/b",
         "L = build/a build/b build/c\nall: $L\n$L: s\n\tcp s t; mkdir -p build\n"
         "\tcp t a; cp t b; cp t c; rm -f t\n\tmv a b c build\n",
         "L = build/a build/b build/c\nall: $L\n$L &: s\n\tcp s t; mkdir -p build\n"
         "\tcp t a; cp t b; cp t c; rm -f t\n\tmv a b c build\n",
         {"s": "1\n"}),
    # https://github.com/pq-code-package/mlkem-native/pull/608: each library is tried as a.out
    Case("one-program-to-try", Kind.BOTH_WRITE, "a.out",
         "all: 512.a 768.a\n%.a: %.o\n\tcp $< $@\n\tcat $@ >a.out; test -s a.out; rm a.out\n",
         "all: 512.a 768.a\n%.a: %.o\n\tcp $< $@\n\tcat $@ >$*.out; test -s $*.out; rm $*.out\n",
         {"512.o": "1\n", "768.o": "2\n"}, at_once=True),
    # https://github.com/kdlucas/byte-unixbench/issues/3: two programs from objects of one name
    Case("objects-of-one-name", Kind.BOTH_WRITE, "dhry_1.o",
         "all: dhry2 dhry2reg\ndhry2: dhry.c\n\tcat $< >dhry_1.o; cat dhry_1.o >$@; rm dhry_1.o\n"
         "dhry2reg: dhry.c\n\t(echo reg; cat dhry.c) >dhry_1.o; cat dhry_1.o >$@; rm dhry_1.o\n",
         "all: dhry2 dhry2reg\ndhry2: dhry.c\n\tcat $< >dhry_1.o; cat dhry_1.o >$@; rm dhry_1.o\n"
         "dhry2reg: dhry.c\n\t(echo reg; cat dhry.c) >reg_1.o; cat reg_1.o >$@; rm reg_1.o\n",
         {"dhry.c": "1\n"}, at_once=True),
    # https://github.com/cheusov/dictd/issues/29: two grammars, and yacc's one y.tab.c for both
    Case("one-yacc-for-two-grammars", Kind.BOTH_WRITE, "y.tab.c",
         "all: client.c server.c\n%.c: %.y\n\tcp $< y.tab.c\n\tmv y.tab.c $@\n",
         "all: client.c server.c\n%.c: %.y\n\tcp $< $*.tab.c\n\tmv $*.tab.c $@\n",
         {"client.y": "1\n", "server.y": "2\n"}, at_once=True),
    # https://github.com/wryun/es-shell/issues/89: y.tab.h is nobody's, and dump reads it
    Case("header-of-no-rule", Kind.READS, "token.h",
         "es: y.tab.o dump.o\n\tcat $^ >$@\ny.tab.c: parse.y\n\tcp parse.y token.h; cp parse.y $@\n"
         "y.tab.o: y.tab.c\n\tcat y.tab.c token.h >$@\ndump.o: dump.c\n\tcat dump.c token.h >$@\n",
         "es: y.tab.o dump.o\n\tcat $^ >$@\ny.tab.c token.h &: parse.y\n"
         "\tcp parse.y token.h; cp parse.y y.tab.c\n"
         "y.tab.o: y.tab.c\n\tcat y.tab.c token.h >$@\n"
         "dump.o: dump.c token.h\n\tcat dump.c token.h >$@\n",
         {"parse.y": "1\n", "dump.c": "2\n"}),
    # https://github.com/intel/mpi-benchmarks/pull/79: makes that each compile the same objects
    Case("makes-that-compile-the-same", Kind.BOTH_WRITE, "scope.o",
         ".PHONY: one two\nall: one two\none two:\n\t$(MAKE) -f in.mk KIND=$@ $@.bin\n",
         ".NOTPARALLEL:\n.PHONY: one two\nall: one two\none two:\n"
         "\t$(MAKE) -f in.mk KIND=$@ $@.bin\n",
         {"in.mk": f"{SHARED}scope.o: FORCE\n\techo $(KIND) >$@\nFORCE:\n"}),
    # https://github.com/BuGlessRB/procmail/pull/17: the second make relies on the first's object
    Case("second-make-finds-it-done", Kind.BOTH_WRITE, "scope.o",
         ".PHONY: bins recommend\nall: bins recommend\n"
         "bins recommend:\n\t$(MAKE) -f in.mk $@.bin\n",
         ".PHONY: bins recommend\nall: bins recommend\nrecommend: bins\n"
         "bins recommend:\n\t$(MAKE) -f in.mk $@.bin\n",
         {"in.mk": f"{SHARED}scope.o: scope.c\n\tcp scope.c $@\n", "scope.c": "1\n"}),
    # https://github.com/icing/mod_md/issues/10: a rule calls the make of a folder once more
    Case("one-folder-two-makes", Kind.BOTH_WRITE, "src/x.tmp",
         ".PHONY: src\nall: src all-local\nsrc:\n\t$(MAKE) -C src NAME=all\n"
         "all-local: FORCE\n\t$(MAKE) -C src NAME=local\nFORCE:\n",
         ".PHONY: src\nall: src all-local\nsrc:\n\t$(MAKE) -C src NAME=all\n"
         "all-local: src\n\t$(MAKE) -C src NAME=local\nFORCE:\n",
         {"src/Makefile": "$(NAME):\n\techo $@ >x.tmp; mv x.tmp $@\n"}, at_once=True),
    # https://github.com/heimdal/heimdal/pull/999: a manual includes a file with variables
    Case("manual-includes-a-product", Kind.READS, "vars.texi",
         "all: vars.texi hx.info\nvars.texi: vars.in\n\tsed s,@p@,/usr, vars.in >$@\n"
         "hx.info: hx.texi\n\tcat hx.texi vars.texi >$@\n",
         "all: vars.texi hx.info\nvars.texi: vars.in\n\tsed s,@p@,/usr, vars.in >$@\n"
         "hx.info: hx.texi vars.texi\n\tcat hx.texi vars.texi >$@\n",
         {"vars.in": "@p@\n", "hx.texi": "1\n"}),
]  # fmt: skip
