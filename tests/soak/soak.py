#!/usr/bin/env python3
"""Long and crowded: what a test of seconds cannot show. Needs Python, `ATOLL_BIN`, and cargo for the part `fuzz`.

    soak.py [--minutes 60] [--cycles 5000] [--idle 10000] [--dribbling 1000] [--rounds 200000] [part...]

Parts: sessions (six kinds made and closed, nothing may be left), dribbling (clients that never finish), idle (open
connections that say nothing), offenders (programs that take all they can get), crashes (servers killed while they
write), fuzz (made-up archives, requests and inputs), steady (50 commands a second). Each prints its numbers and fails
when a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys

import faults
import load

PARTS = {
    "sessions": load.sessions,
    "dribbling": load.dribbling,
    "idle": load.idle,
    "offenders": faults.offenders,
    "crashes": faults.crashes,
    "fuzz": faults.fuzz,
    "steady": load.steady,
}
# Files this program and the server need beside their connections.
SPARE_FILES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long steady goes on")
    parser.add_argument("--rate", type=float, default=50, help="commands a second of steady")
    parser.add_argument("--cycles", type=int, default=5000, help="sessions made and closed")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that say nothing")
    parser.add_argument("--dribbling", type=int, default=1000, help="clients that never finish")
    parser.add_argument("--requests", type=int, default=500, help="requests timed beside those two")
    parser.add_argument("--seconds", type=float, default=10, help="how long each offender goes on")
    parser.add_argument("--crashes", type=int, default=200, help="servers killed")
    parser.add_argument("--rounds", type=int, default=200_000, help="rounds of each fuzz target")
    parser.add_argument("--seed", type=int, default=1, help="what they begin with")
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}; all of them when none is named")
    options = parser.parse_args()
    if unknown := set(options.part) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: use {', '.join(PARTS)}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options.idle = min(options.idle, hard - SPARE_FILES)
    failed = []
    for name in options.part or PARTS:
        try:
            asyncio.run(PARTS[name](options))
        except AssertionError as error:
            failed.append(name)
            print(f"{name}: FAILED: {error}")
        sys.stdout.flush()
    sys.exit(f"broken promises: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
