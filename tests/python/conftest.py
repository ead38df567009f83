"""The tests take the library of HEATBALL_BUILD when that is set, else what the package finds."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

if "HEATBALL_BUILD" in os.environ:
    os.environ.setdefault("HEATBALL_LIBRARY",
                          str(pathlib.Path(os.environ["HEATBALL_BUILD"]) / "libheatball.so"))
