"""The tests take the library of HEATBALL_BUILD when that is set, else what the package finds.

Tests send signals to commands that they start, which inherit what is ignored here: under nohup, or in the background of a
script, an interrupt or a hangup would never arrive.

Under `make test` (HEATBALL_TEST_SECONDS names a file) the files that took longest in the run before begin first, so that the
processes which share them end together; without such a run, those of LONGEST.
"""

import collections
import json
import os
import pathlib
import signal

if "HEATBALL_BUILD" in os.environ:
    os.environ.setdefault("HEATBALL_LIBRARY",
                          str(pathlib.Path(os.environ["HEATBALL_BUILD"]) / "libheatball.so"))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ.setdefault("MPLBACKEND", "Agg")  # figures without a screen

# From a run of all tests; it only orders them.
LONGEST = ("python/test_generated_problems.py", "python/test_noise.py", "python/test_starts.py", "cli/test_cluster.py",
           "tree/test_install.py", "python/test_particle_bias.py", "cli/test_cli_sampling.py", "cli/test_cli.py",
           "cli/test_cli_evaluate.py", "python/test_solve_stationary.py", "python/test_grid_breaks.py",
           "python/test_train_models.py", "python/test_guided.py", "studies/test_study.py")
SECONDS = os.environ.get("HEATBALL_TEST_SECONDS")
taken = collections.Counter()  # seconds by file


def known_seconds():
    try:
        with open(SECONDS, encoding="utf-8") as file:
            return {str(name): float(seconds) for name, seconds in json.load(file).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {name: 1e3 - place for place, name in enumerate(LONGEST)}


def file_of(nodeid):
    return nodeid.split("::")[0]


def pytest_collection_modifyitems(items):
    if not SECONDS:
        return
    known, first = known_seconds(), {}
    for place, item in enumerate(items):
        first.setdefault(file_of(item.nodeid), place)
    items.sort(key=lambda item: (-known.get(file_of(item.nodeid), 0), first[file_of(item.nodeid)]))


def pytest_runtest_logreport(report):
    taken[file_of(report.nodeid)] += report.duration


def pytest_sessionfinish(session):
    """The process that hands the tests out has all their seconds."""
    if not SECONDS or hasattr(session.config, "workerinput") or not taken:
        return
    partial = f"{SECONDS}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump({name: round(seconds, 2) for name, seconds in taken.most_common()}, file, indent=0)
    os.replace(partial, SECONDS)
