"""Densities of one-dimensional and radial diffusions by spectral elements: a reference for tests.

du/dt = -(f u)' + D(t) u'' on an interval without flux through its ends; of radial densities in n dimensions
r^(n-1) du/dt = -(r^(n-1) (f u - D u'))'. In weak form, for all v,

    d/dt int w u v dx = int w (f(x, t) u - D(t) u') v' dx,        w = 1 or r^(n-1),

with u continuous and of degree p on each element. Elements end where f has a kink or a jump: there u' jumps,
D [u'] = [f] u, and inside the elements everything is smooth, so the error falls exponentially in p. Time
goes by Radau IIA with three stages (order 5, L-stable), in steps that grow from the start. NumPy and SciPy
only: nothing here is shared with heatball's grid, which is of finite volumes for ln u.

`Density` solves twice, the second time with smaller elements, more steps and a wider interval; the difference of
the two is the error that it states for the second.
"""

import numpy as np
from scipy.sparse import bmat, coo_matrix
from scipy.sparse.linalg import splu

DEGREE = 9
ROOT6 = np.sqrt(6.0)
STAGE_TIMES = np.array([(4 - ROOT6) / 10, (4 + ROOT6) / 10, 1.0])
STAGES = np.array([[(88 - 7 * ROOT6) / 360, (296 - 169 * ROOT6) / 1800, (-2 + 3 * ROOT6) / 225],
                   [(296 + 169 * ROOT6) / 1800, (88 + 7 * ROOT6) / 360, (-2 - 3 * ROOT6) / 225],
                   [(16 - ROOT6) / 36, (16 + ROOT6) / 36, 1 / 9]])


def lobatto(degree):
    """Nodes of [-1, 1] with both ends: roots of (1 - x^2) P'_degree."""
    inner = np.polynomial.legendre.Legendre.basis(degree).deriv().roots()
    return np.concatenate([[-1.0], np.sort(inner.real), [1.0]])


NODES = lobatto(DEGREE)
TO_LEGENDRE = np.linalg.inv(np.polynomial.legendre.legvander(NODES, DEGREE))
DERIVATIVE = np.polynomial.legendre.legder(np.eye(DEGREE + 1))


def basis(y):
    """Lagrange polynomials of the nodes and their slopes at y in [-1, 1]: (n, degree + 1) each."""
    value = np.polynomial.legendre.legvander(y, DEGREE) @ TO_LEGENDRE
    slope = np.polynomial.legendre.legvander(y, DEGREE - 1) @ (DERIVATIVE @ TO_LEGENDRE)
    return value, slope


def mesh(low, high, breaks, size):
    """Ends of elements: through `breaks`, elsewhere not longer than size(x) at their ends."""
    fixed = np.unique([low, *(b for b in breaks if low < b < high), high])
    ends = [low]
    for left, right in zip(fixed[:-1], fixed[1:]):
        inner, x = [], left
        while x < right:
            step = size(x)
            step = min(step, size(min(x + step, right)))
            x += step
            inner.append(x)
        inner = left + (np.array(inner) - left) * (right - left) / (inner[-1] - left)
        inner[-1] = right
        ends.extend(inner)
    return np.array(ends)


class Elements:
    """The spaces and matrices of one mesh."""

    def __init__(self, ends, dim=None):
        self.ends, self.half = ends, np.diff(ends) / 2
        self.count = len(self.half) * DEGREE + 1
        self.middle = ends[:-1] + self.half
        self.index = np.arange(len(self.half))[:, None] * DEGREE + np.arange(DEGREE + 1)
        y, self.quadrature = np.polynomial.legendre.leggauss(DEGREE + 4)
        self.phi, self.slope = basis(y)
        self.places = self.middle[:, None] + self.half[:, None] * y
        self.weight = np.ones_like(self.places) if dim is None else self.places**(dim - 1)
        self.rows = np.repeat(self.index, DEGREE + 1, axis=1).ravel()
        self.columns = np.tile(self.index, (1, DEGREE + 1)).ravel()
        measure = self.weight * self.quadrature
        self.measure = measure
        self.mass = self.matrix(np.einsum("eq,qi,qj->eij", measure * self.half[:, None], self.phi,
                                          self.phi, optimize=True))
        self.stiffness = self.matrix(np.einsum("eq,qi,qj->eij", measure / self.half[:, None],
                                               self.slope, self.slope, optimize=True))
        self.outer = np.einsum("qi,qj->qij", self.slope, self.phi).reshape(len(y), -1)

    def matrix(self, blocks):
        shape = (self.count, self.count)
        return coo_matrix((blocks.ravel(), (self.rows, self.columns)), shape).tocsc()

    def transport(self, drift, t):
        f = np.broadcast_to(drift(self.places, t), self.places.shape)
        return self.matrix((self.measure * f) @ self.outer)

    def nodes(self):
        x = np.empty(self.count)
        x[self.index] = self.middle[:, None] + self.half[:, None] * NODES
        return x

    def evaluate(self, u, x):
        """Values and slopes at x (n,) of the columns of u (count, k): (n, k) each."""
        e = np.clip(np.searchsorted(self.ends, x, side="right") - 1, 0, len(self.half) - 1)
        value, slope = basis((x - self.middle[e]) / self.half[e])
        local = u[self.index[e]]
        return (np.einsum("ni,nik->nk", value, local),
                np.einsum("ni,nik->nk", slope / self.half[e, None], local))

    def cumulative(self, u):
        """Mass up to the end of each element, (elements + 1, k)."""
        inside = np.einsum("eq,qi,eik->ek", self.measure * self.half[:, None], self.phi, u[self.index],
                           optimize=True)
        return np.vstack([np.zeros(inside.shape[1]), np.cumsum(inside, axis=0)])


