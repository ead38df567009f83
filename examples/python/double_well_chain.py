#!/usr/bin/env python3
"""Ten coupled double wells: the score along a line between two wells, with its error band.

The chain dx_j = (-x_j + 2 x_j/(1 + x_j^2) + k (x_{j-1} - 2 x_j + x_{j+1})) dt + sqrt(2) dW_j has for small k a well at
all x_j = 1 and another where one site, here the fifth, sits near -1. In ten dimensions no grid can go;
the score's fifth component along the line between the wells tells where the density pulls. Without
coupling (k = 0) the chain falls apart into ten problems of one dimension, which the grid solves: that is
the check. Writes double_well_chain.png with its numbers (.csv) and script (.gp).

    PYTHONPATH=python python3 examples/python/double_well_chain.py [DIRECTORY]
"""

import pathlib
import shutil
import subprocess
import sys

import numpy as np

import heatball

DRIFT = "-x[i] + 2*x[i]/(1 + x[i]^2) + k*(x[i-1] - 2*x[i] + x[i+1])"
DIM, SITE = 10, 4
PROBLEM = {"drift": DRIFT, "noise": "sqrt(2)", "initial": "gaussian(mean=0, var=1)", "time": 0.2}
LINE = np.linspace(-1.2, 1.2, 9)
CHECKED = slice(0, None, 4)  # points of the line at which k = 0 is solved as well
SCRIPT = """set terminal pngcairo size 800,500 font "sans,11"
set output "double_well_chain.png"
set datafile separator ","
set xlabel "x_5, the other sites at 1"; set ylabel "fifth component of the score"
set title "Ten coupled double wells: bands of two standard errors"
set key top right; set grid lc rgb "#dddddd"; set style fill solid 0.3 noborder
plot "double_well_chain.csv" every ::1 using 1:($2-2*$3):($2+2*$3) with filledcurves lc rgb "#2171b5" notitle, \\
     "" every ::1 using 1:2 with linespoints pt 7 ps 0.6 lc rgb "#2171b5" title "k = 0.1", \\
     "" every ::1 using 1:4:(2*$5) with yerrorbars pt 7 ps 0.6 lc rgb "#d95f02" title "k = 0", \\
     "double_well_chain_free.csv" every ::1 using 1:2 with lines lc rgb "#000000" title "k = 0, grid in one dimension"
"""


def solve(k, line):
    at = np.ones((len(line), DIM))
    at[:, SITE] = line
    return heatball.solve(at=at, dim=DIM, params={"k": k}, method="walk", samples=8192, seed=2, **PROBLEM)


def single_site(line):
    """The score of one uncoupled site on the line, from the grid."""
    return heatball.solve(at=line, dim=1, params={"k": 0.0}, method="grid", **PROBLEM).score[:, 0]


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    coupled, free, exact = solve(0.1, LINE), solve(0.0, LINE[CHECKED]), single_site(LINE)
    print(coupled.note)
    for i, warning in coupled.warnings.items():
        print(f"x_5 = {LINE[i]:.2f}: {warning}")
    rows = np.full((len(LINE), 6), np.nan)
    rows[:, 0], rows[:, 5] = LINE, exact
    rows[:, 1], rows[:, 2] = coupled.score[:, SITE], coupled.score_se[:, SITE]
    rows[CHECKED, 3], rows[CHECKED, 4] = free.score[:, SITE], free.score_se[:, SITE]
    print("   x_5   score, k = 0.1          score, k = 0            (exact)")
    for x, a, a_se, b, b_se, c in rows:
        check = f"{b:8.4f} +- {b_se:.4f}" if np.isfinite(b) else " " * 18
        print(f"{x:6.2f}   {a:8.4f} +- {a_se:.4f}      {check}      ({c:.4f})")
    np.savetxt(directory / "double_well_chain.csv", rows, delimiter=",", fmt="%.9g", comments="",
               header="x_5,score,score_se,free,free_se,free_exact")
    smooth = np.linspace(LINE[0], LINE[-1], 121)
    np.savetxt(directory / "double_well_chain_free.csv", np.column_stack([smooth, single_site(smooth)]),
               delimiter=",", fmt="%.9g", comments="", header="x_5,score")
    (directory / "double_well_chain.gp").write_text(SCRIPT)
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "double_well_chain.gp"], cwd=directory, check=True)


if __name__ == "__main__":
    main()
