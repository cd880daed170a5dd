"""Features of makefiles: rules, functions, nested makes, installed trees."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import NOTHING, Case, Step, makefile, recipes, script, text
from tests.soak.attacks.files import CALLING, PRINTING

CASES: Sequence[Case] = (
    script(
        "make-j4-in-a-script",
        """
        make -j4
        ./p
        echo $? > r
        """,
        options=("-j2",),
        files={
            **CALLING,
            "Makefile": recipes(
                """
                all: a.o m.o v.o p
                a.o m.o: %.o: %.c
                    gcc -c $< -o $@
                v.o: v.c
                    gcc -DV=1 -c v.c -o v.o
                p: m.o
                    gcc m.o -o p
                """
            ),
        },
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
        after=NOTHING,
        ordered=False,
    ),
    makefile(
        "archive-members",
        """
        ARFLAGS=rvU
        all: lib.a(a.o) lib.a(b.o) lib.a(c.o)
            ranlib -U lib.a
        lib.a(%.o): %.o ; $(AR) $(ARFLAGS) $@ $<
        .PRECIOUS: %.o
        %.o: %.c ; gcc -c $< -o $@
        """,
        steps=(
            Step(),
            Step(),
            Step(
                edit="""
                sleep 1.1  # members have times of whole seconds
                echo 'int bb;' >> b.c
                """
            ),
            Step(("make", "-d", "-r")),
        ),
        before="""
        for i in a b c; do echo "int $i;" > $i.c; done
        touch -d '1 hour ago' *.c
        """,
        ignored=(r"lib\.a$",),
    ),
    makefile(
        "archive-members-by-implicit-rules",
        """
        all: p
        lib.a: lib.a(a.o b.o c.o)
        p: m.c lib.a ; gcc -o p m.c lib.a
        """,
        steps=(
            Step(),
            Step(
                edit="""
                sleep 0.1
                echo 'int bb;' >> b.c
                """
            ),
        ),
        before="""
        for i in a b c; do echo "int $i;" > $i.c; done
        echo 'int main(){return 0;}' > m.c
        touch -d '1 hour ago' *.c
        """,
    ),
    makefile(
        "make-plugin",
        """
        all: out
        load ./plug.so
        plug.so: plug.c ; gcc -shared -fPIC -o plug.so plug.c
        out: ; echo $(hello x) > out
        """,
        steps=(
            Step(),
            Step(
                edit="""
                sed -i s/hi/yo/ plug.c
                rm out
                """
            ),
        ),
        files={
            "plug.c": text(
                """
                #include <gnumake.h>
                #include <string.h>
                int plugin_is_GPL_compatible;
                static char *h(const char *n, unsigned c, char **v) {
                    char *r = gmk_alloc(9);
                    strcpy(r, "hi");
                    return r;
                }
                int plug_gmk_setup(void) {
                    gmk_add_function("hello", h, 1, 1, 0);
                    return 1;
                }
                """
            ),
        },
    ),
    makefile(
        "wildcard-shell",
        """
        OBJS=a.o b.o c.o
        all: $(OBJS) list
        %.o: %.c ; gcc -c $< -o $@
        list: $(OBJS)
            echo $(wildcard *.o) > list
            echo $(shell cat a.o | wc -c) >> list
            $(file >f.txt,$(sort $(wildcard *.o)))
            $(if $(wildcard a.o),echo yes,echo no) >> list
            echo "$(file <f.txt)" >> list
        """,
        before='for i in a b c; do echo "int $i;" > $i.c; done',
    ),
    makefile(
        "second-expansion",
        """
        .SECONDEXPANSION:
        .SUFFIXES:
        DIRS=obj/x obj/y
        all: prog
        obj/%.o: src/%.c | $$(@D)/. ; gcc -c $< -o $@
        %/.: ; mkdir -p $*
        prog: obj/x/a.o obj/y/b.o $$(wildcard extra/*) ; gcc -o $@ $(filter %.o,$^)
            touch .stamp
        clean: ; rm -rf obj prog .stamp
        """,
        steps=(
            Step(),
            Step(edit="echo 'int bb;' >> src/y/b.c"),
            Step(edit="make -s clean"),
        ),
        files={
            "src/x/a.c": "int a;int main(){return 0;}\n",
            "src/y/b.c": "int b;\n",
        },
    ),
    makefile(
        "folder-as-a-prerequisite",
        """
        all: obj/a.o obj/b.o
        obj: ; mkdir obj
        obj/a.o: a.c obj ; gcc -c a.c -o obj/a.o
        obj/b.o: b.c obj ; gcc -c b.c -o obj/b.o
        """,
        steps=(
            Step(),
            Step(),
            Step(),
        ),
        before="""
        for i in a b; do echo "int $i;" > $i.c; done
        touch -d '1 hour ago' *.c
        """,
    ),
    makefile(
        "vpath-objs",
        """
        VPATH=src:gen
        vpath %.o build
        all: build/p
        build/%.o: %.c ; mkdir -p build; gcc -Isrc -c $< -o $@
        gen/g.c: src/g.y ; mkdir -p gen; sed s/X/int/ $< > $@
        build/p: build/m.o build/g.o ; gcc -o $@ $^
        """,
        steps=(
            Step(),
            Step(edit="echo 'X gg;' >> src/g.y"),
        ),
        files={
            "src/m.c": "int main(){return 0;}\n",
            "src/g.y": "X g;\n",
        },
    ),
    makefile(
        "nested-jobs",
        r"""
        all:
            $(MAKE) -C s1; $(MAKE) -j2 -C s2; cd s1 && $(MAKE) -f Makefile two; \
                make -C s2 -j3 all2; env -i PATH="$$PATH" make -C s1 three
        """,
        before=r"""
        for s in s1 s2
        do
            mkdir $s
            for i in a b c; do echo "int $i;" > $s/$i.c; done
            {
                printf 'all: a.o b.o\n%%.o: %%.c ; gcc -c $< -o $@\nall2 two: c.o\n'
                printf 'three: a.o b.o c.o ; ar rc l.a a.o b.o c.o\n'
            } > $s/Makefile
        done
        """,
    ),
    makefile(
        "ninja-inside",
        """
        all: ; ninja -C n; ninja -C n -j1; cat n/x.txt > r
        """,
        steps=(
            Step(),
            Step(edit="echo 'int z;' >> n/a.c"),
        ),
        files={
            "n/build.ninja": text(
                """
                rule cc
                 command = gcc -MD -MF $out.d -c $in -o $out
                 depfile = $out.d
                 deps = gcc
                rule cp
                 command = cp $in $out
                build a.o: cc a.c
                build b.o: cc b.c
                build x.txt: cp a.o
                """
            ),
        },
        before='for i in a b; do echo "int $i;" > n/$i.c; done',
        ignored=(
            r"ninja_log",
            r"ninja_deps",
            "stdout",  # of two at once either may end first
        ),
        needs=("ninja",),
    ),
    makefile(
        "intermediate",
        """
        all: x.out y.out
        %.out: %.mid ; cp $< $@
        %.mid: %.pre ; sed s/a/b/ $< > $@
        %.pre: %.c ; gcc -E -P $< -o $@
        """,
        steps=(
            Step(),
            Step(edit="echo more >> x.c"),
        ),
        files={
            "x.c": "a x\n",
            "y.c": "a y\n",
        },
    ),
    makefile(
        "pattern-multi",
        """
        all: p
        %.tab.c %.tab.h: %.y ; bison -d $< -o $*.tab.c
        lex.o: lex.c g.tab.h ; gcc -c lex.c -o lex.o
        g.tab.o: g.tab.c ; gcc -c g.tab.c -o g.tab.o
        p: lex.o g.tab.o ; gcc -o p lex.o g.tab.o
        """,
        steps=(
            Step(),
            Step(edit="sed -i s/T/U/ g.y"),
        ),
        files={
            "g.y": text(
                """
                %%{
                int yylex(void);void yyerror(const char*s);
                %%}
                %%token T
                %%%%
                s: T ;
                %%%%
                int main(void){return yyparse()*0;} void yyerror(const char*s){}
                """
            ),
        },
        before=r"""
        sed -i 's/%%/%/g; s/^%%$/%%/' g.y
        printf '#include "g.tab.h"\nint yylex(void){return 0;}' > lex.c
        """,
        needs=("bison",),
    ),
    makefile(
        "install-tree",
        r"""
        D=$(CURDIR)/dest
        all: p libv.so.1.2.3 libv.a
        a.o: a.c ; gcc -fPIC -c a.c -o a.o
        m.o: m.c ; gcc -c m.c -o m.o
        libv.a: a.o ; ar rcs libv.a a.o; ranlib libv.a
        libv.so.1.2.3: a.o
            gcc -shared -Wl,-soname,libv.so.1 -o $@ a.o; ln -sf $@ libv.so.1; \
                ln -sf libv.so.1 libv.so
        p: m.o libv.so.1.2.3 ; gcc -o p m.o -L. -lv -Wl,-rpath,'$$ORIGIN/../lib'
        install: all
            install -d -m 755 $(D)/bin $(D)/lib/pkg
            install -s -m 751 p $(D)/bin/
            install -D -m 644 a.h $(D)/include/v/a.h
            install -m 644 -t $(D)/lib libv.a libv.so.1.2.3
            cp -a libv.so libv.so.1 $(D)/lib/
            ln -f $(D)/bin/p $(D)/bin/p2
            ln -sfr $(D)/bin/p $(D)/lib/pkg/plink
            mv -n p.old $(D)/bin/ 2>/dev/null || true
            cp -u p $(D)/bin/p3; cp -b a.h $(D)/include/v/a.h; \
                cp --backup=numbered a.h $(D)/include/v/a.h
            install -C -m 644 a.h $(D)/include/v/b.h; \
                install -b -S .bak -m 600 a.h $(D)/include/v/b.h
            cp --parents a.h dest/x.d/ 2>/dev/null || cp -l a.h dest/hl.h
            strip -p $(D)/bin/p3; objcopy -p --remove-section=.comment $(D)/bin/p3
            install -p -m 644 libv.a $(D)/lib/p.a; cp -p libv.a $(D)/lib/q.a; \
                touch -r a.c $(D)/lib/q.a
            $(D)/bin/p > $(D)/said
            cd $(D) && find . -type f | sort | xargs md5sum > ../sums; \
                tar -C $(D) -cf d.tar --sort=name --mtime=@0 .
        """,
        steps=(
            Step(("make", "install")),
            Step(
                ("make", "install"),
                edit="""
                echo '#define A 5' > a.h
                touch a.c
                echo o > p.old
                """,
            ),
            Step(("make", "install", "DESTDIR=/x")),
        ),
        files={
            **PRINTING,
            "p.old": "old\n",
        },
    ),
    makefile(
        "makefile-that-is-remade",
        """
        all: p
        Makefile: Makefile.in ; sed s/@X@/1/ Makefile.in > gen.mk; sleep 0.05; touch Makefile
        -include gen.mk conf.mk
        conf.mk: conf.c ; gcc -o conf conf.c; ./conf > conf.mk
        p: a.o m.o ; gcc -o p a.o m.o $(LIBS); ./p > r; echo $(MAKE_RESTARTS) $(X) >> r
        %.o: %.c ; gcc $(CF) -c $< -o $@
        """,
        steps=(
            Step(),
            Step(
                edit="""
                sleep 0.1
                sed -i s/CONF/CONF2/ conf.c
                rm *.o
                """
            ),
            Step(
                edit="""
                sleep 0.1
                echo bad >> conf.c
                rm *.o
                """
            ),
            Step(
                edit="""
                sed -i '$d' conf.c
                echo 'X=@X@5' > Makefile.in
                """
            ),
        ),
        files={
            **PRINTING,
            "Makefile.in": "X=@X@\n",
            "conf.c": '#include <stdio.h>\nint main(void){puts("CF=-DCONF");return 0;}',
        },
        before="touch -d '1 hour ago' Makefile.in a.c a.h bad.c conf.c m.c",
    ),
)