def step_matrix(elements, operators, h):
    """Factors of the stages' system: (mass - h a_ij K_j)."""
    blocks = [[(elements.mass if i == j else 0) - h * STAGES[i, j] * operators[j] for j in range(3)]
              for i in range(3)]
    n = elements.count
    order = np.arange(3 * n).reshape(3, n).T.ravel()  # stages of a node side by side: a narrow band
    return splu(bmat(blocks, format="csc")[order][:, order], permc_spec="NATURAL",
                options={"SymmetricMode": False})


def march(elements, drift, diffusion, start, times, autonomous):
    """u (count, k) at the last of the times."""
    n, u, kept = elements.count, start, {}
    for t, h in zip(times[:-1], np.diff(times)):
        key = f"{h:.9e}"
        if key not in kept:
            at = t + h * STAGE_TIMES
            operators = [operator(elements, drift, diffusion, s) for s in at[:1 if autonomous else 3]]
            kept = kept if autonomous else {}
            kept[key] = step_matrix(elements, operators * 3 if autonomous else operators, h)
        right = np.repeat(elements.mass @ u, 3, axis=0)
        u = kept[key].solve(right).reshape(n, 3, -1)[:, 2]
        kept = kept if autonomous else {}
    return u


def operator(elements, drift, diffusion, t):
    return elements.transport(drift, t) - diffusion(t) * elements.stiffness


def growing_times(end, steps, autonomous):
    """From 0 to end, slowly at first; where nothing depends on time in few different steps."""
    if not autonomous:
        return end * (np.arange(steps + 1) / steps)**2
    doubling = 8  # lengths h, 2 h, 4 h ..: the same factors serve many steps
    each = max(steps // (doubling + 1), 2)
    h = np.repeat(2.0**np.arange(doubling + 1), each)
    return np.concatenate([[0.0], np.cumsum(h) / h.sum() * end])


class Density:
    """u(x, t) from Gaussians, each by itself: their mixtures are sums, as the equation is linear.

    starts: list of (mean, variance); of radial densities (dim given) N(0, variance) in dim dimensions.
    scale: size(x) of the elements of the coarse mesh; times(level), if given, the time steps. `at(x)` gives u, u' and their errors, (n, k) each.
    """

    def __init__(self, drift, diffusion, starts, time, low, high, breaks, size, dim=None, steps=None,
                 autonomous=False, wanted=3e-7, rounds=4, times=None):
        steps = steps or (60 if autonomous else 20)
        times = times or (lambda level: growing_times(time, int(steps * 1.7**level), autonomous))
        self.solve = lambda level: self._once(level, drift, diffusion, starts, times(level), low, high, breaks,
                                              size, dim, autonomous)
        self.coarse, self.fine = self.solve(0), self.solve(1)
        self.level = 1
        self.wanted, self.rounds = wanted, rounds

    @staticmethod
    def _once(level, drift, diffusion, starts, times, low, high, breaks, size, dim, autonomous):
        finer, wider = 1.5**-level, 0.06 * level * (high - low)
        low = low - wider if dim is None else 0.0
        elements = Elements(mesh(low, high + wider, breaks, lambda x: finer * size(x)), dim)
        x = elements.nodes()[:, None]
        mean, var = np.array(starts).T
        n = 1 if dim is None else dim
        start = np.exp(-(x - mean)**2 / (2 * var)) / (2 * np.pi * var)**(n / 2)
        return elements, march(elements, drift, diffusion, start, times, autonomous)

    def at(self, x):
        x = np.asarray(x, float)
        while True:
            a, b = (mesh_.evaluate(u, x) for mesh_, u in (self.coarse, self.fine))
            error = [np.abs(p - q) for p, q in zip(a, b)]
            good = np.all(error[0] <= self.wanted * np.abs(b[0]).sum(1, keepdims=True))
            if good or self.level >= self.rounds:
                return b[0], b[1], error[0], error[1]
            self.level += 1
            self.coarse, self.fine = self.fine, self.solve(self.level)

    def quantile(self, share, column):
        """x with mass `share` of the column's law below it."""
        elements, u = self.fine
        mass = elements.cumulative(u)[:, column]
        keep = np.concatenate([[True], np.diff(np.maximum.accumulate(mass)) > 0])
        return np.interp(np.asarray(share) * mass[-1], mass[keep], elements.ends[keep])
