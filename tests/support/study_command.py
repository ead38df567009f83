"""A study as a user runs it, and the files of its figures."""

import shutil

from command_line import run

HAS_GNUPLOT = shutil.which("gnuplot") is not None


def run_study(name, seed, directory, *arguments):
    done = run("study", name, "--quick", "--seed", seed, "-o", directory, *arguments, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figure_files(figures):
    extensions = ["plot.csv", "gp"] + (["svg", "png"] if HAS_GNUPLOT else [])
    return {f"{figure}.{extension}" for figure in figures for extension in extensions}
