"""Whole projects."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks.case import Case, Step, text

CASES: Sequence[Case] = (
    Case(
        "cmake-project",
        steps=(
            Step("""
                SMPMAKE cmake -S src -B b -DCMAKE_INSTALL_PREFIX=$PWD/inst | grep -v seconds
                """),
            Step("SMPMAKE make -C b"),
            Step(
                ("make", "-C", "b"),
                edit="""
                sleep 1
                echo '#define G 8' > src/gen.in
                """,
            ),
            Step(
                "SMPMAKE make -C b -k",
                edit="""
                sleep 1
                echo 'int st(void){return oops;}' > src/st.c
                """,
            ),
            Step(
                "SMPMAKE cmake --build b",
                edit="""
                sleep 1
                echo 'int st(void){return 6;}' > src/st.c
                """,
            ),
            Step(r"""SMPMAKE make -C b install test | grep -v 'Test\|sec\|tests'"""),
            Step("SMPMAKE make -C b app VERBOSE=1", edit="rm -rf b/CMakeFiles/app.dir"),
        ),
        files={
            "src/CMakeLists.txt": text(
                """
                cmake_minimum_required(VERSION 3.16)
                project(q C)
                enable_testing()
                add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/gen.h
                    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/gen.in
                        ${CMAKE_BINARY_DIR}/gen.h
                    DEPENDS gen.in)
                add_library(v SHARED v.c ${CMAKE_BINARY_DIR}/gen.h)
                set_target_properties(v PROPERTIES VERSION 1.2.3 SOVERSION 1)
                target_include_directories(v PUBLIC ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
                add_library(st STATIC st.c)
                add_executable(app app.c)
                target_link_libraries(app v st)
                add_custom_command(TARGET app POST_BUILD COMMAND app > ${CMAKE_BINARY_DIR}/app.out)
                add_executable(tool tool.c)
                add_custom_command(OUTPUT made.c COMMAND tool > made.c)
                add_executable(app2 app.c made.c)
                target_link_libraries(app2 v st)
                add_test(NAME t COMMAND app)
                install(TARGETS app v st
                    RUNTIME DESTINATION bin LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
                """
            ),
        },
        before=text(
            r"""
            cd src
            echo '#define G 3' > gen.in
            printf '#include "gen.h"\nint v(void){return G;}\n' > v.c
            printf 'int st(void){return 4;}\n' > st.c
            echo '#include <stdio.h>' > app.c
            echo 'int v(void),st(void);int main(void){printf("%d %d\n",v(),st());}' >> app.c
            printf '#include <stdio.h>\nint main(void){puts("int made=5;");return 0;}' > tool.c
            cd ..
            """
        ),
        after=("make", "-C", "b"),
        ignored=(
            r"^inst/lib/libst\.a$",  # its time is cut to whole seconds
            r"Testing/|CMakeCache|CMakeFiles/[^/]*\.log|\.check_cache|CMakeOutput|LastTest|3\.25|progress",
            r"CMakeFiles/Makefile2$",  # its order is that of addresses
        ),
        needs=("cmake",),
        seconds=300.0,
    ),
)
