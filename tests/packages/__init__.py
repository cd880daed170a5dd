"""Real packages, built serially and under smpmake, and compared.

`catalogue` says which packages and how each is built, `fetch` brings them here, `trees` compares
folders, `builds` runs commands, `workshop` keeps the serial results, `test_packages` holds the
tests: what happens when a build is touched, broken or interrupted.

The corpus is wider and asks less of each: `projects` says which and with which drivers, `sources`
brings them here, `trials` puts them through the same steps serially and under smpmake, `verdicts`
compares, `test_corpus` holds the tests, and `corpus` makes a table.
"""
