"""Programs that read what is pending in odd situations."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import SCRIPT, Case, Step, script, text
from tests.soak.attacks.files import CALLING, PRINTING, SMALL

CASES: Sequence[Case] = (
    script(
        "python-starts-compiles-three-ways",
        """
        python3 -c '
        import subprocess as s
        s.run(["gcc","-c","a.c","-o","a.o"],close_fds=True,check=True)
        print(len(open("a.o","rb").read()))
        s.run(["gcc","-c","m.c","-o","m.o"],close_fds=False,start_new_session=True)
        print(s.check_output(["wc","-c","m.o"]))
        import os
        os.posix_spawn("/usr/bin/gcc",["gcc","-c","v.c","-DV=1","-o","v.o"],os.environ)
        os.wait()
        print(os.stat("v.o").st_size)
        ' > r
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "folders-listed-nine-ways",
        """
        mkdir o
        gcc -c a.c -o o/a.o
        python3 -c '
        import os,glob
        print(sorted(os.listdir("o")),glob.glob("o/*.o"),os.path.exists("o/a.o"),os.path.getsize("o/a.o")>100)
        ' > r
        perl -e 'opendir D,"o"; print sort readdir D' > r2
        find o -type f -size +10c > r3
        du -a o | wc -l > r4
        tar cf - o | wc -c > r5
        rsync --version >/dev/null 2>&1
        diff -r o o
        cp -r o o2
        echo o/*.o > r6
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "python-polls-for-an-object",
        """
        python3 - <<'X' &
        import os,time
        t=time.time()
        while not os.path.exists('a.o') and time.time()-t<10: time.sleep(.05)
        open('w','w').write(str(os.path.getsize('a.o')))
        X
        sleep 0.5
        gcc -c a.c -o a.o
        wait
        """,
        files=CALLING,
        before="touch -d '1 hour ago' a.c a.h m.c mf.c v.c",
    ),
    script(
        "shebang-of-a-pending-program",
        """
        gcc -o interp i.c
        ./s > r 2>&1
        echo $? >> r
        """,
        files={
            **SMALL,
            "i.c": text(
                r"""
                #include <stdio.h>
                int main(int c,char**v){printf("0 \n",c,"new");return 0;}
                """
            ),
        },
        before=r"""
        printf '#!%s/interp\nx\n' $PWD > s
        chmod +x s
        """,
    ),
    script(
        "shebang-of-a-program-remade",
        """
        gcc -o interp i.c
        ./s > r 2>&1
        echo $? >> r
        """,
        files={
            **SMALL,
            "i.c": text(
                r"""
                #include <stdio.h>
                int main(int c,char**v){printf("0 \n",c,"new");return 0;}
                """
            ),
        },
        before=r"""
        printf '#!%s/interp\nx\n' $PWD > s
        chmod +x s
        cp /bin/echo interp
        """,
    ),
    script(
        "shebang-with-a-relative-name",
        """
        gcc -o interp i.c
        ./s > r 2>&1
        echo $? >> r
        perl -e 'system "./s"' >> r
        """,
        files={
            **SMALL,
            "i.c": text(
                r"""
                #include <stdio.h>
                int main(int c,char**v){printf("0 \n",c,"new");return 0;}
                """
            ),
            "s": text(
                """
                #!./interp arg
                x
                """
            ),
        },
        before="""
        chmod +x s
        cp /bin/echo interp
        """,
    ),
    script(
        "dynamic-linker-copied",
        """
        gcc -o q m.c -Wl,--dynamic-linker=$PWD/ld.so
        cp /lib64/ld-linux-x86-64.so.2 ld.so
        ./q
        echo $? > r
        gcc -shared -fPIC -o lib.so a.c
        cp lib.so lib2.so
        wc -c < lib2.so > r2
        """,
        files=SMALL,
    ),
    script(
        "descriptor-read-after-cp",
        """
        exec 3<out.txt
        gcc -c a.c -o a.o
        cp a.o out.txt
        cat <&3 | wc -c > r
        """,
        files={
            **SMALL,
            "out.txt": "old\n",
        },
    ),
    script(
        "outsider-polls",
        """
        gcc -c a.c -o a.o
        touch go
        while [ ! -f done ]; do sleep 0.05; done
        cat done > r
        """,
        steps=(
            Step(
                SCRIPT,
                edit="""
                setsid sh -c '
                while [ ! -f go ]; do sleep 0.05; done
                (wc -c < a.o || echo none) > done.new
                mv done.new done
                ' > /dev/null 2>&1 &
                """,
            ),
        ),
        files=PRINTING,
        admitted="Static programs and other programs without a guard",
        differs=("^done$", "^r$"),
    ),
    script(
        "node-stat",
        """
        gcc -c a.c -o a.o
        node -e 'const f=require("fs");console.log(f.existsSync("a.o"))' > r1
        gcc -c m.c -o m.o
        node -e 'require("fs").stat("m.o",(e,s)=>console.log(e?"none":s.size))' > r2
        gcc -DQ -c m.c -o m2.o
        node -e '
        require("fs").promises.readFile("m2.o").then(
            b => console.log(b.length), e => console.log("none"))
        ' > r3
        gcc -c a.c -o a3.o
        node -e 'console.log(require("fs").readdirSync(".").filter(x=>x=="a3.o"))' > r4
        gcc -c a.c -o a4.o
        node -e 'require("fs").copyFileSync("a4.o","a5.o")'
        gcc -c a.c -o a6.o
        node -e 'require("child_process").execFileSync("cp",["a6.o","a7.o"])'
        """,
        busy="sleeper -o s0 2\n",
        files=PRINTING,
        needs=("node",),
    ),
    script(
        "static-program-looks",
        """
        gcc -c a.c -o a.o
        ./looks a.o > r 2>&1
        gcc -c m.c -o m.o
        ./looks m.o > r2
        """,
        files={
            **PRINTING,
            "looks.c": text(
                """
                #include <stdio.h>
                #include <sys/stat.h>
                int main(int argc, char **argv) {
                    struct stat found;
                    return printf("%d\\n", argc == 2 && stat(argv[1], &found) == 0) < 0;
                }
                """
            ),
        },
        before="gcc -static looks.c -o looks",
    ),
    script(
        "perl-sys",
        """
        gcc -c a.c -o a.o
        perl -e 'print -s "a.o"' > r1
        gcc -c m.c -o m.o
        perl -e 'print((stat "m.o")[7])' > r2
        gcc -c m.c -o m1.o
        perl -e 'syscall(82,"m1.o","m2.o")'
        gcc -c m.c -o m3.o
        perl -e 'require "syscall.ph"' 2>/dev/null
        perl -e '$r=syscall(257,-100,"m3.o",0);print $r>0?1:0' > r3
        """,
        files=PRINTING,
    ),
    script(
        "watcher-of-a-folder",
        """
        python3 w.py &
        sleep 0.5
        gcc -c a.c -o a.o
        wait
        cat seen > r
        """,
        files={
            **PRINTING,
            "w.py": text(
                r"""
                import ctypes,os,struct
                l=ctypes.CDLL(None); fd=l.inotify_init(); l.inotify_add_watch(fd,b".",8)
                while 1:
                    b=os.read(fd,4096); n=b[16:16+struct.unpack("iIII",b[:16])[3]].rstrip(b"\0")
                    if n==b"a.o": break
                open("seen","w").write(str(os.path.getsize("a.o")))
                """
            ),
        },
    ),
    script(
        "watcher-of-an-object",
        """
        gcc -c a.c -o a.o
        python3 w.py > r &
        sleep 0.5
        wait $!
        wait
        """,
        files={
            **PRINTING,
            "w.py": text(
                """
                import ctypes,os
                l=ctypes.CDLL(None,use_errno=True)
                fd=l.inotify_init()
                print(l.inotify_add_watch(fd,b"a.o",8)>0)
                """
            ),
        },
    ),
    script(
        "tail-f",
        """
        touch log
        tail -f log > seen &
        t=$!
        gcc -Wall -c a.c -o a.o 2>> log
        echo done >> log
        cp a.o log2
        cat log2 | wc -c >> log
        sleep 0.3
        kill $t
        wait
        cmp log seen && echo same > r
        """,
        files=PRINTING,
    ),
    script(
        "vfork-open",
        """
        gcc -c a.c -o a.o
        ./vf > r
        echo $? >> r
        """,
        files={
            **PRINTING,
            "vf.c": text(
                """
                #include <unistd.h>
                #include <fcntl.h>
                #include <sys/wait.h>
                int main() {
                    int s;
                    pid_t p = vfork();
                    if (!p) {
                        int fd = open("a.o", O_RDONLY);
                        if (fd < 0)
                            _exit(7);
                        dup2(fd, 0);
                        fd = open("copy", O_CREAT | O_WRONLY, 0644);
                        dup2(fd, 1);
                        execl("/bin/cat", "cat", (char *)0);
                        _exit(8);
                    }
                    waitpid(p, &s, 0);
                    return WEXITSTATUS(s);
                }
                """
            ),
        },
        before="gcc vf.c -o vf",
    ),
    script(
        "spawn-early",
        """
        ./sp > r
        echo $? >> r
        """,
        files={
            **PRINTING,
            "sp.c": text(
                """
                #define _GNU_SOURCE
                #include <spawn.h>
                #include <unistd.h>
                #include <fcntl.h>
                #include <stdlib.h>
                #include <sys/wait.h>
                extern char **environ;
                int main() {
                    int s;
                    pid_t p;
                    posix_spawn_file_actions_t a;
                    posix_spawn_file_actions_init(&a);
                    posix_spawn_file_actions_addopen(&a, 0, "a.o", O_RDONLY, 0);
                    system("gcc -c a.c -o a.o");
                    char *v[] = {"wc", "-c", 0};
                    if (posix_spawnp(&p, "wc", &a, 0, v, environ))
                        return 9;
                    waitpid(p, &s, 0);
                    posix_spawn_file_actions_init(&a);
                    posix_spawn_file_actions_addchdir_np(&a, "sub");
                    posix_spawn_file_actions_addopen(&a, 0, "b.o", O_RDONLY, 0);
                    system("gcc -c a.c -o sub/b.o");
                    posix_spawn_file_actions_t b;
                    posix_spawn_file_actions_init(&b);
                    posix_spawn_file_actions_addchdir_np(&b, "sub");
                    posix_spawn_file_actions_addopen(&b, 0, "b.o", O_RDONLY, 0);
                    if (posix_spawnp(&p, "wc", &b, 0, v, environ))
                        return 10;
                    waitpid(p, &s, 0);
                    return WEXITSTATUS(s);
                }
                """
            ),
        },
        before="""
        mkdir -p sub
        gcc sp.c -o sp
        """,
    ),
    script(
        "threads",
        """
        for i in 1 2 3 4 5 6; do gcc -c a.c -o t$i.o; done
        python3 -c 'import threading,os;r=[0]*6
        def g(i): r[i]=os.path.getsize("t%d.o"%(i+1))
        t=[threading.Thread(target=g,args=(i,)) for i in range(6)]
        [x.start() for x in t];[x.join() for x in t];print(r)' > r
        python3 -c '
        from multiprocessing import Pool
        import os
        print(Pool(3).map(os.path.getsize,["t%d.o"%i for i in range(1,7)]))
        ' > r2
        """,
        files=PRINTING,
    ),
)
