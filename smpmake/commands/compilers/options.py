"""The options of gcc and clang: which file each reads or writes, and which are harmless.

A word is looked up whole, then by its longest prefix, then among the -f names; what is in none of
the tables is not understood and its command not deferred.  To teach smpmake an option is to add a
word here.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from smpmake.commands.options import Marker, Row, Table, Take, names, rows


class Do(Marker):
    """What an option does, as far as files, status and splitting are concerned."""

    # The first group is what nearly every word of nearly every command is.
    NOTHING = enum.auto()  # changes the code or the messages, no file's name
    WHOLE = enum.auto()  # the same, but the sources of one link are better left together
    # What is made.
    COMPILE = enum.auto()
    ASSEMBLY = enum.auto()
    PREPROCESS = enum.auto()
    SYNTAX_ONLY = enum.auto()
    OUTPUT = enum.auto()
    LANGUAGE = enum.auto()
    # Dependency files.
    DEPS_ONLY = enum.auto()
    DEPS_TOO = enum.auto()
    DEPS_FILE = enum.auto()
    DEPS_DETAIL = enum.auto()
    # Side outputs, named after the output or the source.
    DEBUG = enum.auto()
    NO_DEBUG = enum.auto()
    SPLIT_DWARF = enum.auto()
    NO_SPLIT_DWARF = enum.auto()
    NOTES = enum.auto()
    NO_NOTES = enum.auto()
    STACK_USAGE = enum.auto()
    CALL_GRAPH = enum.auto()
    RECORD = enum.auto()
    TIME_TRACE = enum.auto()
    TEMPS = enum.auto()
    TEMPS_OBJ = enum.auto()
    TEMPS_HERE = enum.auto()
    LTO = enum.auto()
    LTO_PARALLEL = enum.auto()
    NO_LTO = enum.auto()
    NAMES = enum.auto()  # renames side outputs
    # Files named by the option.
    SEARCH = enum.auto()  # a folder with headers
    SYSROOT = enum.auto()  # a folder with folders of headers and libraries
    READS = enum.auto()
    READS_FIRST = enum.auto()  # a header before the first line, which may be precompiled
    READS_IF_A_PATH = enum.auto()
    WRITES = enum.auto()
    WRITES_AFTER_EQUALS = enum.auto()
    # Words for the other stages.
    FOR_PREPROCESSOR = enum.auto()
    FOR_ASSEMBLER = enum.auto()
    FOR_LINKER = enum.auto()
    X_PREPROCESSOR = enum.auto()
    X_ASSEMBLER = enum.auto()
    X_LINKER = enum.auto()
    X_CLANG = enum.auto()
    # Linking.
    LIBRARY = enum.auto()
    LIBRARY_FOLDER = enum.auto()
    SCRIPT = enum.auto()
    # Refusals.
    QUERY = enum.auto()
    VERBOSE = enum.auto()
    UNPREDICTABLE = enum.auto()
    UNKNOWN = enum.auto()


# -f names that change the code or the messages and write no file, in all forms: -fNAME, -fno-NAME,
# -fNAME=VALUE.  From gcc 4 to 15 and clang 3 to 19.
HARMLESS_F = """
PIC PIE aapcs-bitfield-load aapcs-bitfield-width abi-compat-version abi-version access-control
addrsig aggressive-loop-optimizations align-functions align-jumps align-labels align-loops
aligned-allocation aligned-new allocation-dce allow-editor-placeholders allow-leading-underscore
allow-parameterless-variadic-functions allow-store-data-races allow-unsupported
alt-external-templates altivec altivec-src-compat analyzer analyzer-call-summaries
analyzer-checker analyzer-debug-text-art analyzer-feasibility analyzer-fine-grained
analyzer-show-duplicate-count analyzer-state-merge analyzer-state-purge
analyzer-suppress-followups analyzer-transitivity analyzer-verbose-edges
analyzer-verbose-state-changes analyzer-verbosity ansi-escape-codes apple-kext apple-link-rtlib
apple-pragma-pack application-extension approx-func argument-alias argument-noalias
argument-noalias-anything argument-noalias-global asan-shadow-offset asm asm-blocks
associative-math assume-nothrow-exception-dtor assume-sane-operator-new
assume-sane-operators-new-delete assumptions async-exceptions asynchronous-unwind-tables
auto-import auto-inc-dec auto-profile-accurate autolink avoid-store-forwarding
basic-block-sections binutils-version bit-tests blocks borland-extensions bounds-safety
bracket-depth branch-count-reg branch-target-load-optimize branch-target-load-optimize2
btr-bb-exclusive building-libgcc builtin builtin-module-map builtin-printf c++-abi
c++-static-destructors caller-saves canon-prefix-map canonical-system-headers caret-diagnostics
cf-protection cf-runtime-abi char8_t check-new check-pointer-bounds chkp-check-incomplete-type
chkp-check-read chkp-check-write chkp-first-field-has-own-bounds
chkp-flexible-struct-trailing-arrays chkp-instrument-calls chkp-instrument-marked-only
chkp-narrow-bounds chkp-narrow-to-innermost-array chkp-optimize chkp-store-bounds
chkp-treat-zero-dynamic-size-as-infinite chkp-use-fast-string-functions
chkp-use-nochk-string-functions chkp-use-static-bounds chkp-use-static-const-bounds
chkp-use-wrappers chkp-zero-input-bounds-for-main cilkplus clang-abi-compat code-hoisting
color-diagnostics combine-stack-adjustments comment-block-commands common compare-elim
complete-member-pointers concepts concepts-diagnostics-depth concepts-ts cond-mismatch
condition-coverage conserve-space conserve-stack const-string-class constant-cfstrings
constant-string-class constexpr-backtrace-limit constexpr-cache-depth constexpr-depth
constexpr-fp-except constexpr-loop-limit constexpr-ops-limit constexpr-steps
contract-assumption-mode contract-build-level contract-continuation-mode contract-mode
contract-role contract-semantic contract-strict-declarations contracts convergent-functions
coro-aligned-allocation coroutines coroutines-ts coverage-compilation-dir coverage-mapping
coverage-prefix-map cprop-registers crash-diagnostics crossjumping cs-profile-generate
cse-follow-jumps cse-skip-blocks cx-limited-range cxx-exceptions data-sections dbg-cnt
dbg-cnt-list dce debug-compilation-dir debug-cpp debug-default-version debug-info-for-profiling
debug-macro debug-prefix-map debug-ranges-base-address debug-types-section declspec
deduce-init-list defer-pop delayed-branch delayed-template-parsing delete-dead-exceptions
delete-null-pointer-checks denormal-fp-math devirtualize devirtualize-at-ltrans
devirtualize-speculatively diagnostics-absolute-paths diagnostics-color diagnostics-column-origin
diagnostics-column-unit diagnostics-escape-format diagnostics-fixit-info diagnostics-format
diagnostics-generate-patch diagnostics-hotness-threshold diagnostics-minimum-margin-width
diagnostics-parseable-fixits diagnostics-path-format diagnostics-plain-output
diagnostics-print-source-range-info diagnostics-show-caret diagnostics-show-category
diagnostics-show-context diagnostics-show-cwe diagnostics-show-event-links
diagnostics-show-highlight-colors diagnostics-show-hotness diagnostics-show-labels
diagnostics-show-line-numbers diagnostics-show-location diagnostics-show-note-include-stack
diagnostics-show-option diagnostics-show-path-depths diagnostics-show-template-tree
diagnostics-text-art-charset diagnostics-urls digraphs direct-access-external-data directives-only
discard-value-names dollar-ok dollars-in-identifiers double-square-bracket-attributes dse
dwarf-directory-asm dwarf-exceptions dwarf2-cfi-asm early-inlining elide-constructors elide-type
eliminate-dwarf2-dups eliminate-unused-debug-symbols eliminate-unused-debug-types embed-bitcode
embed-bitcode-marker embed-offload-object emit-all-decls emit-class-debug-always
emit-struct-debug-baseonly emit-struct-debug-detailed emit-struct-debug-reduced emulated-tls
enable-matrix enforce-eh-specs enum-int-equiv error-limit escaping-block-tail-calls exceptions
excess-precision exec-charset expensive-optimizations experimental-isel experimental-library
experimental-new-constant-interpreter experimental-new-pass-manager
experimental-relative-c++-abi-vtables experimental-strict-floating-point ext-dce
ext-numeric-literals extend-arguments extended-identifiers extern-tls-init external-templates
fast-math fat-lto-objects file-compilation-dir file-prefix-map fine-grained-bitfield-accesses
finite-loops finite-math-only float-store fold-mem-offsets fold-simple-inlines for-scope
force-addr force-dwarf-frame force-emit-vtables force-enable-int128 forward-propagate fp-contract
fp-exception-behavior fp-int-builtin-inexact fp-model free-labels freestanding friend-injection
fuchsia-api-level function-cse function-sections gcse gcse-after-reload gcse-las gcse-lm gcse-sm
gimple global-isel gnat-encodings gnu-inline-asm gnu-keywords gnu-runtime gnu-tm gnu-unique
gnu89-inline gnuc-version graphite graphite-identity guess-branch-probability guiding-decls
handle-exceptions hardcfr-check-exceptions hardcfr-check-noreturn-calls
hardcfr-check-returning-calls hardcfr-skip-leaf harden-compares harden-conditional-branches
harden-control-flow-redundancy hardened hoist-adjacent-loads honor-infinities honor-nans honor-std
hosted huge-objects ident if-conversion if-conversion2 ignore-exceptions implement-inlines
implicit-asm implicit-constexpr implicit-inline-templates implicit-templates indirect-inlining
inhibit-size-directive inline inline-atomics inline-functions inline-functions-called-once
inline-hint-functions inline-limit inline-small-functions inline-stringops input-charset
instrument-function-entry-bare instrument-functions instrument-functions-after-inlining
instrument-functions-exclude-file-list instrument-functions-exclude-function-list integrated-as
integrated-cc1 ipa-bit-cp ipa-cp ipa-cp-alignment ipa-cp-clone ipa-icf ipa-icf-functions
ipa-icf-variables ipa-matrix-reorg ipa-modref ipa-profile ipa-pta ipa-pure-const ipa-ra
ipa-reference ipa-reference-addressable ipa-reorder-for-locality ipa-sra ipa-stack-alignment
ipa-strict-aliasing ipa-struct-reorg ipa-vrp ira-algorithm ira-hoist-pressure ira-loop-pressure
ira-region ira-share-save-slots ira-share-spill-slots ira-verbose
isolate-erroneous-paths-attribute isolate-erroneous-paths-dereference ivopts jmc jump-tables
keep-gc-roots-live keep-inline-functions keep-static-consts keep-static-functions labels-ok
large-source-files late-combine-instructions lax-vector-conversions leading-underscore
legacy-pass-manager lifetime-dse limit-function-alignment linker-output live-patching
live-range-shrinkage local-ivars loop-block loop-flatten loop-interchange loop-nest-optimize
loop-optimize loop-parallelize-all loop-strip-mine loop-unroll-and-jam lra-remat
lto-compression-level lto-jobs lto-odr-type-merging lto-partition lto-report lto-report-wpa
macro-backtrace-limit macro-prefix-map malloc-dce math-errno max-errors max-include-depth
max-tokens max-type-align mem-report mem-report-wpa merge-all-constants merge-constants
merge-debug-strings message-length minimize-whitespace modulo-sched modulo-sched-allow-regmoves
move-loop-invariants move-loop-stores ms-compatibility ms-compatibility-version ms-extensions
ms-hotpatch ms-memptr-rep ms-omit-default-lib ms-tls-guards ms-volatile msc-version mudflap
mudflapth multiflags nested-functions new-abi new-alignment new-infallible new-inheriting-ctors
new-ttp-matching next-runtime nil-receivers non-call-exceptions nonansi-builtins nonnull-objects
nothrow-opt objc-abi-version objc-arc objc-arc-exceptions objc-convert-messages-to-runtime-calls
objc-direct-dispatch objc-disable-direct-methods-for-testing objc-encode-cxx-class-template-spec
objc-exceptions objc-gc objc-infer-related-result-type objc-legacy-dispatch objc-link-runtime
objc-nilcheck objc-nonfragile-abi objc-nonfragile-abi-version objc-runtime
objc-sender-dependent-dispatch objc-sjlj-exceptions objc-std objc-weak offload offload-abi
offload-options omit-frame-pointer openacc openmp openmp-assume-teams-oversubscription
openmp-assume-threads-oversubscription openmp-cuda-blocks-per-sm openmp-cuda-force-full-runtime
openmp-cuda-mode openmp-cuda-number-of-sm openmp-cuda-teams-reduction-recs-num
openmp-enable-irbuilder openmp-extensions openmp-implicit-rpath openmp-new-driver
openmp-optimistic-collapse openmp-relocatable-target openmp-simd openmp-target-debug
openmp-target-new-runtime openmp-targets openmp-use-tls openmp-version operator-arrow-depth
operator-names optimization-record-passes optimize-register-move optimize-sibling-calls
optimize-strlen order-file-instrumentation pack-struct parse-all-comments partial-inlining
pascal-strings patchable-function-entry path-coverage pcc-struct-return pch-codegen pch-debuginfo
pch-deps pch-instantiate-templates pch-preprocess pch-validate-input-files-content peel-loops
peephole peephole2 permissive permitted-flt-eval-methods pic pie plan9-extensions plt
post-ipa-mem-report pre-ipa-mem-report predictive-commoning prefetch-loop-arrays
preserve-as-comments pretty-templates printf-return-value profile profile-abs-path
profile-correction profile-dir profile-exclude-files profile-filter-files profile-generate
profile-info-section profile-instr-generate profile-partial-training profile-prefix-map
profile-prefix-path profile-reorder-functions profile-report profile-reproducible
profile-sample-accurate profile-update profile-values protect-parens pseudo-probe-for-profiling
ptrauth-calls ptrauth-intrinsics ptrauth-returns random-seed range-for-ext-temps
raw-string-literals reciprocal-math ree reg-struct-return register-global-dtors-with-atexit
regmove relaxed-template-template-args rename-registers reorder-blocks reorder-blocks-algorithm
reorder-blocks-and-partition reorder-functions replace-objc-classes reroll-loops
rerun-cse-after-loop rerun-loop-opt reschedule-modulo-scheduled-loops
retain-comments-from-system-headers ropi rounding-math rtlib-add-rpath rtti rtti-data rwpi
sanitize sanitize-address-destructor sanitize-address-field-padding
sanitize-address-globals-dead-stripping sanitize-address-outline-instrumentation
sanitize-address-poison-custom-array-cookie sanitize-address-use-after-return
sanitize-address-use-after-scope sanitize-address-use-odr-indicator sanitize-address-vcasan-lib
sanitize-blacklist sanitize-cfi-canonical-jump-tables sanitize-cfi-cross-dso
sanitize-cfi-icall-experimental-normalize-integers sanitize-cfi-icall-generalize-pointers
sanitize-coverage sanitize-coverage-allowlist sanitize-coverage-blacklist
sanitize-coverage-ignorelist sanitize-coverage-whitelist sanitize-hwaddress-abi
sanitize-hwaddress-experimental-aliasing sanitize-ignorelist sanitize-kcfi
sanitize-link-c++-runtime sanitize-link-runtime sanitize-memory-param-retval
sanitize-memory-track-origins sanitize-memory-use-after-dtor sanitize-minimal-runtime
sanitize-recover sanitize-sections sanitize-stats sanitize-system-blacklist
sanitize-system-ignorelist sanitize-thread-atomics sanitize-thread-func-entry-exit
sanitize-thread-memory-access sanitize-trap sanitize-undefined-strip-path-components
sanitize-undefined-trap-on-error sched-critical-path-heuristic sched-dep-count-heuristic
sched-group-heuristic sched-interblock sched-last-insn-heuristic sched-pressure
sched-rank-heuristic sched-spec sched-spec-insn-heuristic sched-spec-load
sched-spec-load-dangerous sched-stalled-insns sched-stalled-insns-dep sched-verbose
sched2-use-superblocks sched2-use-traces schedule-fusion schedule-insns schedule-insns2
section-anchors see seh-exceptions sel-sched-pipelining sel-sched-pipelining-outer-loops
sel-sched-reschedule-pipelined selective-scheduling selective-scheduling2 semantic-interposition
short-enums short-wchar show-column show-overloads show-skipped-includes show-source-location
shrink-wrap shrink-wrap-separate signaling-math signaling-nans signed-bitfields signed-char
signed-zeros simd-cost-model single-precision-constant sized-deallocation sjlj-exceptions
skip-odr-check-in-gmf slp-vectorize speculatively-call-stored-functions spell-checking
spell-checking-limit split-dwarf-inlining split-ivs-in-unroller split-loops split-lto-unit
split-machine-functions split-paths split-stack split-wide-types split-wide-types-early squangle
ssa-backprop ssa-phiopt sso-struct stack-check stack-clash-protection stack-limit
stack-limit-register stack-limit-symbol stack-protector stack-protector-all
stack-protector-explicit stack-protector-strong stack-reuse stack-size-section standalone-debug
stats stdarg-opt store-merging strength-reduce strict-aliasing strict-enums strict-flex-arrays
strict-float-cast-overflow strict-overflow strict-prototype strict-return
strict-volatile-bitfields strict-vtable-pointers strong-eval-order strub struct-path-tbaa
swift-async-fp sync-libcalls tabstop temp-file template-backtrace-limit template-depth
thread-jumps threadsafe-statics time-report time-report-details time-trace-granularity tls-model
toplevel-reorder tracer track-macro-expansion trampoline-impl trampolines trap-function
trapping-math trapv trapv-handler tree-bit-ccp tree-builtin-call-dce tree-ccp tree-ch
tree-coalesce-inlined-vars tree-coalesce-vars tree-copy-prop tree-copyrename tree-cselim tree-dce
tree-dominator-opts tree-dse tree-forwprop tree-fre tree-loop-distribute-patterns
tree-loop-distribution tree-loop-if-convert tree-loop-if-convert-stores tree-loop-im
tree-loop-ivcanon tree-loop-linear tree-loop-optimize tree-loop-vectorize tree-lrs
tree-parallelize-loops tree-partial-pre tree-phiprop tree-pre tree-pta tree-reassoc tree-salias
tree-scev-cprop tree-sink tree-slp-vectorize tree-slsr tree-sra tree-store-ccp
tree-store-copy-prop tree-switch-conversion tree-tail-merge tree-ter tree-vect-loop-version
tree-vectorize tree-vectorizer-verbose tree-vrp trigraphs trivial-auto-var-init
trivial-auto-var-init-stop-after unconstrained-commons unique-basic-block-section-names
unique-internal-linkage-names unique-section-names unit-at-a-time unreachable-traps
unroll-all-loops unroll-completely-grow-size unroll-loops unsafe-loop-optimizations
unsafe-math-optimizations unsigned-bitfields unsigned-char unswitch-loops unwind-tables use-cuid
use-cxa-atexit use-cxa-get-exception-ptr use-init-array use-ld use-line-directives
use-linker-plugin validate-ast-input-files-content var-tracking var-tracking-assignments
var-tracking-assignments-toggle var-tracking-uninit variable-expansion-in-unroller veclib
vect-cost-model vectorize verbose-asm version-loops-for-strides virtual-function-elimination
visibility visibility-dllexport visibility-externs-dllimport visibility-externs-nodllstorageclass
visibility-from-dllstorageclass visibility-global-new-delete-hidden visibility-inlines-hidden
visibility-inlines-hidden-static-local-var visibility-ms-compat visibility-nodllstorageclass vpt
vtable-gc vtable-thunks wasm-exceptions weak web whole-program whole-program-vtables
wide-exec-charset working-directory wrapv wrapv-pointer writable-strings xl-pragma-pack
xray-always-emit-customevents xray-always-emit-typedevents xray-always-instrument xray-attr-list
xray-function-groups xray-function-index xray-ignore-loops xray-instruction-threshold
xray-instrument xray-instrumentation-bundle xray-link-deps xray-modes xray-never-instrument
xray-selected-function-group zee zero-call-used-regs zero-init-padding-bits
zero-initialized-in-bss zvector
"""

# The same for names that go on: -ffixed-REGISTER, -fno-builtin-FUNCTION.
HARMLESS_F_PREFIXES = (
    "builtin-",
    "call-saved-",
    "call-used-",
    "constexpr-",
    "fixed-",
    "inline-limit-",
    "plugin-arg-",
    "template-depth-",
)

OPTIONS: tuple[Row[Do], ...] = rows(
    {
        (Do.NOTHING, Take.FLAG): """
            --debug --extra-warnings --optimize --pedantic --pedantic-errors --profile -C -CC -P
            -Qn -Qunused-arguments -Qy -ansi -canonical-prefixes -dA -dD -dI -dM -dN -dP -dU -dp
            -dynamic -fdump-internal-locations -fdump-noaddr -fdump-unnumbered
            -fdump-unnumbered-links -fno-module-lazy -fno-modules -fno-modules-ts
            -fno-profile-arcs -fno-record-gcc-switches -fno-save-optimization-record
            -fno-stack-usage -fprofile-use -integrated-as -no-canonical-prefixes -no-integrated-as
            -no-integrated-cpp -no-pie -nobuiltininc -nodefaultlibs -nolibc -nopie -nostartfiles
            -nostdinc -nostdinc++ -nostdlib -nostdlib++ -nostdlibinc -pass-exit-codes -pedantic
            -pedantic-errors -pie -pipe -posix -pthread -pthreads -rdynamic -remap -s -shared
            -shared-libasan -shared-libgcc -shared-libsan -static -static-libasan -static-libgcc
            -static-libgfortran -static-liblsan -static-libsan -static-libstdc++ -static-libtsan
            -static-libubsan -static-pie -symbolic -traditional -traditional-cpp -trigraphs -undef
            -w
            """,
        (Do.NOTHING, Take.NEXT): """
            --define-macro --param --undefine-macro -Xanalyzer -arch -framework
            -gcc-toolchain -imultiarch -imultilib -mllvm -mthread-model -rpath -target
            """,
        (Do.NOTHING, Take.GLUED): """
            --define-macro= --gcc-install-dir= --gcc-toolchain= --ld-path= --param= --rtlib=
            --std= --stdlib= --target= --undefine-macro= --unwindlib= -O -Rpass -W
            -fcf-protection= -fdiagnostics-color= -fdisable- -fenable- -foffload= -fprofile-dir=
            -fsanitize= -g -m -resource-dir= -rtlib= -std= -stdlib= -unwindlib=
            """,
        (Do.NOTHING, Take.EITHER): """
            -A -D -G -Tbss -Tdata -Ttext -U -e -iprefix -iwithprefix -iwithprefixbefore
            -iwithsysroot -u -z
            """,
        (Do.SEARCH, Take.EITHER): """
            -B -F -I -idirafter -iframework -iquote -isystem -isystem-after
            """,
        (Do.SEARCH, Take.NEXT): "--include-directory --include-directory-after",
        (Do.SEARCH, Take.GLUED): "--include-directory-after= --include-directory=",
        (Do.SYSROOT, Take.NEXT): "--sysroot",
        (Do.SYSROOT, Take.GLUED): "--sysroot=",
        (Do.SYSROOT, Take.EITHER): "-isysroot",
        (Do.WHOLE, Take.FLAG): """
            -H -Q -fcompare-debug -fprofile-arcs -frecord-command-line -frecord-gcc-switches -p
            -pg -r -time
            """,
        # What is made.
        (Do.COMPILE, Take.FLAG): "--compile -c",
        (Do.ASSEMBLY, Take.FLAG): "--assemble -S",
        (Do.PREPROCESS, Take.FLAG): "--preprocess -E",
        (Do.SYNTAX_ONLY, Take.FLAG): "-fsyntax-only",
        (Do.OUTPUT, Take.EITHER): "-o",
        (Do.OUTPUT, Take.NEXT): "--output",
        (Do.OUTPUT, Take.GLUED): "--output=",
        (Do.LANGUAGE, Take.EITHER): "-x",
        (Do.LANGUAGE, Take.NEXT): "--language",
        (Do.LANGUAGE, Take.GLUED): "--language=",
        # Dependency files.
        (Do.DEPS_ONLY, Take.FLAG): "--dependencies --user-dependencies -M -MM",
        (Do.DEPS_TOO, Take.FLAG): "-MD -MMD",
        (Do.DEPS_FILE, Take.EITHER): "-MF",
        (Do.DEPS_DETAIL, Take.FLAG): "--print-missing-file-dependencies -MG -MP -MV",
        (Do.DEPS_DETAIL, Take.EITHER): "-MQ -MT",
        # Side outputs.
        (Do.DEBUG, Take.FLAG): """
            -g -g1 -g2 -g3 -gdwarf -gdwarf-2 -gdwarf-3 -gdwarf-4 -gdwarf-5 -gfull -ggdb -ggdb1
            -ggdb2 -ggdb3 -gline-directives-only -gline-tables-only -glldb -gmlt -gsce
            """,
        (Do.NO_DEBUG, Take.FLAG): "-g0 -ggdb0",
        (Do.SPLIT_DWARF, Take.FLAG): "-gsplit-dwarf -gsplit-dwarf=split",
        (Do.NO_SPLIT_DWARF, Take.FLAG): "-gno-split-dwarf -gsplit-dwarf=single",
        (Do.NOTES, Take.FLAG): "--coverage -coverage -ftest-coverage",
        (Do.NO_NOTES, Take.FLAG): "-fno-test-coverage",
        (Do.STACK_USAGE, Take.FLAG): "-fstack-usage",
        (Do.CALL_GRAPH, Take.FLAG): "-fcallgraph-info",
        (Do.CALL_GRAPH, Take.GLUED): "-fcallgraph-info=",
        (Do.RECORD, Take.FLAG): "-fsave-optimization-record",
        (Do.TIME_TRACE, Take.FLAG): "-ftime-trace",
        (Do.TEMPS, Take.FLAG): "--save-temps -save-temps",
        (Do.TEMPS_OBJ, Take.FLAG): "-save-temps=obj",
        (Do.TEMPS_HERE, Take.FLAG): "-save-temps=cwd",
        (Do.LTO, Take.FLAG): "-flto -flto=1 -flto=jobserver",
        (Do.LTO_PARALLEL, Take.GLUED): "-flto=",
        (Do.NO_LTO, Take.FLAG): "-fno-lto",
        (Do.NAMES, Take.NEXT): """
            --dumpbase --dumpbase-ext --dumpdir -dumpbase -dumpbase-ext -dumpdir
            """,
        # Files named by the option.
        (Do.READS, Take.NEXT): """
            --imacros -fprofile-instr-use -include-pch -ivfsoverlay
            """,
        (Do.READS, Take.EITHER): "-imacros",
        (Do.READS, Take.GLUED): """
            --imacros= -fauto-profile= -fpre-include= -fprofile-instr-use= -fprofile-list=
            -fprofile-remapping-file= -fprofile-sample-use= -fprofile-use= -fthinlto-index=
            """,
        (Do.READS_FIRST, Take.NEXT): "--include",
        (Do.READS_FIRST, Take.EITHER): "-include",
        (Do.READS_FIRST, Take.GLUED): "--include=",
        (Do.READS_IF_A_PATH, Take.GLUED): "--specs= -specs=",
        (Do.READS_IF_A_PATH, Take.NEXT): "--specs -specs",
        (Do.WRITES, Take.NEXT): "--serialize-diagnostics -aux-info -serialize-diagnostics",
        (Do.WRITES, Take.EITHER): "-MJ",
        (Do.WRITES, Take.GLUED): """
            -aux-info= -fdump-final-insns= -fdump-go-spec= -foptimization-record-file=
            -fthin-link-bitcode=
            """,
        (Do.WRITES_AFTER_EQUALS, Take.GLUED): "-fopt-info",
        # Words for the other stages.
        (Do.FOR_PREPROCESSOR, Take.GLUED): "-Wp,",
        (Do.FOR_ASSEMBLER, Take.GLUED): "-Wa,",
        (Do.FOR_LINKER, Take.GLUED): "-Wl,",
        (Do.X_PREPROCESSOR, Take.NEXT): "-Xpreprocessor",
        (Do.X_ASSEMBLER, Take.NEXT): "-Xassembler",
        (Do.X_LINKER, Take.NEXT): "-Xlinker",
        (Do.X_CLANG, Take.NEXT): "-Xclang",
        # Linking.
        (Do.LIBRARY, Take.EITHER): "-l",
        (Do.LIBRARY_FOLDER, Take.EITHER): "-L",
        (Do.LIBRARY_FOLDER, Take.NEXT): "--library-directory",
        (Do.LIBRARY_FOLDER, Take.GLUED): "--library-directory=",
        (Do.SCRIPT, Take.EITHER): "-T",
        # Refusals.
        (Do.QUERY, Take.FLAG): """
            -### --help --target-help --version -dumpfullversion -dumpmachine -dumpspecs
            -dumpversion -fhelp -fno-help -ftarget-help -fversion -help -mcpu=? -mcpu=help
            -mtune=? -mtune=help
            """,
        (
            Do.QUERY,
            Take.GLUED,
        ): "--autocomplete= --completion= --help= --print- -ccc-print- -print-",
        (Do.VERBOSE, Take.FLAG): "--verbose -v",
        (Do.UNPREDICTABLE, Take.FLAG): """
            --analyze -emit-ast -emit-llvm -fdiagnostics-format=json-file
            -fdiagnostics-format=sarif-file -fplugin -frepo
            """,
        (Do.UNPREDICTABLE, Take.NEXT): "--dump -index-store-path",
        (Do.UNPREDICTABLE, Take.GLUED): """
            --dump= -d -fbuild-session- -fcxx-modules -fdiagnostics-add-output=
            -fdiagnostics-set-output= -fdump- -fimplicit-module -fmemory-profile -fmodule
            -fpass-plugin= -fplugin= -fprebuilt- -fproc-stat-report -fprofile-note= -fself-test
            -ftime-trace= -fvtable-verify= -gen- -time=
            """,
        (Do.UNKNOWN, Take.FLAG): "-ObjC -ObjC++ -fpreprocessed",
        (Do.UNKNOWN, Take.NEXT): "--config -working-directory -wrapper",
        (Do.UNKNOWN, Take.GLUED): "-gnat -mmodule -module",
    }
)

_F_NAMES = names(HARMLESS_F)


def _harmless_f(word: str) -> Do | None:
    """-fNAME, -fno-NAME and -fNAME=VALUE for the names above."""
    if not word.startswith("-f"):
        return None
    name = word[2:].partition("=")[0].removeprefix("no-")
    known = name in _F_NAMES or name.startswith(HARMLESS_F_PREFIXES)
    return Do.NOTHING if known else None


TABLE: Table[Do] = Table(OPTIONS, otherwise=_harmless_f)


class Language(NamedTuple):
    """What a source goes through.

    cpp     it is preprocessed (and so has dependencies).
    cc      it is compiled, as against only assembled.
    temp    the suffix of its preprocessed form.
    header  it is made into a precompiled header.
    """

    cpp: bool
    cc: bool
    temp: str = ""
    header: bool = False


_C = Language(True, True, ".i")
_CXX = Language(True, True, ".ii")
_OBJC = Language(True, True, ".mi")
_OBJCXX = Language(True, True, ".mii")
_READY = Language(False, True)
_ASM = Language(False, False)
_ASM_CPP = Language(True, False, ".s")
_C_HEADER = Language(True, True, ".i", header=True)
_CXX_HEADER = Language(True, True, ".ii", header=True)

# -x LANGUAGE
LANGUAGES: dict[str, Language] = {
    "assembler": _ASM,
    "assembler-with-cpp": _ASM_CPP,
    "c": _C,
    "c++": _CXX,
    "c++-cpp-output": _READY,
    "c++-header": _CXX_HEADER,
    "c-header": _C_HEADER,
    "cpp-output": _READY,
    "objective-c": _OBJC,
    "objective-c++": _OBJCXX,
    "objective-c++-cpp-output": _READY,
    "objective-c-cpp-output": _READY,
}

# The suffix of a source; every other name is the linker's.
SUFFIXES: dict[str, Language] = {
    **dict.fromkeys((".c",), _C),
    **dict.fromkeys((".C", ".CPP", ".c++", ".cc", ".cp", ".cpp", ".cxx", ".CC", ".CXX"), _CXX),
    **dict.fromkeys((".m",), _OBJC),
    **dict.fromkeys((".M", ".mm"), _OBJCXX),
    **dict.fromkeys((".i", ".ii", ".mi", ".mii"), _READY),
    **dict.fromkeys((".s",), _ASM),
    **dict.fromkeys((".S", ".sx"), _ASM_CPP),
    **dict.fromkeys((".h",), _C_HEADER),
    **dict.fromkeys((".H", ".HPP", ".h++", ".hh", ".hp", ".hpp", ".hxx", ".tcc"), _CXX_HEADER),
}

# What the C++ drivers make of C's suffixes.
CXX_SUFFIXES: dict[str, Language] = {**SUFFIXES, ".c": _CXX, ".h": _CXX_HEADER}

# Languages that some compilers take and this table does not follow (modules, interface files).
FOREIGN_SUFFIXES = names(
    """
    .F .F03 .F08 .F90 .F95 .FOR .FPP .FTN .adb .ads .bc .c++m .ccm .cl .cob .cppm .cu .cui .cxxm
    .d .dd .di .f .f03 .f08 .f90 .f95 .for .fpp .ftn .go .hip .ixx .java .ll .mod .pas .pcm .rs
    .swift
    """
)

# Words for cc1 itself behind -Xclang and for cpp behind -Wp, that change no file's name.
HARMLESS_XCLANG = names(
    """
    -disable-O0-optnone -disable-llvm-passes -fcolor-diagnostics -fno-pch-timestamp
    -fno-validate-pch -fopenmp -target-cpu -target-feature -triple -verify
    """
)

# Variables that make a compiler write files which its command line does not name.
UNUSUAL_VARIABLES = (
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "GCC_COMPARE_DEBUG",
    "CCC_OVERRIDE_OPTIONS",
    "CC_PRINT_OPTIONS",
    "CC_PRINT_HEADERS",
    "CC_LOG_DIAGNOSTICS",
)
