#!/usr/bin/env python3
"""Density and score of the noisy Van der Pol oscillator in two dimensions: particles beside the grid.

dx = y dt + s dW1, dy = (mu (1 - x^2) y - x) dt + s dW2: a limit cycle, no potential, no closed form. In two
dimensions a grid still gives the answer; particles need none, and must agree within their errors.
Prints the comparison and writes van_der_pol.png with the numbers (.csv) and the script (.gp) behind it.

    PYTHONPATH=python python3 examples/python/van_der_pol_picture.py [DIRECTORY]
"""

import copy
import pathlib
import shutil
import subprocess
import sys

import numpy as np

import heatball

PROBLEM = pathlib.Path(__file__).resolve().parent.parent / "problems/van_der_pol.ini"
TIME = 1
LOW, HIGH = np.array([-0.9, -2.2]), np.array([2.3, 1.6])
FINE, COARSE = 97, 13  # points along each axis: of the colours, of the particles and arrows
STYLE = pathlib.Path(__file__).with_name("style.gp").read_text(encoding="utf-8")
SCRIPT = """set terminal pngcairo enhanced size 2240,960 font "DejaVu Sans,16" fontscale 1.5 linewidth 2 pointscale 2
set output "van_der_pol.png"
set multiplot layout 1,2
set title "Density (colours) and score (arrows) at {/:Italic t} = 1"
set xrange [-0.9:2.3]; set yrange [-2.2:1.6]; set xlabel "{/:Italic x}"; set ylabel "{/:Italic y}"
set cbrange [0:*]; set cblabel "density, grid"; set tics front
set style arrow 1 head size 0.07,20 lw 2 lt 2
set style arrow 2 head size 0.07,20 lw 1 lt 7
short(u,v) = 0.2/sqrt(1 + u*u + v*v)
set key top left
plot "van_der_pol_grid.csv" every ::1 using 1:2:3 with image notitle, \\
     "van_der_pol.csv" every ::1 using 1:2:($3*short($3,$4)):($4*short($3,$4)) \\
        with vectors as 1 title "score, grid", \\
     "" every ::1 using 1:2:($5*short($5,$6)):($6*short($5,$6)) \\
        with vectors as 2 title "score, particles"
set title "Particles against the grid, at the points of the arrows"; set lmargin 12
set autoscale; set xrange [0:*]; set yrange [0:*]
set xlabel "density, grid"; set ylabel "density, particles"; set key top left
plot x with lines lw 1.5 lt 7 title "equal", \\
     "van_der_pol.csv" every ::1 using 7:8:(2*$9) \\
        with yerrorbars pt 7 ps 0.5 lw 1.5 lt 1 title "particles, ± two standard errors"
unset multiplot
"""


def lattice(side):
    x, y = np.meshgrid(*np.linspace(LOW, HIGH, side).T)
    return np.column_stack([x.ravel(), y.ravel()])


def compare(grid, particles):
    z = (particles.density - grid.density) / particles.density_se
    slopes = (particles.score - grid.score) / particles.score_se
    print(f"points                              {len(z)}, {len(particles.warnings)} with a warning")
    print(f"median error reported, relative     {np.median(particles.density_se / grid.density):.5f}")
    print(f"rms of (density - grid)/error       {np.sqrt(np.mean(z**2)):.3f}")
    print(f"rms of (score - grid)/error         {np.sqrt(np.mean(slopes**2)):.3f}")
    print(f"largest |density - grid|/error      {np.abs(z).max():.2f}")


def picture(directory, background, grid, particles):
    np.savetxt(directory / "van_der_pol_grid.csv", np.column_stack([background.x, background.density]),
               delimiter=",", fmt="%.9g", comments="", header="x,y,density")
    rows = np.column_stack([grid.x, grid.score, particles.score, grid.density, particles.density,
                            particles.density_se])
    np.savetxt(directory / "van_der_pol.csv", rows, delimiter=",", fmt="%.9g", comments="",
               header="x,y,grid_1,grid_2,particles_1,particles_2,grid,particles,particles_se")
    (directory / "van_der_pol.gp").write_text(STYLE + SCRIPT, encoding="utf-8")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "van_der_pol.gp"], cwd=directory, check=True)


def part(solution, chosen):
    """The chosen points of a solution."""
    for name, values in vars(solution).items():
        if isinstance(values, np.ndarray):
            setattr(solution, name, values[chosen])
    return solution


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    directory.mkdir(parents=True, exist_ok=True)
    fine, coarse = lattice(FINE), lattice(COARSE)
    both = heatball.solve(problem=PROBLEM, time=TIME, at=np.vstack([fine, coarse]), method="grid")
    bulk = np.flatnonzero(both.density[len(fine):] > 0.03)
    particles = heatball.solve(problem=PROBLEM, time=TIME, at=coarse[bulk], method="particles",
                               samples=16384, seed=2)
    print(particles.note)
    background, grid = copy.copy(both), copy.copy(both)
    background, grid = part(background, slice(len(fine))), part(grid, len(fine) + bulk)
    compare(grid, particles)
    picture(directory, background, grid, particles)


if __name__ == "__main__":
    main()
