"""Diffusions with narrow features, drawn at random, with references that share nothing with heatball.

`narrow(seed)` draws a product of one-dimensional problems (d = 1 to 4) that has one feature of width 10^-5 to 10^-1:

    well       a well or barrier exp(-((x - c)/w)^2) in the potential, stationary density;
    dip        noise g(x) with a dip or peak of width w, stationary density, d = 1;
    pulse      a pulse A exp(-((t - p)/w)^2) in the drift, linear or cubic drift;
    step       tanh((t - p)/w) in the drift;
    noise      a pulse or dip of g(t)^2, linear or cubic drift;
    bump       a bump B exp(-((x - c)/w)^2) in the drift, finite time;
    component  a narrow component of the initial density, linear drift, as a mixture or as a formula.

References: Gaussians whose moments are integrals over intervals graded toward the feature; stationary densities by
Gauss-Legendre sums on such intervals; spectral elements with elements and time steps graded likewise. Cubic problems with a
pulse in the drift are solved in coordinates that move with the integral of the pulse.
"""

import functools

import numpy as np
from scipy.special import erf, logsumexp, ndtri

from generated_problems import Draw, function, number
from spectral_elements import Density

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
KINDS = ("well", "pulse", "bump", "component", "noise", "dip", "step")


def graded(low, high, features, first=0.05, widest=None):
    """Ends of intervals from low to high: `first` widths at a feature, twice as long from one to the next."""
    ends = [low, high]
    for place, width in features:
        away = first * width * 2.0**np.arange(0, 60)
        ends += [place, *(place + away), *(place - away)]
    ends = np.unique(np.clip(ends, low, high))
    most = widest or (high - low) / 40
    pieces = [np.linspace(a, b, int(np.ceil((b - a) / most)) + 1)[:-1] for a, b in zip(ends[:-1], ends[1:])]
    return np.concatenate([*pieces, [high]])


def integral(f, ends):
    """int f from the first of the ends to each of them."""
    half = np.diff(ends) / 2
    values = f(ends[:-1, None] + half[:, None] * (1 + NODES))
    return np.concatenate([[0], np.cumsum(half * (values * WEIGHTS).sum(1))])


class Gaussian:
    """Mixtures of Gaussians: weights, means, variances (k,)."""

    def __init__(self, weights, means, variances):
        self.w, self.m, self.v = (np.asarray(a, float) for a in (weights, means, variances))

    def at(self, x):
        z = x[:, None] - self.m
        each = np.log(self.w / self.w.sum()) - z**2 / (2 * self.v) - 0.5 * np.log(2 * np.pi * self.v)
        total = logsumexp(each, axis=1)
        part = np.exp(each - total[:, None])
        return total, (part * -z / self.v).sum(1), 1e-10 * (1 + abs(total)), 1e-9 * (1 + abs(z) / self.v).max(1)

    def draw(self, rng):
        k = rng.choice(len(self.w), p=self.w / self.w.sum())
        return self.m[k] + np.sqrt(self.v[k]) * rng.uniform(-1.8, 1.8)


class Stationary:
    """exp(log_u)/Z on [low, high], log_u(x) up to a constant, score(x)."""

    def __init__(self, log_u, score, low, high, features):
        self.log_u, self.score = log_u, score
        self.ends = graded(low, high, features)
        x = self.ends[:-1, None] + np.diff(self.ends)[:, None] / 2 * (1 + NODES)
        self.peak = log_u(x).max()
        self.mass = integral(lambda y: np.exp(log_u(y) - self.peak), self.ends)
        self.log_z = self.peak + np.log(self.mass[-1])

    def at(self, x):
        value, score = self.log_u(x) - self.log_z, self.score(x)
        return value, score, 1e-8 * (1 + abs(value)), 1e-8 * (1 + abs(score))

    def draw(self, rng):
        keep = np.concatenate([[True], np.diff(self.mass) > 0])
        return np.interp(rng.uniform(0.02, 0.98) * self.mass[-1], self.mass[keep], self.ends[keep])


