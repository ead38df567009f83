"""Problems with a known answer, for the benchmarks and the tests of particles and walks.

All have noise g = sqrt(2), so tau = t and the normalised drift F is the drift; du/dtau = Lap u - div(F u).
Linear drifts F = A x have closed forms: with E = e^(A tau) and C = 2 int_0^tau e^(A s) e^(A^T s) ds,
a start N(m, S) becomes N(E m, E S E^T + C), a mixture the mixture of these, and a uniform box under a
diagonal A a product of differences of error functions. Nonlinear drifts are compared with the grid.
"""
import numpy as np
from scipy.linalg import expm
from scipy.special import ndtr

NOISE = "sqrt(2)"


class Linear:
    """F = A x from a mixture of Gaussians: weights (k,), means (k, d), variances (k, d)."""

    def __init__(self, name, A, tau, weights, means, variances):
        self.name, self.A, self.tau = name, np.atleast_2d(np.asarray(A, float)), tau
        self.dim = len(self.A)
        self.weights, self.means = np.asarray(weights, float), np.asarray(means, float)
        self.variances = np.asarray(variances, float)
        self.drift_text = ", ".join(
            " + ".join(f"({a!r})*x{j + 1}" for j, a in enumerate(row) if a) or "0" for row in self.A.tolist())

    def drift(self, x):
        return x @ self.A.T

    def transition(self):
        """E and C: X(tau) = E X(0) + N(0, C)."""
        return expm(self.A * self.tau), noise_covariance(self.A, self.tau)

    def exact(self, at):
        """ln u (n,) and score (n, d)."""
        E, C = self.transition()
        return mixture(at, self.weights, self.means @ E.T,
                       [(E * v) @ E.T + C for v in self.variances])

    def log_start(self, x):
        return mixture(x, self.weights, self.means, [np.diag(v) for v in self.variances])[0]

    def draw_start(self, rng, n):
        k = rng.choice(len(self.weights), n, p=self.weights)
        return self.means[k] + np.sqrt(self.variances[k]) * rng.standard_normal((n, self.dim))

    def problem(self, directory):
        """Arguments of heatball.solve; the file of a mixture goes to `directory`."""
        if len(self.weights) == 1:
            text = (f"gaussian(mean={' '.join(map(repr, self.means[0].tolist()))}, "
                    f"var={' '.join(map(repr, self.variances[0].tolist()))})")
        else:
            head = ["weight"] + [f"{c}_{j + 1}" for c in ("mean", "var") for j in range(self.dim)]
            rows = np.column_stack([self.weights, self.means, self.variances])
            path = f"{directory}/{self.name.replace(' ', '_')}.csv"
            np.savetxt(path, rows, delimiter=",", header=",".join(head), comments="", fmt="%.17g")
            text = f"mixture({path})"
        return {"drift": self.drift_text, "noise": NOISE, "initial": text, "time": self.tau}

    def place(self, deviations):
        """Points mean + k deviations along every axis, signs in turn, of the first component."""
        E, C = self.transition()
        wide = np.sqrt(np.diag((E * self.variances[0]) @ E.T + C))
        signs = np.where(np.arange(self.dim) % 2, -1.0, 1.0)
        return self.means[0] @ E.T + np.outer(deviations, signs * wide)


class Uniform:
    """F = diag(rates) x from the uniform density on (low, high)^d."""

    def __init__(self, name, rates, tau, low, high):
        self.name, self.rates, self.tau = name, np.asarray(rates, float), tau
        self.low, self.high, self.dim = low, high, len(rates)
        self.A = np.diag(self.rates)

    def drift(self, x):
        return x * self.rates

    def exact(self, at):
        e = np.exp(self.rates * self.tau)
        return self.smoothed(at / e, np.sqrt((1 - e**-2) / self.rates), e)

    def smoothed(self, y, s, e):
        """ln of prod_j E[u0(y_j + s_j g)]/e_j, and its gradient by x = e y."""
        a, b = (self.low - y) / s, (self.high - y) / s
        inside = ndtr(b) - ndtr(a)
        slope = (np.exp(-a * a / 2) - np.exp(-b * b / 2)) / np.sqrt(2 * np.pi) / s / inside / e
        return np.log(inside / (self.high - self.low) / e).sum(-1), slope

    def draw_start(self, rng, n):
        return rng.uniform(self.low, self.high, (n, self.dim))

    def problem(self, directory):
        drift = ", ".join(f"({a!r})*x{j + 1}" for j, a in enumerate(self.rates.tolist()))
        return {"drift": drift, "noise": NOISE, "initial": f"uniform({self.low!r} {self.high!r})",
                "time": self.tau}

    def place(self, deviations):
        e = np.exp(self.rates * self.tau)
        wide = np.sqrt((self.high - self.low)**2 / 12 * e**2 + (e**2 - 1) / self.rates)
        signs = np.where(np.arange(self.dim) % 2, -1.0, 1.0)
        return (self.low + self.high) / 2 * e + np.outer(deviations, signs * wide)


