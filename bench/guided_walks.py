"""Walks backward in time that a trained network guides: log-densities with a standard error, and what a network misses.

For dx = F dtau + sqrt(2) dW from u0, a chain of n Euler steps h has the density u_h(x) = E[e^w], where the chain runs back from x by
y = x + h (2 s(x, tau) - F(x)) + sqrt(2h) e and w sums ln N(x; y + h F(y), 2h) - ln N(y; its own mean, 2h) and, at the end, ln u0. This
holds for any s; the closer s is to the score, the less w spreads, so a network makes the variance small and cannot make the mean
wrong. u_h differs from u by O(h): `log_density` gives it at h and 2h, with the standard errors of both.

A network alone has no error. `claims` gives it one: at points drawn from those that are asked for, the guided walks are compared with
the network, and the 90 % quantile of the differences is the claim (split conformal: it covers 90 % of such points whatever the network is).
"""
import numpy as np

FAR = 6.0  # times the mean |F|^2: there a walk that would run against the drift follows it, as in a steady state


class Guide:
    """Walks of a problem (drift F(x), log_start(x), start_score(x)) along the score of a model trained from tau_min on."""

    def __init__(self, drift, log_start, start_score, model, tau_min, rows):
        self.drift, self.log_start, self.start_score, self.model, self.tau_min = drift, log_start, start_score, model, tau_min
        self.far = FAR * (drift(rows) ** 2).sum(1).mean()

    def score(self, x, tau):
        if tau >= self.tau_min:
            return self.model.score(x, tau)
        share = tau / self.tau_min
        return share * self.model.score(x, self.tau_min) + (1 - share) * self.start_score(x)

    def back(self, x, tau, h):
        """The mean displacement of a step of length h back from x."""
        f = self.drift(x)
        b = 2 * self.score(x, tau) - f
        runs = ((f ** 2).sum(1) > self.far) & ((f * b).sum(1) < 0)
        b[runs] = f[runs]
        longest = 2 * np.sqrt(2 * x.shape[1] / h)
        return h * b / np.maximum(1, np.linalg.norm(b, axis=1) / longest)[:, None]

    def weights(self, x, tau, n, rng, same=1):
        """w of walks from the rows of x, n steps; `same` blocks of rows share their noise."""
        h, w = tau / n, np.zeros(len(x))
        for k in range(n, 0, -1):
            e = np.tile(rng.normal(size=(len(x) // same, x.shape[1])), (same, 1))
            y = x + self.back(x, k * h, h) + np.sqrt(2 * h) * e
            w += 0.5 * (e ** 2).sum(1) - ((x - y - h * self.drift(y)) ** 2).sum(1) / (4 * h)
            x = y
        return w + self.log_start(x)

    def log_density(self, at, tau, n, walks, rng):
        """ln u at the points, and its standard error."""
        w = self.weights(np.repeat(at, walks, axis=0), tau, n, rng).reshape(len(at), walks)
        return log_mean(w)

    def slopes(self, at, along, tau, n, walks, rng, reach=0.02):
        """Slopes of ln u at the points along unit vectors, by walks from both sides with the same noise."""
        sides = np.concatenate([at + reach * along, at - reach * along])
        w = self.weights(np.repeat(sides, walks, axis=0), tau, n, rng, same=2).reshape(2, len(at), walks)
        return (log_mean(w[0])[0] - log_mean(w[1])[0]) / (2 * reach)


def log_mean(w):
    most = w.max(axis=1, keepdims=True)
    a = np.exp(w - most)
    return most[:, 0] + np.log(a.mean(1)), a.std(1, ddof=1) / a.mean(1) / np.sqrt(a.shape[1])


def conformal(misses, share=0.9):
    """The bound that covers one more such miss with this probability; infinite where there are too few."""
    place = int(np.ceil((len(misses) + 1) * share))
    return np.sort(misses)[place - 1] if place <= len(misses) else np.inf


def claims(guide, probes, tau, n, walks, rng):
    """For the model at tau: the constant to add to its log-density, and claimed errors (90 %) of log-density and of slopes."""
    v, _ = guide.log_density(probes, tau, n, walks, rng)
    along = rng.normal(size=probes.shape)
    along /= np.linalg.norm(along, axis=1)[:, None]
    miss = v - guide.model.log_density(probes, tau)
    shift = np.median(miss)
    slope = guide.slopes(probes, along, tau, n, walks, rng) - (guide.model.score(probes, tau) * along).sum(1)
    return shift, conformal(np.abs(miss - shift)), conformal(np.abs(slope))