class Solved:
    """A spectral-element density of one start, read at x - shift."""

    def __init__(self, density, shift=0.0):
        self.density, self.shift = density, shift

    def at(self, x):
        u, slope, error, slope_error = (a[:, 0] for a in self.density.at(x - self.shift))
        relative = np.abs(error / u) + 1e-9
        return np.log(u), slope / u, relative, (slope_error + abs(slope) * relative) / u + 1e-9

    def draw(self, rng):
        return float(self.density.quantile(rng.uniform(0.02, 0.98), 0)) + self.shift


def elements(f, diffusion, mean, var, time, places=(), times=(), autonomous=False, least=0.05):
    """The reference of one axis from N(mean, var); places and times: (place, width) of features in x and in t."""
    spread = 7 * np.sqrt(var + 2 * max(diffusion(t) for t in np.linspace(0, time, 60)) * time)
    low, high = min(-6.0, mean - spread), max(6.0, mean + spread)

    def size(x):
        return min([0.35, 0.8 * np.sqrt(var) + 0.3 * abs(x - mean),
                    *(0.5 * w + 0.2 * abs(x - c) for c, w in places)])

    def steps(level):
        ends = graded(0, time, [(0.0, least * var), *times], 0.2, time / 24)
        for _ in range(level):
            ends = np.sort(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))
        return ends
    return Density(f, diffusion, [(mean, var)], time, low, high, [c for c, _ in places], size, times=steps,
                   autonomous=autonomous, wanted=1e-5, rounds=2)


