"""Words, uniforms and normals against published vectors and references written in NumPy."""

import numpy as np
import pytest
from scipy import stats

import heatball

N = 200000
SEED, STREAM = 0x9E3779B97F4A7C15, 2385
MASK = 0xFFFFFFFF

# Random123's known answers for philox4x32 with 10 rounds: counter, key, output.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def philox(counter, key):
    """Philox4x32-10 as Salmon and others (2011) print it."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def block_words(seed, stream, block):
    halves = [(v & MASK, v >> 32) for v in (block, stream, seed)]
    return philox(halves[0] + halves[1], halves[2])


def halves(words):
    """Return the two 64-bit halves of each block, (n_blocks,) each."""
    w = words.reshape(-1, 4).astype(np.uint64)
    return w[:, 0] | w[:, 1] << np.uint64(32), w[:, 2] | w[:, 3] << np.uint64(32)


def reference_uniforms(words):
    """(k + 1/2) 2^-52 with k the top 52 bits of each half: exact in double."""
    k = np.stack(halves(words), axis=1) >> np.uint64(12)
    return ((k.astype(np.float64) + 0.5) * 2.0**-52).ravel()


def reference_normals(words):
    """Box-Muller in long double: radius from the first half, angle and signs from the second."""
    first, a = halves(words)
    u = (np.longdouble(1) * (first >> np.uint64(12)) + np.longdouble(0.5)) * np.longdouble(2)**-52
    radius = np.sqrt(-2 * np.log(u))
    fraction = (a >> np.uint64(10)) & np.uint64((1 << 52) - 1)
    y = np.longdouble(1) * fraction * np.longdouble(2)**-52 + np.longdouble(2)**-53 - 0.5
    angle = np.arctan(np.longdouble(1)) * 2 * y
    swap, negate = (a >> np.uint64(62)) & np.uint64(1), a >> np.uint64(63)
    sign = np.where(negate, -1, 1)
    c, s = np.cos(angle), np.sin(angle)
    pair = np.stack([np.where(swap, s, c), np.where(swap, c, s)], axis=1)
    return (radius[:, None] * sign[:, None] * pair).ravel()


@pytest.mark.parametrize("counter, key, output", KNOWN)
def test_the_reference_has_the_known_answers(counter, key, output):
    hexes = [[int(word, 16) for word in text.split()] for text in (counter, key, output)]
    assert philox(hexes[0], hexes[1]) == hexes[2]


def test_known_answer_of_zero():
    assert heatball.random.words(4, seed=0).tolist() == [int(w, 16) for w in KNOWN[0][2].split()]


@pytest.mark.parametrize("seed, stream, block", [
    (0, 0, 1), (1, 0, 0), (0, 1, 0), (SEED, STREAM, 12345),
    (2**64 - 1, 2**64 - 1, 2**62 - 3),  # near the last block that words can reach
    (0x299F31D0A4093822, 0x0370734413198A2E, 0x05A308D3243F6A88),
    (SEED, STREAM, 2**32 - 1), (SEED, STREAM, 2**33),
])
def test_words_are_philox(seed, stream, block):
    words = heatball.random.words(8, seed=seed, stream=stream, first=4 * block)
    expected = block_words(seed, stream, block) + block_words(seed, stream, block + 1)
    assert words.dtype == np.uint32 and words.tolist() == expected


def test_words_across_a_carry_of_the_counter():
    first = 4 * (2**32 - 50)
    words = heatball.random.words(400, seed=SEED, stream=STREAM, first=first)
    expected = [block_words(SEED, STREAM, 2**32 - 50 + i) for i in range(100)]
    assert words.reshape(-1, 4).tolist() == expected


def test_uniforms_are_the_documented_function_of_the_words():
    words = heatball.random.words(2 * N, seed=SEED, stream=STREAM)
    u = heatball.random.uniform(N, seed=SEED, stream=STREAM)
    assert np.array_equal(u, reference_uniforms(words))
    assert 0 < u.min() and u.max() < 1


def test_normals_are_the_documented_function_of_the_words():
    words = heatball.random.words(2 * N, seed=SEED, stream=STREAM)
    x = heatball.random.normal(N, seed=SEED, stream=STREAM)
    exact = reference_normals(words)
    ulp = np.abs(x - exact) / np.spacing(np.abs(exact.astype(np.float64)))
    assert ulp.max() <= 4


@pytest.mark.parametrize("name", ["normal", "uniform", "words"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_random_access(name, dtype):
    draw = getattr(heatball.random, name)
    extra = {} if name == "words" else {"dtype": dtype}
    whole = draw(5000, seed=SEED, stream=STREAM, **extra)
    assert whole.shape == (5000,) and (name == "words" or whole.dtype == dtype)
    for first, n in ((0, 1), (1, 1), (7, 300), (1023, 1026), (4999, 1), (5000, 0)):
        piece = draw(n, seed=SEED, stream=STREAM, first=first, **extra)
        assert np.array_equal(piece, whole[first:first + n])


def test_chunks_of_the_package_are_invisible(monkeypatch):
    whole = heatball.random.normal(1000, seed=3)
    monkeypatch.setattr(heatball.random, "CHUNK", 37)
    assert np.array_equal(whole, heatball.random.normal(1000, seed=3))


def test_streams_and_seeds_differ():
    draws = [heatball.random.normal(N, seed=s, stream=t) for s, t in ((1, 0), (2, 0), (1, 1))]
    for i in range(3):
        for j in range(i):
            assert abs(np.corrcoef(draws[i], draws[j])[0, 1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_laws(dtype):
    x = heatball.random.normal(N, seed=11, dtype=dtype)
    u = heatball.random.uniform(N, seed=12, dtype=dtype)
    assert stats.kstest(x, stats.norm.cdf).pvalue > 1e-6
    assert stats.kstest(u, stats.uniform.cdf).pvalue > 1e-6
    assert 0 < u.min() and u.max() < 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_of_normals(dtype):
    x = heatball.random.normal(2000000, seed=13, dtype=dtype).astype(np.float64)
    exact = [1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395]
    for k in range(1, 7):
        error = np.sqrt((exact[2 * k] - exact[k]**2) / len(x))
        assert abs((x**k).mean() - exact[k]) < 5 * error


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8])
def test_neighbours_are_uncorrelated(lag):
    x = heatball.random.normal(N, seed=14)
    for a in (x, x**2 - 1):
        product = a[lag:] * a[:-lag]
        assert abs(product.mean()) < 5 * product.std() / np.sqrt(len(product))


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tails_of_1e8_normals(dtype):
    """Counts beyond 4 and 5 standard deviations, on each side, within 5 standard errors."""
    n, piece = 10**8, 10**7
    counts = np.zeros(4)
    for first in range(0, n, piece):
        x = heatball.random.normal(piece, seed=15, first=first, dtype=dtype)
        counts += [(x > 4).sum(), (x < -4).sum(), (x > 5).sum(), (x < -5).sum()]
    expected = n * stats.norm.sf([4, 4, 5, 5])
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all(), (counts, expected)
