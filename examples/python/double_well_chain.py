#!/usr/bin/env python3
"""Ten coupled double wells: the score along a line between two wells, with its error band.

The chain dx_j = (x_j - x_j^3 + k (x_{j-1} - 2 x_j + x_{j+1})) dt + 0.8 dW_j of
problems/double_well_chain.ini has for small k a well at all x_j = 1 and another where one site, here the
fifth, sits near -0.75 and the others near 1. In ten dimensions no grid can go; walks answer point by point
along the line on which only the fifth site moves, each with its error. Without coupling (k = 0) the chain
falls apart into ten problems of one dimension, which the grid solves: that is the check. A score whose
error cannot be trusted is named with its warning and left out of the figure. Writes double_well_chain.png
with its numbers (.csv) and script (.gp).

    PYTHONPATH=python python3 examples/python/double_well_chain.py [DIRECTORY]
"""

import pathlib
import shutil
import subprocess
import sys

import numpy as np

import heatball

PROBLEM = pathlib.Path(__file__).resolve().parent.parent / "problems/double_well_chain.ini"
DIM, SITE, TIME = 10, 4, 0.5
LINE = np.linspace(-1.2, 1.2, 9)
CHECKED = slice(0, None, 4)  # points of the line at which k = 0 is solved as well
STYLE = pathlib.Path(__file__).with_name("style.gp").read_text(encoding="utf-8")
SCRIPT = """set terminal pngcairo enhanced size 1600,1000 font "DejaVu Sans,16" fontscale 1.5 linewidth 2 pointscale 2
set output "double_well_chain.png"
set xlabel "{/:Italic x}_5 (the other nine sites at 1)"; set ylabel "component 5 of the score"
set title "Ten double wells at {/:Italic t} = 0.5: walks and grid"
set xrange [-1.3:1.3]; set style fill solid 0.3 noborder
plot "double_well_chain.csv" every ::1 using 1:($2-2*$3):($2+2*$3) with filledcurves lt 1 notitle, \\
     "double_well_chain_free.csv" every ::1 using 1:2 with lines lw 2 lt 7 title "{/:Italic k} = 0, grid in one dimension", \\
     "double_well_chain.csv" every ::1 using 1:2:(2*$3) with yerrorbars pt 7 ps 0.9 lw 2 lt 1 \\
        title "{/:Italic k} = 0.1, walks, ± two standard errors", \\
     "" every ::1 using 1:2 with lines lw 1 lt 1 notitle, \\
     "" every ::1 using 1:4:(2*$5) with yerrorbars pt 5 ps 0.9 lw 2 lt 2 \\
        title "{/:Italic k} = 0, walks, ± two standard errors"
"""


def solve(k, line):
    at = np.ones((len(line), DIM))
    at[:, SITE] = line
    return heatball.solve(problem=PROBLEM, dim=DIM, params={"k": k}, time=TIME, at=at, method="walk",
                          samples=24576, seed=2)


def trusted(solution):
    """The score of the site and its error, not a number where the error cannot be trusted."""
    score, error = solution.score[:, SITE], solution.score_se[:, SITE]
    return np.where(np.isfinite(error), [score, error], np.nan)


def single_site(line):
    """The score of one uncoupled site on the line, from the grid."""
    return heatball.solve(problem=PROBLEM, dim=1, params={"k": 0.0}, time=TIME, at=line,
                          method="grid").score[:, 0]


def row_text(x, coupled, coupled_se, free, free_se, exact):
    pairs = [f"{value:8.4f} +- {error:.4f}" if np.isfinite(error) else " " * 18
             for value, error in ((coupled, coupled_se), (free, free_se))]
    return f"{x:6.2f}   {pairs[0]}      {pairs[1]}      ({exact:.4f})"


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    directory.mkdir(parents=True, exist_ok=True)
    coupled, free = solve(0.1, LINE), solve(0.0, LINE[CHECKED])
    print(coupled.note)
    for name, solution, line in (("0.1", coupled, LINE), ("0", free, LINE[CHECKED])):
        for i, warning in solution.warnings.items():
            print(f"k = {name}, x_5 = {line[i]:.2f}: {warning}")
    rows = np.full((len(LINE), 6), np.nan)
    rows[:, 0], rows[:, 5] = LINE, single_site(LINE)
    rows[:, 1:3] = trusted(coupled).T
    rows[CHECKED, 3:5] = trusted(free).T
    print("   x_5   score, k = 0.1          score, k = 0            (exact, k = 0)")
    for row in rows:
        print(row_text(*row))
    np.savetxt(directory / "double_well_chain.csv", rows, delimiter=",", fmt="%.9g", comments="",
               header="x_5,score,score_se,free,free_se,free_exact")
    smooth = np.linspace(LINE[0], LINE[-1], 121)
    np.savetxt(directory / "double_well_chain_free.csv", np.column_stack([smooth, single_site(smooth)]),
               delimiter=",", fmt="%.9g", comments="", header="x_5,score")
    (directory / "double_well_chain.gp").write_text(STYLE + SCRIPT, encoding="utf-8")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "double_well_chain.gp"], cwd=directory, check=True)


if __name__ == "__main__":
    main()
