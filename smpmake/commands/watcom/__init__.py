"""What calls of Open Watcom's tools mean.

An option goes into the table of its tool; what its compilers and linker have in common is in
`words` and `directives`.
"""
