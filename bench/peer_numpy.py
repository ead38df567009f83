"""The peer: the same samples with NumPy's Generator(Philox), written as well as we can, one thread.

kappa_general draws only d normals and two exponentials a row (the four extra normals of the textbook
form are two exponentials, which NumPy draws faster). kappa_plane uses the product of three uniforms.
Both may run over the whole array or in blocks that stay in cache; the benchmark takes the faster.
"""
import numpy as np


def kappa_general(rng, z, sigma):
    """Fills z [n, d] and sigma [n] with draws of kappa on the unit heat ball."""
    n, d = z.shape
    rng.standard_normal(out=z)
    e = rng.standard_exponential((2, n))
    e *= 2
    norm = np.einsum("ij,ij->i", z, z)
    inner = norm + e[0]
    np.add(inner, e[1], out=sigma)
    sigma *= -1 / d
    np.exp(sigma, out=sigma)
    sigma /= 4 * np.pi
    inner *= sigma
    inner /= norm
    inner *= 2
    np.sqrt(inner, out=inner)
    z *= inner[:, None]


def kappa_plane(rng, z, sigma):
    """The same for d = 2: sigma = u v w/(4 pi), |z|^2 = -4 sigma ln(u v)."""
    u = rng.random((4, len(sigma)))
    length = u[0]
    length *= u[1]
    np.multiply(length, u[2], out=sigma)
    sigma /= 4 * np.pi
    np.log(length, out=length)
    length *= sigma
    length *= -4
    np.sqrt(length, out=length)
    angle = u[3]
    angle *= 2 * np.pi
    np.multiply(np.cos(angle), length, out=z[:, 0])
    np.multiply(np.sin(angle), length, out=z[:, 1])


def kappa(rng, z, sigma, block=None):
    fill = kappa_plane if z.shape[1] == 2 else kappa_general
    step = block or len(sigma)
    for start in range(0, len(sigma), step):
        fill(rng, z[start:start + step], sigma[start:start + step])
