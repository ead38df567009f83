"""Problems drawn at random whose solutions are products of solutions of the grid, for tests and benchmarks of guided walks.

    u(x) = prod_k u_k(y_k),  y = A'x,  dy_k = f_k(y_k) dt + sqrt(2) dW, y_k of one or two coordinates

f_k is no gradient, A a rotation. The grid solves the blocks to 1e-4 or better; a block that occurs several times is solved once.
Kinds: density, 2 to 8 dimensions from a Gaussian; point, 2 to 100 from a point; many and weak, 20 to 100 from a Gaussian with weak coupling.
A number to reproduce: Problem(0, "density") has dimension 8, its first block is '-0.855*(X) + 1.29*tanh(1.81*(X))'.
"""
import numpy as np

import heatball

PAIRS = ["{a}*(X) - {b}*(X)^3 + {c}*(Y), -{e}*(Y) - {f}*(X)",
         "-{a}*(X) + {c}*tanh({k}*(Y)), -{e}*(Y) - {f}*tanh({k}*(X))",
         "{c}*(Y), {a}*(1 - (X)^2)*(Y) - {e}*(X) - {b}*(X)^3",
         "-{e}*(X) + {c}*sin({k}*(Y)), -{a}*(Y) + {f}*(X) - {b}*(Y)^3",
         "-{a}*(X) + {c}*(Y) - {b}*(X)*((X)^2 + (Y)^2), -{e}*(Y) - {f}*(X) - {b}*(Y)*((X)^2 + (Y)^2)"]
SINGLES = ["{a}*(X) - {b}*(X)^3 + {c}*sin({k}*(X))", "-{a}*(X) + {c}*tanh({k}*(X))", "{f} - {e}*(X)"]


class Problem:
    def __init__(self, seed, kind):
        rng = np.random.default_rng([seed, 2385])
        self.rng = rng
        weak = 0.3 if kind in ("many", "weak") else 1.0
        self.point = kind == "point"
        if kind in ("many", "weak"):
            self.dim = int(rng.choice([20, 50, 100]))
        elif self.point:
            self.dim = int(rng.choice([2, 3, 4, 5, 6, 8, 10, 20, 50, 100], p=[.12, .12, .12, .12, .12, .12, .1, .08, .05, .05]))
        else:
            self.dim = int(rng.integers(2, 9))
        d = self.dim
        sizes = []
        while sum(sizes) < d:
            sizes.append(2 if d - sum(sizes) >= 2 and rng.uniform() < 0.75 else 1)
        self.sizes = sizes
        kinds = 3 if d > 8 else 99  # different blocks, of which references are made once each
        made = []
        self.blocks = []
        for size in sizes:
            same = [m for m in made if m[0] == size]
            if len(same) >= kinds:
                self.blocks.append(same[rng.integers(len(same))])
                continue
            par = {"a": rng.uniform(.3, 1.5), "b": rng.uniform(.2, 1), "c": weak * rng.uniform(.5, 1.8), "e": rng.uniform(.4, 1.5),
                   "f": weak * rng.uniform(.5, 1.8), "k": rng.uniform(.7, 2)}
            text = str(rng.choice(PAIRS if size == 2 else SINGLES)).format(**{k: f"{v:.3g}" for k, v in par.items()})
            made.append((size, text))
            self.blocks.append(made[-1])
        self.shift = round(float(rng.uniform(-.6, .6)), 3)
        self.var = round(float(np.exp(rng.uniform(np.log(.05), np.log(1)))), 3)
        self.time = round(float(np.exp(rng.uniform(np.log(.1), np.log(1.5 if self.point or d > 8 else 3)))), 3)
        if d <= 8 or self.point and d <= 20:
            self.axes = np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.uniform() < 0.6 else np.eye(d)
        else:
            self.axes = np.eye(d)
            for _ in range(d // 10):
                i, j = rng.choice(d, 2, replace=False)
                t = rng.uniform(0, np.pi)
                turn = np.eye(d)
                turn[i, i] = turn[j, j] = np.cos(t)
                turn[i, j], turn[j, i] = np.sin(t), -np.sin(t)
                self.axes = turn @ self.axes

    def names(self):
        lines = []
        for i in range(self.dim):
            parts = [f"({float(a)!r})*x{j + 1}" for j, a in enumerate(self.axes[:, i]) if a != 0]
            lines.append("x%d" % (np.argmax(self.axes[:, i]) + 1) if len(parts) == 1 and self.axes[:, i].max() == 1 else "+".join(parts))
        return lines

    def drift(self):
        names, inner, at = self.names(), [], 0
        for size, text in self.blocks:
            text = text.replace("X", names[at]).replace("Y", names[at + size - 1])
            inner += text.split(", ")
            at += size
        out = []
        for row in self.axes:
            used = [(a, t) for a, t in zip(row, inner) if a != 0]
            out.append(used[0][1] if len(used) == 1 and used[0][0] == 1 else "+".join(f"({float(a)!r})*({t})" for a, t in used))
        return ", ".join(out)

    def start(self, size):
        return (f"point({' '.join([repr(self.shift)] * size)})" if self.point else f"gaussian(mean={self.shift}, var={self.var})")

    def whole_start(self):
        m = " ".join(repr(float(v)) for v in self.axes @ np.full(self.dim, self.shift))
        return f"point({m})" if self.point else f"gaussian(mean={m}, var={self.var})"

    def draw(self, n):
        rng, out = self.rng, []
        steps = 60 + int(120 * self.time)
        h = self.time / steps
        for size, text in self.blocks:
            f = [eval("lambda X, Y, tanh=np.tanh, sin=np.sin: " + t.replace("^", "**")) for t in text.split(", ")]
            x = np.full((n, size), self.shift) + (0 if self.point else 1) * np.sqrt(self.var) * rng.normal(size=(n, size))
            for _ in range(steps):
                F = np.stack([g(x[:, 0], x[:, -1]) + 0 * x[:, 0] for g in f], 1)
                x = x + h * F / (1 + h * np.abs(F)) + np.sqrt(2 * h) * rng.normal(size=x.shape)
            out.append(x)
        y = np.concatenate(out, 1)
        away = np.where(np.arange(n) % 3 == 2, 1.4, 1.0)[:, None]
        return y * away

    def truth(self, y):
        """ln u and the score in the inner coordinates, NaN where the grid does not know; and their errors."""
        n, at = len(y), 0
        log_u, error, score, score_error = np.zeros(n), np.zeros(n), [], []
        groups = {}
        for size, text in self.blocks:
            groups.setdefault((size, text), []).append(at)
            at += size
        score, score_error = np.zeros_like(y), np.zeros_like(y)
        for (size, text), places in groups.items():
            x = np.concatenate([y[:, p:p + size] for p in places])
            s = heatball.solve(text.replace("X", "x1").replace("Y", "x2"), "sqrt(2)", self.start(size), self.time, x, dim=size, method="grid")
            for k, p in enumerate(places):
                rows = slice(k * n, (k + 1) * n)
                log_u += s.log_density[rows]
                error = np.hypot(error, s.log_density_error[rows])
                score[:, p:p + size], score_error[:, p:p + size] = s.score[rows], s.score_error[rows]
        return log_u, error, score, score_error
