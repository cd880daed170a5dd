"""Real packages, built serially and under smpmake, and compared.

`catalogue` says which packages and how each is built, `fetch` brings them here, `trees` compares
folders, `builds` runs commands, `workshop` keeps the serial results, `test_packages` holds the
tests.
"""
