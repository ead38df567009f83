"""Rounds that keep to a time."""
import time


def turns(rounds, seconds, least=1):
    """The numbers 0, 1, ... of rounds: `least`, then more up to `rounds` while one as long as the longest yet still fits
    into the seconds."""
    begin, longest = time.monotonic(), 0.0
    for k in range(rounds):
        start = time.monotonic()
        if k >= least and start - begin + longest > seconds:
            return
        yield k
        longest = max(longest, time.monotonic() - start)
