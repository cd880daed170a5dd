"""What calls of compilers, assemblers and linkers mean.

An option of gcc or clang goes into `options`, as a row; of as or ld into `assembler` or `linker`.
What stands before a compiler (ccache) is in `launchers`.
"""
