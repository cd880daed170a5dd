"""Programs with little: time, stack, descriptors, system calls."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, script, text
from tests.soak.attacks.files import PRINTING, SMALL

SENDER = {
    "se.c": text(
        """
                #include <stdio.h>
                #include <stddef.h>
                #include <fcntl.h>
                #include <unistd.h>
                #include <sys/prctl.h>
                #include <linux/seccomp.h>
                #include <linux/filter.h>
                #include <linux/audit.h>
                #include <sys/syscall.h>
                int main(int n, char **v) {
                    struct sock_filter f[] = {
                        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, MODE),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
                    struct sock_fprog p = {4, f};
                    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                    if (prctl(PR_SET_SECCOMP, 2, &p))
                        return 9;
                    int fd = open("a.o", O_RDONLY);
                    if (fd < 0) {
                        puts("no a.o");
                        return 5;
                    }
                    char b[4];
                    read(fd, b, 4);
                    write(1, b + 1, 3);
                    return 0;
                }
                """
    ),
}

CASES: Sequence[Case] = (
    script(
        "time-limit-of-a-pending-program",
        """
        gcc m.c -o p
        timeout 1 ./p
        echo $? > r
        """,
        busy="sleeper -o s1 1.5\n",
        files=SMALL,
    ),
    script(
        "time-limit-of-a-reader",
        """
        gcc -c a.c -o a.o
        timeout 1 wc -c a.o > r || echo failed > r2
        """,
        busy="sleeper -o s1 1.5\n",
        files=SMALL,
    ),
    script(
        "alarm-of-perl",
        r"""
        gcc -c a.c -o a.o
        perl -e '
        $SIG{ALRM}=sub{die "late\n"};
        alarm 1;
        open F,"<a.o" or die;
        read F,$x,4;
        alarm 0;
        print length $x;
        ' > r 2>&1
        """,
        busy="sleeper -o s1 1.5\n",
        files=SMALL,
    ),
    script(
        "time-limit-of-python",
        """
        gcc -c a.c -o a.o
        python3 -c '
        import subprocess
        print(subprocess.run(["wc","-c","a.o"],timeout=1,capture_output=True).stdout)
        ' > r 2>&1
        """,
        busy="sleeper -o s1 1.5\n",
        files=SMALL,
        admitted="Captured output, configure and scripts",
        differs=("status", "^r$"),
    ),
    script(
        "thread-with-a-small-stack",
        """
        gcc -c a.c -o a.o
        ./st > r
        echo $? >> r
        """,
        files={
            **SMALL,
            "st.c": text(
                """
                #define _GNU_SOURCE
                #include <pthread.h>
                #include <stdio.h>
                #include <fcntl.h>
                #include <unistd.h>
                #include <sys/stat.h>
                #include <limits.h>
                #include <stdlib.h>
                #include <string.h>
                static void *go(void *x) {
                    int fd = open("n1", O_CREAT | O_WRONLY | O_TRUNC, 0644);
                    write(fd, "a", 1);
                    close(fd);
                    rename("n1", "n2");
                    link("n2", "n3");
                    symlink("n2", "n4");
                    unlink("n3");
                    mkdir("d", 0755);
                    rmdir("d");
                    struct stat s;
                    stat("a.o", &s);
                    fd = open("a.o", O_RDONLY);
                    char b[4];
                    read(fd, b, 4);
                    write(1, b + 1, 3);
                    return 0;
                }
                int main() {
                    pthread_attr_t a;
                    pthread_attr_init(&a);
                    if (pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN))
                        return 3;
                    pthread_t t;
                    if (pthread_create(&t, &a, go, 0))
                        return 4;
                    pthread_join(t, 0);
                    return 0;
                }
                """
            ),
        },
        before="gcc -O1 st.c -o st",
    ),
    script(
        "coroutine-with-a-small-stack",
        """
        gcc -c a.c -o a.o
        ./co > r
        echo $? >> r
        """,
        files={
            **SMALL,
            "co.c": text(
                """
                #define _GNU_SOURCE
                #include <ucontext.h>
                #include <stdio.h>
                #include <fcntl.h>
                #include <unistd.h>
                #include <sys/stat.h>
                #include <stdlib.h>
                #include <sys/mman.h>
                static ucontext_t m, c;
                static void go(void) {
                    int fd = open("n1", O_CREAT | O_WRONLY | O_TRUNC, 0644);
                    write(fd, "a", 1);
                    close(fd);
                    rename("n1", "n2");
                    unlink("n2");
                    fd = open("a.o", O_RDONLY);
                    char b[4];
                    read(fd, b, 4);
                    write(1, b + 1, 3);
                }
                int main() {
                    char *p = mmap(0, 4096 * 3, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                    mprotect(p, 4096, PROT_NONE);
                    getcontext(&c);
                    c.uc_stack.ss_sp = p + 4096;
                    c.uc_stack.ss_size = 8192;
                    c.uc_link = &m;
                    makecontext(&c, go, 0);
                    swapcontext(&m, &c);
                    return 0;
                }
                """
            ),
        },
        before="gcc -O1 co.c -o co",
    ),
    script(
        "seccomp-refuses-sockets",
        """
        gcc -c a.c -o a.o
        ./se1 > r
        echo $? >> r
        """,
        files={
            **SMALL,
            **SENDER,
        },
        before="""
        gcc -DMODE='(SECCOMP_RET_ERRNO|1)' se.c -o se1
        gcc -DMODE=SECCOMP_RET_KILL_PROCESS se.c -o se2
        """,
    ),
    script(
        "seccomp-kills-for-sockets",
        """
        gcc -c a.c -o a.o
        ./se2 > r
        echo $? >> r
        """,
        files={
            **SMALL,
            **SENDER,
        },
        before="""
        gcc -DMODE='(SECCOMP_RET_ERRNO|1)' se.c -o se1
        gcc -DMODE=SECCOMP_RET_KILL_PROCESS se.c -o se2
        """,
    ),
    script(
        "emfile",
        """
        gcc -c a.c -o a.o
        python3 - <<'P' > r
        import os,resource
        l=[]
        resource.setrlimit(resource.RLIMIT_NOFILE,(20,20))
        try:
          while 1: l.append(os.dup(0))
        except OSError: pass
        try: print(os.stat('a.o').st_size)
        except OSError as e: print(e)
        P
        """,
        files=PRINTING,
    ),
    script(
        "emfile-write",
        """
        gcc -c a.c -o a.o
        python3 - <<'P' > r
        import os,resource
        l=[]
        resource.setrlimit(resource.RLIMIT_NOFILE,(20,20))
        try:
          while 1: l.append(os.dup(0))
        except OSError: pass
        try: os.rename('a.o','b.o'); print('ok')
        except OSError as e: print(e)
        os.close(l.pop()); f=open('b.o','ab'); f.write(b'x')
        P
        """,
        files=PRINTING,
    ),
    script(
        "itimer-eintr",
        """
        gcc -c a.c -o a.o
        python3 - <<'P' > r
        import signal,os
        n=0
        signal.signal(signal.SIGALRM,lambda *a:None)
        signal.siginterrupt(signal.SIGALRM,True)
        signal.setitimer(signal.ITIMER_REAL,0.01,0.01)
        import ctypes; l=ctypes.CDLL(None,use_errno=True)
        fd=l.open(b'a.o',0); print(fd>0, ctypes.get_errno() if fd<0 else 0)
        P
        """,
        files=PRINTING,
    ),
    script(
        "time-limit-of-a-compile",
        """
        timeout 1 sleeper -o x 3 || echo slow > slow
        ls x 2>/dev/null
        """,
        busy="",
        options=("-j2",),
        files=PRINTING,
    ),
)
