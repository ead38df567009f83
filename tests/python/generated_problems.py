"""Diffusions drawn at random, as text for heatball, with answers that heatball had no part in.

`problem(seed)` draws dx = f(x, t) dt + g(t) dW, its start, a time and points. The same text is evaluated by
NumPy for the reference, so that both solve one problem. In more than one dimension the drifts are such that the
density follows from one-dimensional ones while f is coupled:

    axes      every coordinate by itself;
    turned    x = Q y with Q orthogonal and y of independent coordinates: f(x) = Q h(Q^T x), u(x) = prod u_j(y_j);
    spinning  x = Q(t) y in the plane with Q' = w S Q: f = w S x + Q h(Q^T x), which depends on time;
    moving    x = y + c(t) on the line: f = c'(t) + h(x - c(t)); kinks and jumps move;
    radial    f = x h(|x|) + S x with S antisymmetric, from Gaussians around 0: the density stays radial;
    linear    f = A x + b(t), closed form;
    plane     smooth coupled drifts in two dimensions.

A start that is a mixture gives a sum of such densities. References: spectral_elements.py, fourier_plane.py and
closed forms, each with an estimate of its own error.
"""

import functools
import re

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ndtr
from scipy.stats import ortho_group

import fourier_plane
from spectral_elements import Density

NAMES = {name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "sign", "pi")}
NAMES |= {"min": np.minimum, "max": np.maximum, "atan": np.arctan}


def function(text, names):
    """The NumPy function of an expression in the given names."""
    code = compile(text.replace("^", "**"), text, "eval")
    return lambda *values: eval(code, NAMES, dict(zip(names, values)))


def number(value, digits=3):
    return f"{float(f'{value:.{digits}g}'):.{digits}g}"


class Axis:
    """A drift h(X, t) on the line: text, places where it kinks or jumps, and (place, width) of what is narrow."""

    def __init__(self, text, breaks=(), features=()):
        self.text, self.breaks = text, [float(b) for b in breaks]
        self.features = [(float(c), float(w)) for c, w in features]
        self.features += [(b, 0.1) for b in self.breaks]
        self.timed = bool(re.search(r"\bt\b", text))
        self.f = function(text, ("X", "t"))

    def plus(self, text):
        other = Axis(f"{self.text} {text}")
        other.breaks, other.features = self.breaks, self.features
        return other


