"""Records what an engine heard, was told by the system and did; and plays it again without a build.

An instrument for whoever works on smpmake (CONTRIBUTING.md): a debugger, a benchmark of the server,
and the oracle of a change to the engine that is to change nothing.
"""
