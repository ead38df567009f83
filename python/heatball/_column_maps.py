"""Smooth increasing maps of single columns, for densities of tables with mixed scales.

A map g takes a column to one that is nearer to a Gaussian; ln p(x) = ln p_z(g(x)) + ln g'(x). Each has `forward`, which
gives g and ln g' (-inf outside the domain), and `inverse`. `choose` takes the map whose column has the largest likelihood
under a Gaussian, with the Jacobian, as Box and Cox (1964) choose their power: mean ln g' - ln(standard deviation of g) is to be
largest. A number to reproduce: exp of a standard Gaussian gains ln(sd(x)) - mean(ln x) = 1/2 + ln(e - 1)/2 = 0.771 nats
by the logarithm.
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from heatball._errors import ArgumentError

NAMES = ("identity", "arsinh", "log", "logit", "quantile")
GAIN, GAIN_OF_FEW = 0.02, 3.0  # nats by which a map must beat the identity: GAIN + GAIN_OF_FEW/n
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of arsinh, in units of the quartiles' distance
EDGE = 0.02  # a bound: so large a part of the range at an end has at least
EDGE_FRACTION, EDGE_ROWS = 0.004, 5  # this fraction of the rows, and so many
MARGIN = 0.01  # of the range, between data and a bound that is no round number
MOST_KNOTS = 64


class Identity:
    """z = x."""

    name = "identity"

    def forward(self, x):
        """Return z and ln dz/dx."""
        return x, np.zeros_like(x)

    def inverse(self, z):
        """Return x."""
        return z


class Arsinh:
    """z = arsinh((x - centre)/scale): linear in the middle, logarithmic in both tails."""

    name = "arsinh"

    def __init__(self, centre, scale):
        self.centre, self.scale = centre, scale

    def forward(self, x):
        """Return z and ln dz/dx."""
        u = (x - self.centre) / self.scale
        return np.arcsinh(u), -np.log(np.hypot(1, u)) - math.log(self.scale)

    def inverse(self, z):
        """Return x."""
        return self.centre + self.scale * np.sinh(z)


class Log:
    """z = ln x, of x > 0."""

    name = "log"

    def forward(self, x):
        """Return z and ln dz/dx."""
        inside = x > 0
        z = np.log(np.where(inside, x, 1.0))
        return z, np.where(inside, -z, -np.inf)

    def inverse(self, z):
        """Return x."""
        return np.exp(z)


class Logit:
    """z = ln((x - low)/(high - x)), of low < x < high."""

    name = "logit"

    def __init__(self, low, high):
        self.low, self.high = low, high

    def forward(self, x):
        """Return z and ln dz/dx."""
        inside = (x > self.low) & (x < self.high)
        below = np.log(np.where(inside, x - self.low, 1.0))
        above = np.log(np.where(inside, self.high - x, 1.0))
        return below - above, np.where(inside, math.log(self.high - self.low) - below - above, -np.inf)

    def inverse(self, z):
        """Return x, inside the bounds also after rounding."""
        part = 0.5 * (1 + np.tanh(0.5 * z))
        return np.clip(self.low + (self.high - self.low) * part, np.nextafter(self.low, self.high),
                       np.nextafter(self.high, self.low))


class Quantile:
    """z = Gaussian quantile of the rank of x: a monotone cubic (Fritsch and Carlson 1980) with logarithmic tails."""

    name = "quantile"

    def __init__(self, x):
        normal, n = statistics.NormalDist(), len(x)
        count = int(min(MOST_KNOTS, max(4, n // 20)))
        end = normal.inv_cdf(1 - min(0.25, 10 / n))
        z = np.linspace(-end, end, count)
        at = np.quantile(x, [normal.cdf(value) for value in z])
        keep = np.concatenate([[True], np.diff(at) > 1e-9 * (at[-1] - at[0])])  # of equal values the first
        self.x, self.z = at[keep], z[keep]
        if len(self.x) < 3:
            raise ArgumentError("too few different values")
        self.slope = _monotone_slopes(self.x, self.z)

    def forward(self, x):
        """Return z and ln dz/dx."""
        k = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        inside = np.clip(x, self.x[0], self.x[-1])
        z, slope = self._cubic(k, inside)
        end = np.where(x > self.x[-1], self.slope[-1], self.slope[0]) * np.abs(x - inside)
        return z + np.sign(x - inside) * np.log1p(end), np.log(slope) - np.log1p(end)

    def inverse(self, z):
        """Return x, in the middle by bisection to rounding."""
        inside = np.clip(z, self.z[0], self.z[-1])
        k = np.clip(np.searchsorted(self.z, inside, side="right") - 1, 0, len(self.x) - 2)
        low, high = self.x[k].copy(), self.x[k + 1].copy()
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self._cubic(k, middle)[0] < inside
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        away = np.expm1(np.abs(z - inside))
        return 0.5 * (low + high) + np.sign(z - inside) * away / np.where(z > self.z[-1], self.slope[-1], self.slope[0])

    def _cubic(self, k, x):
        """z and dz/dx in interval k."""
        h, dz = self.x[k + 1] - self.x[k], self.z[k + 1] - self.z[k]
        t, left, right = (x - self.x[k]) / h, self.slope[k] * h, self.slope[k + 1] * h
        z = self.z[k] + t * (left + t * (3 * dz - 2 * left - right + t * (left + right - 2 * dz)))
        slope = (left + t * (2 * (3 * dz - 2 * left - right) + 3 * t * (left + right - 2 * dz))) / h
        return z, np.maximum(slope, 1e-3 * dz / h)


def _monotone_slopes(x, z):
    """Slopes at the knots: harmonic means of the secants, as SciPy's PCHIP has them; at the ends the secants."""
    h, secant = np.diff(x), np.diff(z) / np.diff(x)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inner = (w1 + w2) / (w1 / secant[:-1] + w2 / secant[1:])
    return np.concatenate([secant[:1], inner, secant[-1:]])


