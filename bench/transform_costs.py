#!/usr/bin/env python3
"""What a frame costs: problems with noise that depends on x, and the same problems typed in the coordinates of the frame.

    python3 bench/transform_costs.py [path of heatball]

Processor seconds on one thread, the best of REPEATS runs, interleaved. y = ln x/0.3 turns dX = (X - X^3) dt + 0.3 X dW into
dy = (1 - exp(0.6 y) - 0.045)/0.3 dt + dW.
"""
import math
import os
import sys

COMMAND = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "build", "heatball")
REPEATS = 7
METHODS = ("grid", "walk", "particles")
AS_X = ["--drift", "x - x^3", "--noise", "0.3*x", "--initial", "product(exp(-log(x)^2/(2*0.04))/x)", "--at", "0.8; 1.2"]
AS_Y = ["--drift", "(1 - exp(0.6*x) - 0.045)/0.3", "--noise", "1", "--initial", f"gaussian(mean=0, var={0.04 / 0.09!r})",
        "--at", f"{math.log(0.8) / 0.3!r}; {math.log(1.2) / 0.3!r}"]


def seconds(arguments):
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.execv(COMMAND, [COMMAND, "solve", "-q", "--threads", "1", "--time", "1", *arguments])
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{COMMAND} failed: {' '.join(arguments)}")
    return used.ru_utime + used.ru_stime


def main():
    print("method      typed in y   in a frame   ratio")
    for method in METHODS:
        best = [math.inf, math.inf]
        for _ in range(REPEATS):
            for k, arguments in enumerate((AS_Y, AS_X)):
                best[k] = min(best[k], seconds([*arguments, "--method", method]))
        print(f"{method:10s}  {best[0]:8.3f} s   {best[1]:8.3f} s   {best[1] / best[0]:.2f}")


if __name__ == "__main__":
    main()