class Draw:
    """Random numbers as the text will have them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def real(self, low, high):
        return number(self.rng.uniform(low, high))

    def scale(self, low, high):
        return number(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def signed(self, low, high):
        return number(self.rng.choice([-1, 1]) * self.rng.uniform(low, high))

    def one(self, *items):
        return items[self.rng.integers(len(items))]

    def whole(self, low, high):
        return int(self.rng.integers(low, high + 1))


def linear(d):
    return Axis(f"-{d.real(0.1, 2)}*X + ({d.real(-1, 1)})")


def cubic(d):
    return Axis(f"({d.real(-1, 2)})*X + ({d.real(-0.6, 0.6)})*X^2 - {d.real(0.3, 1.2)}*X^3")


def mild(d):
    a, c = d.scale(0.5, 3), d.real(-0.5, 0.5)
    return d.one(Axis(f"-{a}*X/(1 + X^2) + ({c})"), Axis(f"-X + {a}*X/(1 + X^2)"),
                 Axis(f"{a}*sin(2*X) - 0.5*X"), Axis(f"{a}*cos(X + ({c}))"), Axis(f"-{a}*atan(2*X) + ({c})"))


def tanh(d):
    k, c = d.scale(1, 12), d.real(-0.6, 0.8)
    return Axis(f"-{d.real(0.4, 2)}*tanh({k}*(X - ({c}))) - {d.real(0, 0.8)}*X", [], [(c, 1 / float(k))])


def kink(d):
    a, c, k = d.real(0.5, 2), d.real(-0.6, 0.8), d.scale(1, 8)
    w, e = d.scale(0.05, 1), float(d.real(-1.2, -0.2))
    return d.one(Axis(f"-X + {a}*abs(X - ({c}))*0.6", [c]), Axis(f"-X/({w} + abs(X))", [0.0]),
                 Axis(f"-{a}*X + 2*max(0, X - ({c})) - 0.5*max(0, X + 0.5)", [c, -0.5]),
                 Axis(f"min({a}, max(-1, -{k}*(X - ({c}))))", [float(c) - float(a) / float(k),
                                                             float(c) + 1 / float(k)]),
                 Axis(f"-0.7*X - min(abs(X - ({c})), {a})", [c, float(c) - float(a), float(c) + float(a)]),
                 Axis(f"{a}*max({e}, min(X, 0.8)) - X", [e, 0.8]))


def jump(d):
    a, c, e = d.real(0.4, 2), d.real(-0.6, 0.6), d.real(0.7, 1.5)
    return d.one(Axis(f"-{a}*sign(X - ({c}))", [c]), Axis(f"-X + ({d.signed(0.3, 1.5)})*sign(X - ({c}))", [c]),
                 Axis(f"-0.5*X - {a}*sign(X - ({c})) + 0.6*sign(X - {e})", [c, e]))


def wide_bumps(d):
    bumps = [(d.real(-1.5, 1.5), d.scale(0.3, 1.2), d.signed(0.4, 2)) for _ in range(d.whole(1, 3))]
    terms = [f" + ({b})*exp(-(X - ({c}))^2/{number(2 * float(w)**2)})" for c, w, b in bumps]
    return Axis(f"-{d.real(0.4, 1.2)}*X" + "".join(terms), [], [(c, w) for c, w, _ in bumps])


def narrow_bump(d):
    c, w, area = d.real(-0.7, 0.7), float(d.scale(0.015, 0.1)), float(d.signed(0.1, 1.0))
    hat = Axis(f"-X + ({number(area / w**2)})*max(0, {number(w)} - abs(X - ({c})))",
               [float(c) - w, c, float(c) + w], [(c, w)])
    return d.one(hat, Axis(f"-X + ({number(area / w / 2.5)})*exp(-(X - ({c}))^2/{number(2 * w**2)})", [], [(c, w)]))


FAMILIES = {"linear": linear, "cubic": cubic, "mild": mild, "tanh": tanh, "kink": kink, "jump": jump,
            "wide": wide_bumps, "narrow": narrow_bump}


def forced(d, axis):
    """Perhaps with a term that depends on time."""
    if d.rng.random() > 0.25:
        return axis
    return axis.plus(d.one(f"+ {d.real(0.3, 1.5)}*cos({d.real(1, 6)}*t)", f"+ {d.real(0.2, 1)}*t",
                           f"- {d.real(0.1, 0.8)}*X*sin({d.real(1, 4)}*t)"))


def noise(d):
    g = d.real(0.5, 1.6)
    if d.rng.random() > 0.25:
        return g
    return d.one(f"{g}*sqrt(1 + 0.6*sin({d.real(1, 6)}*t))", f"{g}*(1 + 0.5*t)", f"{g}*exp(-0.4*t)",
                 f"{g} + 0.3*cos(3*t)")


class Problem:
    """What all have: texts, start (weights (k,), means and variances (k, d)), points, and the log of a mixture."""

    def __init__(self, d, dim, kind):
        self.dim, self.kind, self.noise_text = dim, kind, noise(d)
        g = function(self.noise_text, ("t",))
        self.diffusion = lambda t: g(t)**2 / 2
        self.noise_timed = bool(re.search(r"\bt\b", self.noise_text))
        self.time = float(d.scale(0.05, 3))

    def draw_start(self, d, isotropic, centred=False):
        k = d.one(1, 1, 2, 3)
        self.weights = np.array([float(d.real(0.3, 1)) for _ in range(k)])
        self.weights /= self.weights.sum()
        self.means = np.array([[0.0 if centred else float(d.real(-1, 1)) for _ in range(self.dim)]
                               for _ in range(k)])
        self.variances = np.array([[float(d.scale(0.05, 1.0)) for _ in range(self.dim)] for _ in range(k)])
        if isotropic:
            self.variances[:] = self.variances[:, :1]

    def initial(self, directory):
        if len(self.weights) == 1:
            return (f"gaussian(mean={' '.join(map(repr, self.means[0].tolist()))}, "
                    f"var={' '.join(map(repr, self.variances[0].tolist()))})")
        head = ["weight"] + [f"{c}_{j + 1}" for c in ("mean", "var") for j in range(self.dim)]
        rows = np.column_stack([self.weights, self.means, self.variances])
        path = f"{directory}/start_{self.seed}.csv"
        np.savetxt(path, rows, delimiter=",", header=",".join(head), comments="", fmt="%.17g")
        return f"mixture({path})"

    def arguments(self, directory):
        return {"drift": self.drift_text, "noise": self.noise_text, "initial": self.initial(directory),
                "time": self.time}

    def command(self, directory, method, extra=""):
        a, at = self.arguments(directory), "; ".join(",".join(map(repr, x)) for x in self.at.tolist())
        return (f'heatball solve --drift "{a["drift"]}" --noise "{a["noise"]}" --initial "{a["initial"]}" '
                f'--time {self.time!r} --at "{at}" --method {method} {extra}')

    def combine(self, u, slope, error, slope_error):
        """ln u, score, and their errors from columns (n, k) and (n, k, d) of a mixture."""
        w = self.weights
        total, gradient = u @ w, np.einsum("nkd,k->nd", slope, w)
        e, ge = error @ w, np.einsum("nkd,k->nd", slope_error, w)
        score = gradient / total[:, None]
        relative = e / total + 1e-11
        return np.log(total), score, relative, ge / total[:, None] + np.abs(score) * relative[:, None] + 1e-10

    @functools.cached_property
    def truth(self):
        """ln u, score and the errors of both, which must be small."""
        truth = self.exact()
        assert np.all(truth[2] < 1e-3) and np.all(truth[2] >= 0), f"no reference for {self.name}: {truth[2]}"
        return truth


def mean_paths(f, diffusion, starts, time, rng, dim=1, paths=1500, steps=300):
    """Lowest and highest of the places where the density may be, and the least deviation of the start."""
    low, high, h = np.inf, -np.inf, time / steps
    for mean, var in starts:
        x = mean + np.sqrt(var) * rng.standard_normal(paths)
        for i in range(steps + 1):
            middle = np.median(x)
            low = min(low, middle - 2.6 * (middle - x.min()))
            high = max(high, middle + 2.6 * (x.max() - middle))
            push = h * np.broadcast_to(f(x, i * h), x.shape)
            x = x + push / (1 + np.abs(push)) + np.sqrt(2 * diffusion(i * h) * h) * rng.standard_normal(paths)
    return low, high


def element_size(f, features, diffusion, starts, time, low, high):
    """The size of elements that the start, the slope of the drift and its features ask for."""
    x = np.linspace(low, high, 4001)
    slope = np.max([np.abs(np.gradient(np.broadcast_to(f(x, s * time), x.shape), x)) for s in (0, 0.37, 1)], axis=0)
    least = min(diffusion(s * time) for s in np.linspace(0, 1, 11))
    size = np.minimum(np.sqrt(min(var for _, var in starts)), np.sqrt(least / (slope + 1e-9)))
    size = np.maximum(size, 0.02)
    for c, w in features:
        size = np.minimum(size, w * 1.2 + 0.3 * np.abs(x - c))
    step = 0.3 * (x[1] - x[0])
    for order in (1, -1):  # grows by at most 0.3 of the distance
        view = size[::order]
        view[:] = np.minimum.accumulate(view - step * np.arange(len(x))) + step * np.arange(len(x))
    return lambda place: float(np.interp(place, x, size))


def line(axis, diffusion, noise_timed, starts, time, dim=None):
    """The density of one axis."""
    rng = np.random.default_rng(5)
    low, high = mean_paths(axis.f, diffusion, starts, time, rng)
    size = element_size(axis.f, axis.features, diffusion, starts, time, low, high)
    return Density(axis.f, diffusion, starts, time, low, high, axis.breaks, size, dim=dim,
                   autonomous=not (axis.timed or noise_timed))


class Product(Problem):
    """Independent axes, perhaps turned, spinning or moving."""

    def __init__(self, d, dim, kind, families):
        super().__init__(d, dim, kind)
        self.families = families
        self.axes = [forced(d, FAMILIES[name](d)) for name in families]
        self.draw_start(d, isotropic=kind in ("turned", "spinning"))
        self.turn = np.eye(dim)
        if kind == "turned":
            self.turn = ortho_group.rvs(dim, random_state=int(d.rng.integers(2**31)))
        self.rate = float(d.signed(0.5, 3))
        self.shift = f"({d.real(0.2, 0.8)}*sin({d.real(1, 4)}*t))"
        self.drift_text = self.text()
        self.place(d)

    def text(self):
        write = getattr(self, "text_" + self.kind)
        return ", ".join(write())

    def text_axes(self):
        return [re.sub(r"\bX\b", f"x{j + 1}", axis.text) for j, axis in enumerate(self.axes)]

    def text_turned(self):
        sums = [" + ".join(f"({q!r})*x{j + 1}" for j, q in enumerate(column)) for column in self.turn.T.tolist()]
        each = [re.sub(r"\bX\b", f"({s})", axis.text) for s, axis in zip(sums, self.axes)]
        return [" + ".join(f"({q!r})*({e})" for q, e in zip(row, each)) for row in self.turn.tolist()]

    def text_spinning(self):
        w = repr(self.rate)
        c, s = f"cos({w}*t)", f"sin({w}*t)"
        first, second = (re.sub(r"\bX\b", y, axis.text) for y, axis in
                         zip((f"({c}*x1 + {s}*x2)", f"({c}*x2 - {s}*x1)"), self.axes))
        return [f"-({w})*x2 + {c}*({first}) - {s}*({second})", f"({w})*x1 + {s}*({first}) + {c}*({second})"]

    def text_moving(self):
        a, b = re.findall(r"[\d.]+(?:e-?\d+)?", self.shift)[:2]
        return [re.sub(r"\bX\b", f"(x1 - {self.shift})", self.axes[0].text) + f" + {a}*{b}*cos({b}*t)"]

    def frame(self):
        """x = turn y + shift at the end."""
        if self.kind == "spinning":
            c, s = np.cos(self.rate * self.time), np.sin(self.rate * self.time)
            return np.array([[c, -s], [s, c]]), 0.0
        shift = function(self.shift, ("t",))(self.time) if self.kind == "moving" else 0.0
        return self.turn, shift

    @functools.cached_property
    def densities(self):
        means = self.means @ self.turn  # y = Q^T x; a spinning frame starts unturned, a moving one at 0
        return [line(axis, self.diffusion, self.noise_timed, list(zip(means[:, j], self.variances[:, j])),
                     self.time) for j, axis in enumerate(self.axes)]

    def place(self, d):
        turn, shift = self.frame()
        rows = [d.rng.uniform(-1.2, 1.2, self.dim), d.rng.uniform(-2, 2, self.dim) * min(1, 2 / self.dim**0.5)]
        for far in (3.2, 4.3)[:1 + (d.rng.random() < 0.3)]:
            z = d.rng.uniform(-0.8, 0.8, self.dim)
            z[d.rng.integers(self.dim)] = far * d.one(-1, 1)
            rows.append(z)
        k = d.rng.integers(len(self.weights), size=len(rows))
        y = np.array([[float(self.densities[j].quantile(ndtr(z), c)) for j, z in enumerate(row)]
                      for row, c in zip(rows, k)])
        near = [(j, f) for j, axis in enumerate(self.axes) for f in axis.features]
        if near:
            j, (c, w) = near[d.rng.integers(len(near))]
            y = np.vstack([y, y[0]])
            y[-1, j] = c + w * d.rng.uniform(-0.6, 0.6)
        self.at = np.round(y @ turn.T + shift, 4)

    def exact(self):
        turn, shift = self.frame()
        y = (self.at - shift) @ turn
        parts = [density.at(y[:, j]) for j, density in enumerate(self.densities)]
        u = np.prod([p[0] for p in parts], axis=0)
        relative = np.sum([np.abs(p[2] / p[0]) for p in parts], axis=0)
        slope = np.stack([u * p[1] / p[0] for p in parts], axis=-1)
        slope_error = np.stack([np.abs(u) * p[3] / np.abs(p[0]) for p in parts], axis=-1)
        slope_error = slope_error + np.abs(slope) * relative[..., None]
        return self.combine(u, slope @ turn.T, np.abs(u) * relative, slope_error @ np.abs(turn.T))


def radial_family(d):
    """h(r) of f = x h(r), its text in R = r; r h(r) as an axis."""
    a, b, k = d.real(0.5, 2), d.real(0.3, 1), d.scale(0.5, 4)
    return d.one((f"({a} - {b}*R^2)", []), ("(-1 + 3/(1 + R^2))", []), (f"(-{a}/({b} + R))", []),
                 (f"(-{b} + {a}*exp(-{k}*R^2))", []), (f"max(-{b}, {a} - R)", [float(a) + float(b)]))


class Radial(Problem):
    """f = x h(|x|) + S x from Gaussians around 0."""

    def __init__(self, d, dim):
        super().__init__(d, dim, "radial")
        text, breaks = radial_family(d)
        self.axis = Axis("X*" + text.replace("R", "X"), breaks)
        self.draw_start(d, isotropic=True, centred=True)
        spin = np.array([[float(d.real(-2, 2)) for _ in range(dim)] for _ in range(dim)])
        spin = np.triu(spin, 1) - np.triu(spin, 1).T
        r = "sqrt(" + " + ".join(f"x{j + 1}^2" for j in range(dim)) + ")"
        self.drift_text = ", ".join(f"x{i + 1}*" + text.replace("R", r) + "".join(
            f" + ({s!r})*x{j + 1}" for j, s in enumerate(row) if s) for i, row in enumerate(spin.tolist()))
        share = [0.2, 0.6, 0.97, 0.9995][:3 + (d.rng.random() < 0.3)]
        way = d.rng.standard_normal((len(share), dim))
        way /= np.linalg.norm(way, axis=1)[:, None]
        k = d.rng.integers(len(self.weights), size=len(share))
        self.at = np.round(way * [[float(self.density.quantile(s, c))] for s, c in zip(share, k)], 4)

    @functools.cached_property
    def density(self):
        starts = [(0.0, v) for v in self.variances[:, 0]]
        rng = np.random.default_rng(5)
        wide = [(np.sqrt(2 * v * self.dim), v) for _, v in starts]  # radius of most of the start
        _, high = mean_paths(self.axis.f, self.diffusion, wide, self.time, rng)
        size = element_size(self.axis.f, self.axis.features, self.diffusion, starts, self.time, 0.0, high)
        return Density(self.axis.f, self.diffusion, starts, self.time, 0.0, high, self.axis.breaks, size,
                       dim=self.dim, autonomous=not self.noise_timed)

    def exact(self):
        r = np.linalg.norm(self.at, axis=1)
        u, slope, e, se = self.density.at(r)
        way = (self.at / r[:, None])[:, None, :]
        return self.combine(u, slope[..., None] * way, e, se[..., None] * np.abs(way))


class Coupled(Problem):
    """f = A x + b(t), by the equations of mean and covariance."""

    def __init__(self, d, dim):
        super().__init__(d, dim, "linear")
        self.draw_start(d, isotropic=False)
        self.A = np.round(d.rng.normal(0, 0.6, (dim, dim)) - 0.7 * np.eye(dim), 3)
        self.b_text = [d.one("0", "0", f"{d.real(-1, 1)}", f"{d.real(0.5, 2)}*cos({d.real(1, 5)}*t)")
                       for _ in range(dim)]
        self.b = [function(text, ("t",)) for text in self.b_text]
        self.drift_text = ", ".join(" + ".join(f"({a!r})*x{j + 1}" for j, a in enumerate(row)) + f" + ({b})"
                                    for row, b in zip(self.A.tolist(), self.b_text))
        mean, cov = self.moments(0)
        root = np.linalg.cholesky(cov)
        z = d.rng.standard_normal((3, dim))
        z *= np.array([[0.5], [1.5], [3.3]]) / np.linalg.norm(z, axis=1)[:, None]
        self.at = np.round(mean + z @ root.T, 4)

    def moments(self, k):
        n = self.dim

        def change(t, state):
            m, c = state[:n], state[n:].reshape(n, n)
            dm = self.A @ m + [b(t) for b in self.b]
            return np.concatenate([dm, (self.A @ c + c @ self.A.T + 2 * self.diffusion(t) * np.eye(n)).ravel()])
        start = np.concatenate([self.means[k], np.diag(self.variances[k]).ravel()])
        end = solve_ivp(change, (0, self.time), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        return end[:n], end[n:].reshape(n, n)

    def exact(self):
        u, slope = [], []
        for k in range(len(self.weights)):
            mean, cov = self.moments(k)
            inverse = np.linalg.inv(cov)
            z = self.at - mean
            u.append(np.exp(-np.einsum("ni,ij,nj->n", z, inverse, z) / 2) /
                     np.sqrt(np.linalg.det(2 * np.pi * cov)))
            slope.append(-z @ inverse * u[-1][:, None])
        u, slope = np.stack(u, 1), np.stack(slope, 1)
        return self.combine(u, slope, 1e-9 * u, 1e-9 * np.abs(slope))


def plane_texts(d):
    a, b, c = d.real(0.4, 1.5), d.real(0.5, 2), d.real(-0.8, 0.8)
    return d.one(f"x2, {a}*(1 - x1^2)*x2 - x1", f"-x1 + {b}*sin(x2 + x1), -x2 + {a}*cos(2*x1)",
                 f"x1 - x1^3 + ({c})*x2, -x2 + {b}*x1*x2/(1 + x2^2)", f"-x1 + {b}*tanh(2*x2), -x2 - {a}*tanh(x1 - x2)",
                 f"-x1 + {b}*exp(-x1^2 - x2^2), -{a}*x2 + ({c})*x1^2", f"x2 + ({c})*cos(3*t), x1 - x1^3 - {a}*x2")


class Planar(Problem):
    """Smooth drifts that couple two coordinates."""

    def __init__(self, d):
        super().__init__(d, 2, "plane")
        self.time = min(self.time, 1.2)
        self.draw_start(d, isotropic=False)
        self.weights, self.means, self.variances = np.ones(1), self.means[:1], np.maximum(self.variances[:1], 0.1)
        self.drift_text = plane_texts(d)
        f = function(f"({self.drift_text})", ("x1", "x2", "t"))
        self.f = lambda x, t: np.stack(np.broadcast_arrays(*f(x[:, 0], x[:, 1], t)), axis=1)
        ends = self.paths()
        middle, wide = np.median(ends, 0), ends.std(0)
        self.at = np.round([ends[0], ends[1], middle + wide * [0.3, -0.4], middle + wide * [d.one(-1, 1) * 2.6, 1]], 4)

    def paths(self):
        rng, n, steps = np.random.default_rng(6), 3000, 300
        h = self.time / steps
        x = self.means[0] + np.sqrt(self.variances[0]) * rng.standard_normal((n, 2))
        low, high = np.full(2, np.inf), np.full(2, -np.inf)
        for i in range(steps):
            middle = np.median(x, 0)
            low = np.minimum(low, middle - 2.2 * (middle - x.min(0)))
            high = np.maximum(high, middle + 2.2 * (x.max(0) - middle))
            push = h * self.f(x, i * h)
            x = x + push / (1 + np.abs(push)) + np.sqrt(2 * self.diffusion(i * h) * h) * rng.standard_normal((n, 2))
        self.box = low, high
        return x

    def fastest(self):
        """The largest drift along each axis where the reference does not lead it to 0."""
        low, high = (self.box[0] + self.box[1]) / 2 + fourier_plane.FREE * (self.box[1] - self.box[0]) / 2 * [[-1], [1]]
        x = np.stack(np.meshgrid(*np.linspace(low, high, 21).T), axis=-1).reshape(-1, 2)
        return np.abs([self.f(x, s * self.time) for s in (0, 0.5, 1)]).max((0, 1))

    def exact(self):
        low, high = self.box
        n = 64
        steps = int(max(120, self.time * (self.fastest() * np.pi * n / (high - low)).sum() / 1.5))
        for _ in range(4):  # until the steps are stable and the coefficients enough
            out, error = fourier_plane.plane(self.f, self.diffusion, list(zip(self.means, self.variances)), self.time,
                                             low, high, self.at, n, steps)
            if np.all(error[..., 0] < 1e-4 * np.abs(out[..., 0])):
                break
            steps, n = 2 * steps, n * 5 // 4
        return self.combine(out[..., 0], out[..., 1:], error[..., 0], error[..., 1:])


CURVED = [name for name in FAMILIES if name != "linear"]


def problem(seed):
    """The problem of a seed; kinds go round with it."""
    d = Draw([77, seed])
    kind = ("line", "line", "moving", "line", "turned", "axes", "line", "radial", "line", "spinning", "line",
            "linear", "line", "turned", "plane", "line", "turned", "axes", "line", "radial")[seed % 20]
    if kind in ("line", "moving"):
        name = CURVED[(seed // 2) % len(CURVED)] if kind == "line" else d.one("kink", "jump", "tanh", "wide")
        out = Product(d, 1, "moving" if kind == "moving" else "axes", [name])
    elif kind in ("turned", "axes", "spinning"):
        dim = 2 if kind == "spinning" else d.whole(2, 6)
        easy = ["linear", "mild", "tanh", "wide", "kink"] + (["cubic", "jump"] if dim < 4 else [])
        out = Product(d, dim, kind, [d.one(*easy) for _ in range(dim)])
    else:
        out = {"radial": lambda: Radial(d, d.whole(2, 6)), "linear": lambda: Coupled(d, d.whole(2, 6)),
               "plane": lambda: Planar(d)}[kind]()
    out.seed = seed
    out.name = f"{seed} {kind} d={out.dim} " + " ".join(getattr(out, "families", []))
    return out