def restored(name, values):
    """Return the map with this name and these numbers, as `vars` of it gives them."""
    kind = {one.name: one for one in (Identity, Arsinh, Log, Logit, Quantile)}[name]
    found = kind.__new__(kind)
    found.__dict__.update((key, np.array(value, np.float64) if isinstance(value, list) else float(value))
                          for key, value in values.items())
    found.forward(np.ones(1))  # a number that is missing is found here
    return found


# ---- from a column ---------------------------------------------------------------------------------

def make(name, x, column):
    """Return the map with this name, or (name, low, high), for the values x of a column, which is named in messages."""
    bounds = None
    if not isinstance(name, str):
        name, *bounds = name
    if name == "identity":
        return Identity()
    if name == "arsinh":
        return _best([Arsinh(*pair) for pair in _arsinh_pairs(x)], x)
    if name == "log":
        if x.min() <= 0:
            raise ArgumentError(f"column {column} has {x.min():g}; the map log takes values above 0: take arsinh")
        return Log()
    if name == "logit":
        low, high = bounds or (_bound(x, -1), _bound(x, 1))
        if not low < x.min() <= x.max() < high:
            raise ArgumentError(f"column {column} goes from {x.min():g} to {x.max():g}; the map logit takes values between "
                                f"its bounds {low:g} and {high:g}")
        return Logit(low, high)
    try:
        return Quantile(x)
    except ArgumentError as error:
        raise ArgumentError(f"column {column} has {error}; the map quantile needs more: take identity") from None


def choose(x, column):
    """Return the map under which the column is nearest to a Gaussian."""
    maps = [make("arsinh", x, column)]
    if x.min() > 0:
        maps.append(Log())
    if _is_edge(x, -1) and _is_edge(x, 1):
        maps.append(make("logit", x, column))
    found = _best(maps, x)
    return found if gain(found, x) > GAIN + GAIN_OF_FEW / len(x) else Identity()


def gain(found, x):
    """Nats by which a Gaussian fits the mapped column better than the column itself."""
    z, slopes = found.forward(x)
    return float(slopes.mean() - math.log(max(deviation(z), 1e-300)) + math.log(deviation(x)))


def deviation(x):
    """The standard deviation, also of values whose squares overflow or vanish."""
    away = x / 2 - x.mean() / 2 if np.isfinite(x.mean()) else x / 2 - (x / len(x)).sum() / 2
    most = np.abs(away).max()
    return 2 * most * float((away / most).std()) if most > 0 else 0.0


def _best(maps, x):
    return max(maps, key=lambda one: gain(one, x))


def _arsinh_pairs(x):
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    spread = (high - low) / 1.349 or deviation(x)
    return [(float(middle), float(spread * factor)) for factor in SCALES]


def _is_edge(x, side):
    """Whether many rows lie at this end of the range, as at a bound; the tail of a Gaussian has few."""
    low, high = x.min(), x.max()
    near = x > high - EDGE * (high - low) if side > 0 else x < low + EDGE * (high - low)
    return near.sum() >= max(EDGE_FRACTION * len(x), EDGE_ROWS)


def _bound(x, side):
    """A round number just outside of the data at this end, else a little more than their last value."""
    low, high = float(x.min()), float(x.max())
    margin, end = EDGE * (high - low), high if side > 0 else low
    step = 10.0**math.ceil(math.log10(high - low))
    for unit in (step, step / 2, step / 4, step / 10):
        at = unit * (math.ceil(end / unit) if side > 0 else math.floor(end / unit))
        if at != end and abs(at - end) <= margin:
            return at
    return end + side * MARGIN * (high - low)
