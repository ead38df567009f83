"""Deprecated: the former name of `heatball.metrics`; it goes with the next release."""

import warnings

from heatball.metrics import *  # noqa: F401, F403
from heatball.metrics import __all__  # noqa: F401

warnings.warn("heatball.judge is now heatball.metrics; the old name goes with the next release", DeprecationWarning,
              stacklevel=2)
