"""Problems with a noise G(x) that no coordinates make a number, drawn at random, whose stationary density is known.

With D = G G'/2, any ln p and R antisymmetric, the drift f = (D + R) grad ln p + div D leaves p unchanged: the current
-R grad p has no divergence. Texts of the drift and the noise, points and the truth come out.
"""

import numpy as np

NAMES = ("x", "y", "z")


def entry(rng, dim, base, wave):
    """a + b sin(k.x + phase): its text and those of its derivatives. On a line x^2/20 is added: without it there are
    coordinates."""
    b, k, phase = wave * rng.uniform(0.3, 1), rng.uniform(-1.3, 1.3, dim), rng.uniform(0, 2 * np.pi)
    angle = " + ".join(f"{k[i]:.6f}*{NAMES[i]}" for i in range(dim)) + f" + {phase:.6f}"
    more, slope = ("", "") if dim > 1 else (" + x^2/20", " + x/10")
    return (f"({base:.6f} + {b:.6f}*sin({angle}){more})",
            [f"({b:.6f}*{k[i]:.6f}*cos({angle}){slope})" for i in range(dim)])


def quartic(rng, dim):
    """ln p = -sum(a x^4/4 + s x^2/2 + c x) - m x y: texts of its gradient, and ln p and its gradient as functions."""
    a, s, c = (np.round(rng.uniform(low, high, dim), 6) for low, high in ((0.1, 0.6), (-1, 1), (-0.5, 0.5)))
    m = np.zeros((dim, dim))
    if dim > 1:
        m[0, 1] = m[1, 0] = np.round(rng.uniform(-0.4, 0.4), 6)
    texts = [f"(-({a[i]}*{NAMES[i]}^3 + {s[i]}*{NAMES[i]} + {c[i]}"
             + "".join(f" + {m[i, j]}*{NAMES[j]}" for j in range(dim) if m[i, j]) + "))" for i in range(dim)]

    def log_density(x):
        return -(a * x**4 / 4 + s * x**2 / 2 + c * x).sum(-1) - 0.5 * np.einsum("...i,ij,...j", x, m, x)

    def score(x):
        return -(a * x**3 + s * x + c) - x @ m
    return texts, log_density, score


def draw(seed, dim, wave=0.3, turn=1.0, count=24):
    """(drift, noise, points, ln u, score) number `seed`: half of the points from p, the others farther out."""
    rng = np.random.default_rng(seed)
    G = [[entry(rng, dim, rng.uniform(0.7, 1.3) if i == k else rng.uniform(-0.3, 0.3), wave) for k in range(dim)]
         for i in range(dim)]
    texts, log_density, score = quartic(rng, dim)
    R = np.round(rng.uniform(-turn, turn, (dim, dim)), 6)
    R = R - R.T
    drift = []
    for i in range(dim):
        terms = []
        for j in range(dim):
            D = " + ".join(f"{G[i][k][0]}*{G[j][k][0]}" for k in range(dim))
            slope = " + ".join(f"{G[i][k][1][j]}*{G[j][k][0]} + {G[i][k][0]}*{G[j][k][1][j]}" for k in range(dim))
            terms.append(f"(0.5*({D}) + {R[i, j]:.6f})*{texts[j]} + 0.5*({slope})")
        drift.append(" + ".join(terms))
    noise = "; ".join(", ".join(G[i][k][0] for k in range(dim)) for i in range(dim))
    line = np.linspace(-8, 8, {1: 16001, 2: 801, 3: 121}[dim])
    lattice = np.stack(np.meshgrid(*[line] * dim, indexing="ij"), -1).reshape(-1, dim)
    v = log_density(lattice)
    mass = np.exp(v - v.max())
    log_total = v.max() + np.log(mass.sum()) + dim * np.log(line[1] - line[0])  # the midpoint rule, right to rounding
    x = lattice[rng.choice(len(lattice), count, p=mass / mass.sum())]
    x[count // 2:] *= 1.5
    return ", ".join(drift), noise, x, log_density(x) - log_total, score(x)
