"""Trials by the thousand, each drawn from a seed: `scripts/soak`; docs/reliability.md says more.

`section` is what every kind of trial has in common; `builds`, `fuzz`, `corpus`, `remembered` and
`attacks` are the kinds; `hostile` and `lines` are what `fuzz` runs as processes of their own.
`ledger` keeps the totals, `loop` goes from trial to trial, `command` is the command line.
"""
