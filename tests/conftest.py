"""The tests take the library of HEATBALL_BUILD when that is set, else what the package finds.

Tests send signals to commands that they start, which inherit what is ignored here: under nohup, or in the background of a
script, an interrupt or a hangup would never arrive.
"""

import os
import pathlib
import signal

if "HEATBALL_BUILD" in os.environ:
    os.environ.setdefault("HEATBALL_LIBRARY",
                          str(pathlib.Path(os.environ["HEATBALL_BUILD"]) / "libheatball.so"))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ.setdefault("MPLBACKEND", "Agg")  # figures without a screen
