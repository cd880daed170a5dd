"""The command line."""
from __future__ import annotations
import sys

def main() -> None:
    import asyncio
    from smpmake.session import Session, print_failures
    from smpmake.config import Settings
    out = asyncio.run(Session(Settings(), sys.argv[1:]).run())
    r = out.record
    print_failures(r)
    print(f"wall {(r.ended-r.started)/1e9:.2f} deferred {sum(c.verdict=='deferred' for c in r.commands)} of {len(r.commands)} status {r.status} server {r.server_cpu_us/1e6:.2f}", out.faults, file=sys.stderr)
    for c in r.commands:
        if c.reason: print(c.reason, c.detail, c.command[:100], file=sys.stderr)
    sys.exit(r.status)
