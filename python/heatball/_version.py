"""The version of the package, the same as HB_VERSION in include/heatball/base.h."""

__version__ = "0.3.0"