class Narrow:
    """Texts for heatball, points, and the truth: ln u, score and their errors."""

    def __init__(self, seed):
        d = self.d = Draw(1000 + seed)
        self.seed, self.kind = seed, KINDS[seed % len(KINDS)]
        self.width = float(number(10**d.rng.uniform(-5, -1)))
        self.dim = 1 if self.kind == "dip" else d.one(1, 1, 2, 3, 4)
        self.g = float(d.real(0.6, 1.4))
        self.noise, self.initial_text, self.time = repr(self.g), None, float(d.scale(0.2, 1.5))
        self.means = [float(d.real(-0.8, 0.8)) for _ in range(self.dim)]
        self.variances = [float(d.scale(0.1, 0.8)) for _ in range(self.dim)]
        self.slopes = [float(d.real(0.4, 1.5)) for _ in range(self.dim)]
        self.place = float(d.real(-1.2, 1.2))
        self.marked = {}  # axis: (place, width) where a point should be
        self.axes = []
        getattr(self, "draw_" + self.kind)()
        self.at = self.points()

    name = property(lambda self: f"narrow problem {self.seed} ({self.kind}, d = {self.dim}, width {self.width:g})")

    def draw_well(self):
        self.time, texts = np.inf, []
        for j, k in enumerate(self.slopes):
            c = float(number(self.place + 0.9 * j))
            mass = self.d.rng.uniform(-2, 3)
            depth = number(self.g**2 / 2 * (k * c**2 / self.g**2 + mass - np.log(self.width)))
            if self.d.rng.random() < 0.2:
                depth = "-" + depth
            w, h = self.width, float(depth)
            force = number(2 * h / w**2, 12)
            h = float(force) * w**2 / 2
            texts.append(f"-{k}*X - ({force})*(X - ({c}))*exp(-((X - ({c}))/{w})^2)")
            self.axes.append(Stationary(
                lambda x, k=k, c=c, h=h: (-k * x**2 + 2 * h * np.exp(-((x - c) / w)**2)) / self.g**2,
                lambda x, k=k, c=c, h=h: 2 / self.g**2 * (-k * x - 2 * h * (x - c) / w**2 * np.exp(-((x - c) / w)**2)),
                -12, 12, [(c, w)]))
            self.marked[j] = (c, w)
        self.write(texts)

    def draw_dip(self):
        self.time, w, c, k = np.inf, self.width, self.place, self.slopes[0]
        a = float(self.d.one(self.d.real(-0.8, -0.3), self.d.real(0.5, 3)))
        self.noise = f"{self.g}*(1 + ({a})*exp(-((x1 - ({c}))/{w})^2))"
        g = lambda x: self.g * (1 + a * np.exp(-((x - c) / w)**2))
        slope = lambda x: -2 * self.g * a * (x - c) / w**2 * np.exp(-((x - c) / w)**2)
        ends = graded(-12, 12, [(c, w)])
        inner = integral(lambda x: -2 * k * x / g(x)**2, ends)

        def log_u(x):
            i = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, len(ends) - 2)
            half = (x - ends[i]) / 2
            y = ends[i][..., None] + half[..., None] * (1 + NODES)
            return inner[i] + half * (-2 * k * y / g(y)**2 * WEIGHTS).sum(-1) - 2 * np.log(g(x))
        self.axes = [Stationary(log_u, lambda x: (-2 * k * x / g(x) - 2 * slope(x)) / g(x), -12, 12, [(c, w)])]
        self.marked[0] = (c, w)
        self.write([f"-{k}*X"])

    def gaussian_axis(self, j, force, rate):
        """-k X + force(t), noise rate(t)^2 = g^2: a Gaussian."""
        k, T = self.slopes[j], self.time
        ends = graded(0, T, self.times)
        mean = self.means[j] * np.exp(-k * T) + integral(lambda s: np.exp(k * (s - T)) * force(s), ends)[-1]
        var = self.variances[j] * np.exp(-2 * k * T) + integral(lambda s: np.exp(2 * k * (s - T)) * rate(s), ends)[-1]
        return Gaussian([1], [mean], [var])

    def timed_axes(self, text, force, total, rate):
        """Axes with `text` in t added to the drift; total = int force; linear or cubic."""
        cubic, texts = self.d.rng.random() < 0.4, []
        for j, k in enumerate(self.slopes):
            own = float(j == 0 or self.d.rng.random() < 0.6)
            if cubic:
                density = elements(lambda y, t, own=own: (y + own * total(t)) - (y + own * total(t))**3,
                                   lambda t: rate(np.float64(t)) / 2, self.means[j], self.variances[j], self.time,
                                   times=self.times)
                self.axes.append(Solved(density, own * float(total(self.time))))
            else:
                self.axes.append(self.gaussian_axis(j, lambda s, own=own: own * force(s), rate))
            texts.append(("X - X^3" if cubic else f"-{k}*X") + (f" + {text}" if own and text else ""))
        self.write(texts)

    def draw_pulse(self):
        w, p = self.width, float(number(self.time * self.d.rng.uniform(0.1, 0.9)))
        area, self.times = float(self.d.signed(0.3, 1.2)), [(p, w)]
        a = float(number(area / w / np.sqrt(np.pi), 12))
        total = lambda t: a * w * np.sqrt(np.pi) / 2 * (erf((t - p) / w) - erf(-p / w))
        self.timed_axes(f"({a!r})*exp(-((t - {p})/{w})^2)", lambda t: a * np.exp(-((t - p) / w)**2), total,
                        lambda t: self.g**2 + 0 * t)

    def draw_step(self):
        w, p = self.width, float(number(self.time * self.d.rng.uniform(0.1, 0.9)))
        a, self.times = float(self.d.signed(0.5, 3)), [(p, w)]
        log_cosh = lambda z: np.logaddexp(z, -z) - np.log(2)
        self.timed_axes(f"({a})*tanh((t - {p})/{w})", lambda t: a * np.tanh((t - p) / w),
                        lambda t: a * w * (log_cosh((t - p) / w) - log_cosh(-p / w)), lambda t: self.g**2 + 0 * t)

    def draw_noise(self):
        w, p = self.width, float(number(self.time * self.d.rng.uniform(0.1, 0.9)))
        self.times = [(p, w)]
        a = float(number(self.d.rng.uniform(0.2, 1.5) / w / np.sqrt(np.pi), 12))
        if self.width > 3e-3 and self.d.rng.random() < 0.3:
            a = float(self.d.real(-0.95, -0.5))
        self.noise = f"sqrt({self.g**2!r} + ({a!r})*{self.g**2!r}*exp(-((t - {p})/{w})^2))"
        self.timed_axes("", lambda t: 0 * t, lambda t: 0.0, lambda t: self.g**2 * (1 + a * np.exp(-((t - p) / w)**2)))

    def draw_bump(self):
        texts, w = [], self.width
        for j, k in enumerate(self.slopes):
            c = float(number(self.place + 0.7 * j))
            b = float(number(float(self.d.signed(0.2, 1.2)) * self.g**2 / 2 / w / np.sqrt(np.pi)))
            f = lambda x, t, k=k, c=c, b=b: -k * x + b * np.exp(-((x - c) / w)**2)
            self.axes.append(Solved(elements(f, lambda t: self.g**2 / 2, self.means[j], self.variances[j], self.time,
                                             places=[(c, w)], times=[(0.0, w**2)], autonomous=True)))
            texts.append(f"-{k}*X + ({b})*exp(-((X - ({c}))/{w})^2)")
            self.marked[j] = (c, w)
        self.write(texts)

    def draw_component(self):
        w, T = self.width, self.time
        weight = float(self.d.real(0.1, 0.6))
        form = self.d.one("product", "mixture") if self.dim == 1 else "product"
        self.times, parts = [], []
        for j, k in enumerate(self.slopes):
            c, v = float(number(self.place + 0.6 * j + self.d.one(0, 3, 6))), self.variances[j]
            shrink, gain = np.exp(-k * T), self.g**2 * -np.expm1(-2 * k * T) / (2 * k)
            self.axes.append(Gaussian([1 - weight, weight], [self.means[j] * shrink, c * shrink],
                                      [v * shrink**2 + gain, w**2 / 2 * shrink**2 + gain]))
            height = weight / (1 - weight) * np.sqrt(2 * v) / w
            parts.append(f"exp(-(X - ({self.means[j]}))^2/{2 * v!r}) + {height!r}*exp(-((X - ({c}))/{w})^2)".replace(
                "X", "x" if form == "product" else f"x{j + 1}"))
            self.marked[j] = (c * shrink, np.sqrt(gain))
        self.rows = np.array([[1 - weight, self.means[0], self.variances[0]], [weight, c, w**2 / 2]])
        self.form, self.initial_text = form, f"product({', '.join(parts)})"
        self.write([f"-{k}*X" for k in self.slopes])

    def write(self, texts):
        self.drift = ", ".join(text.replace("X", f"x{j + 1}") for j, text in enumerate(texts))

    def points(self):
        rows = [[axis.draw(self.d.rng) for axis in self.axes] for _ in range(2)]
        for j, (c, w) in list(self.marked.items())[:1]:
            row = [axis.draw(self.d.rng) for axis in self.axes]
            row[j] = c + w * self.d.rng.uniform(-1.5, 1.5)
            rows.append(row)
        return np.array(rows)

    def initial(self, directory):
        if self.initial_text and self.form == "mixture":
            path = f"{directory}/narrow_{self.seed}.csv"
            np.savetxt(path, self.rows, delimiter=",", header="weight,mean_1,var_1", comments="", fmt="%.17g")
            return f"mixture({path})"
        return self.initial_text or (f"gaussian(mean={' '.join(map(repr, self.means))}, "
                                     f"var={' '.join(map(repr, self.variances))})")

    def arguments(self, directory):
        return {"drift": self.drift, "noise": self.noise, "initial": self.initial(directory), "time": self.time}

    def command(self, directory, method, extra=""):
        a, at = self.arguments(directory), ";".join(",".join(map(repr, x)) for x in self.at.tolist())
        return (f'heatball solve --drift "{a["drift"]}" --noise "{a["noise"]}" --initial "{a["initial"]}" '
                f'--time {self.time!r} --at "{at}" --method {method} {extra}')

    @functools.cached_property
    def truth(self):
        parts = [axis.at(self.at[:, j]) for j, axis in enumerate(self.axes)]
        log_u, error = sum(p[0] for p in parts), sum(p[2] for p in parts)
        assert np.all(error < 1e-3), f"no reference for {self.name}: {error}"
        return (log_u, np.column_stack([p[1] for p in parts]), error, np.column_stack([p[3] for p in parts]))


narrow = functools.lru_cache(maxsize=None)(Narrow)
