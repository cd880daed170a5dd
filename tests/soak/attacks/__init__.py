"""Scripts and makefiles that try to make smpmake leave another result than the plain driver.

A module of cases is one subject: data alone.  `case` says what a case is, `tree` what is looked at,
`harness` runs a case plainly and under smpmake, `section` makes of all of them a section of
`scripts/soak`.
"""