class Nonlinear:
    """A drift whose answer comes from the grid; start N(mean, var)."""

    def __init__(self, name, text, drift, tau, mean, var):
        self.name, self.drift_text, self.drift, self.tau = name, text, drift, tau
        self.mean, self.var = np.asarray(mean, float), np.asarray(var, float)
        self.dim, self._known = len(self.mean), {}

    def exact(self, at):
        key = at.tobytes()
        if key not in self._known:
            import heatball
            s = heatball.solve(at=at, method="grid", **self.problem(None))
            self._known[key] = s.log_density, s.score
        return self._known[key]

    def draw_start(self, rng, n):
        return self.mean + np.sqrt(self.var) * rng.standard_normal((n, self.dim))

    def problem(self, directory):
        numbers = [" ".join(map(repr, v.tolist())) for v in (self.mean, self.var)]
        return {"drift": self.drift_text, "noise": NOISE, "time": self.tau,
                "initial": f"gaussian(mean={numbers[0]}, var={numbers[1]})"}


class SoftWells:
    """F_j = -x_j + 2 x_j/(1 + x_j^2), two soft wells at -1 and 1 in each coordinate, from N(mean, var).

    The coordinates are independent, so the answer in any dimension is made of grids in one; the methods
    that sample do not know that.
    """

    def __init__(self, d, tau=0.5, var=0.4):
        self.name, self.dim, self.tau, self.var = f"soft wells d={d}", d, tau, var
        self.mean = 0.3

    @staticmethod
    def drift(x):
        return -x + 2 * x / (1 + x * x)

    def exact(self, at):
        import heatball
        s = heatball.solve(at=at.reshape(-1, 1), method="grid", **{**self.problem(None), "dim": 1})
        return s.log_density.reshape(at.shape).sum(1), s.score.reshape(at.shape)

    def draw_start(self, rng, n):
        return self.mean + np.sqrt(self.var) * rng.standard_normal((n, self.dim))

    def problem(self, directory):
        return {"drift": "-x[i] + 2*x[i]/(1 + x[i]^2)", "dim": self.dim, "noise": NOISE,
                "time": self.tau, "initial": f"gaussian(mean={self.mean!r}, var={self.var!r})"}

    def place(self, deviations):
        signs = np.where(np.arange(self.dim) % 2, -1.0, 1.0)
        return self.mean + np.outer(deviations, signs)


def noise_covariance(A, tau):
    """2 int_0^tau e^(A s) e^(A^T s) ds by Van Loan's block exponential."""
    d = len(A)
    block = expm(tau * np.block([[-A, 2 * np.eye(d)], [np.zeros((d, d)), A.T]]))
    return block[d:, d:].T @ block[:d, d:]


def mixture(x, weights, means, covariances):
    """ln of a mixture of Gaussians (n,) and its gradient (n, d)."""
    x = np.asarray(x, float)
    logs, slopes = [], []
    for w, m, c in zip(weights, means, covariances):
        away = x - m
        whitened = np.linalg.solve(c, away.T).T
        logs.append(np.log(w) - 0.5 * ((away * whitened).sum(1)
                                       + np.linalg.slogdet(2 * np.pi * c)[1]))
        slopes.append(-whitened)
    v = np.logaddexp.reduce(logs, axis=0)
    return v, sum(np.exp(one - v)[:, None] * s for one, s in zip(logs, slopes))


def start_of(d):
    """Awkward means and variances of d coordinates."""
    j = np.arange(d)
    return [0.8 * np.cos(1.3 * j)], [0.25 + 0.1 * np.sin(2.1 * j + 0.4)]


def ou(d, tau=0.5):
    return Linear(f"OU d={d}", -np.eye(d), tau, [1.0], *start_of(d))


def anisotropic(d, tau=0.5):
    return Linear(f"anisotropic d={d}", -np.diag(np.linspace(0.3, 2, d)), tau, [1.0], *start_of(d))


def rotating(d=2, tau=0.5, pull=0.6, turn=2.0):
    A = -pull * np.eye(d)
    for j in range(0, d - 1, 2):
        A[j, j + 1], A[j + 1, j] = -turn, turn
    return Linear(f"rotating d={d}", A, tau, [1.0], *start_of(d))


def two_bumps(d=2, tau=0.5):
    means = np.vstack([np.full(d, 1.1), np.linspace(-0.9, -0.4, d)])
    return Linear(f"mixture start d={d}", -np.diag(np.linspace(0.7, 1.2, d)), tau, [0.35, 0.65], means,
                  [np.full(d, 0.2), np.linspace(0.3, 0.15, d)])


def boxed(d, tau=0.5):
    return Uniform(f"uniform start d={d}", -np.linspace(0.6, 1.4, d) if d > 1 else [-1.0], tau, -0.8, 1.1)


def bistable():
    """x - x^3 with noise 1 to t = 1 from N(0, 1), in the time tau = t/2."""
    return Nonlinear("bistable", "2*(x - x^3)", lambda x: 2 * (x - x**3), 0.5, [0.0], [1.0])


def van_der_pol(mu=1.2, tau=0.6):
    def drift(x):
        return np.stack([x[:, 1], mu * (1 - x[:, 0]**2) * x[:, 1] - x[:, 0]], axis=1)
    return Nonlinear("Van der Pol", f"y, {mu!r}*(1 - x^2)*y - x", drift, tau, [0.7, -0.3], [0.3, 0.4])


BISTABLE_AT = np.array([[0.0], [1.0], [1.6]])
VAN_DER_POL_AT = np.array([[0.2, 0.3], [1.3, -0.9], [-1.2, 0.4]])
