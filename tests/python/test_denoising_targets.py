"""heatball.torch.denoising_targets against the exact posterior mean of a few rows, in NumPy and float64."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import heatball.torch as ht  # noqa: E402
from heatball import _torch_targets  # noqa: E402
from heatball import ArgumentError  # noqa: E402

PROCESSES, KINDS = ("ou", "ve", "edm"), ("score", "eps", "denoiser")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def levels(process, tau):
    """a and b of x = a x_0 + sqrt(b) e."""
    if process == "ou":
        return np.exp(-tau), -np.expm1(-2 * tau)
    return np.ones_like(tau), 2 * tau if process == "ve" else tau**2


def case(process, n=40, N=300, dim=3, shift=0.0):
    """Rows, times between 0.003 and 3, and noisy rows of known origin."""
    rng = np.random.Generator(np.random.Philox(31))
    data = rng.standard_normal((N, dim)) * [1, 3, 0.2][:dim] + shift
    tau = np.geomspace(0.003, 3, n)
    index = rng.integers(0, N, n)
    a, b = levels(process, tau)
    noise = rng.standard_normal((n, dim))
    return data, tau, index, noise, a[:, None] * data[index] + np.sqrt(b)[:, None] * noise


def exact(x, tau, data, process, kind, allowed=None):
    """The posterior mean over rows of equal weight, by direct sums."""
    a, b = (part[:, None] for part in levels(process, tau))
    exponent = -((x[:, None, :] - a[:, :, None] * data)**2).sum(2) / (2 * b)
    if allowed is not None:
        exponent = np.where(allowed, exponent, -np.inf)
    weight = np.exp(exponent - exponent.max(1, keepdims=True))
    mean = weight @ data / weight.sum(1, keepdims=True)
    return {"score": (a * mean - x) / b, "eps": (x - a * mean) / np.sqrt(b), "denoiser": mean}[kind]


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype, close", [(torch.float64, 1e-11), (torch.float32, 2e-3)])
def test_all_rows_give_the_posterior_mean(process, kind, dtype, close):
    data, tau, _, _, x = case(process)
    found = ht.denoising_targets(torch.tensor(x, dtype=dtype), torch.tensor(tau), torch.tensor(data), process=process,
                                 kind=kind, rows=None)
    true = exact(x, tau, data, process, kind)
    assert found.dtype == dtype and not found.requires_grad
    assert np.abs(found.numpy() - true).max() < close * np.abs(true).max()


def test_data_far_from_the_origin_in_float32():
    data, tau, _, _, x = case("ou", shift=100.0)
    found = ht.denoising_targets(torch.tensor(x, dtype=torch.float32), torch.tensor(tau), torch.tensor(data), kind="denoiser",
                                 rows=None)
    assert np.abs(found.numpy() - exact(x, tau, data, "ou", "denoiser"))[tau > 0.1].max() < 1e-2


def test_pieces_and_images_change_nothing(monkeypatch):
    data, tau, index, _, x = case("ve", dim=2)
    x, tau, data = (torch.tensor(values) for values in (x, tau, data))
    labels = torch.arange(len(data)) % 3
    given = dict(process="ve", rows=None, labels=labels[index], data_labels=labels)
    whole = ht.denoising_targets(x, tau, data, **given)
    monkeypatch.setattr(_torch_targets, "PIECE", 7)
    monkeypatch.setattr(_torch_targets, "MOST_WEIGHTS", 20)
    assert torch.allclose(ht.denoising_targets(x, tau, data, **given), whole, rtol=0, atol=1e-10)
    images = ht.denoising_targets(x.reshape(-1, 1, 2), tau, data.reshape(-1, 1, 2), **given)
    assert images.shape == (len(x), 1, 2) and torch.allclose(images[:, 0], whole, rtol=0, atol=1e-10)


def test_labels():
    data, tau, index, _, x = case("ou")
    of = np.arange(len(data)) % 4
    mine = of[index].copy()
    mine[::5] = -1
    found = ht.denoising_targets(torch.tensor(x), torch.tensor(tau), torch.tensor(data), rows=None, kind="eps",
                                 labels=torch.tensor(mine), data_labels=torch.tensor(of))
    allowed = (mine[:, None] < 0) | (mine[:, None] == of)
    assert np.abs(found.numpy() - exact(x, tau, data, "ou", "eps", allowed)).max() < 1e-10


def test_a_label_that_is_not_drawn_takes_all_its_rows():
    data, tau, _, _, x = case("ou")
    of, mine = np.zeros(len(data), int), np.zeros(len(x), int)
    of[7], mine[3] = 1, 1
    found = ht.denoising_targets(torch.tensor(x), torch.tensor(tau), torch.tensor(data), rows=1, kind="denoiser",
                                 labels=torch.tensor(mine), data_labels=torch.tensor(of),
                                 generator=torch.Generator().manual_seed(1))
    assert np.abs(found[3].numpy() - data[7]).max() < 1e-12
    mine[3] = 2
    with pytest.raises(ArgumentError, match="labels has 2, which no row of the data has"):
        ht.denoising_targets(torch.tensor(x), torch.tensor(tau), torch.tensor(data), labels=torch.tensor(mine),
                             data_labels=torch.tensor(of))


@pytest.mark.parametrize("rows", [1, 5, 60, 299])
@pytest.mark.parametrize("N", [300, 20000])
def test_drawn_rows_are_different_and_hold_those_known(rows, N):
    random = torch.Generator().manual_seed(5)
    known = torch.tensor([3, 17, 3, 290])
    index = _torch_targets.drawn(N, rows, known, random)
    assert len(index) == max(rows, 3) == len(torch.unique(index)) and 0 <= index.min() and index.max() < N
    assert set(known.tolist()) <= set(index.tolist())
    counts = torch.zeros(N)
    for _ in range(400):
        counts[_torch_targets.drawn(N, rows, None, random)] += 1
    assert counts.sum() == 400 * rows
    halves = counts[:N // 2].sum().item()  # hypergeometric: at most binomial
    assert abs(halves - 200 * rows) <= 5 * np.sqrt(100 * rows)


def test_one_own_row_is_the_usual_target():
    """Alone in the mean it gives the noise itself; by index and as a row."""
    data, tau, index, noise, x = case("ou")
    for own in (torch.tensor(index[:1]), torch.tensor(data[index[:1]])):
        found = ht.denoising_targets(torch.tensor(x[:1]), torch.tensor(tau[:1]), torch.tensor(data), rows=1, own=own,
                                     kind="eps")
        assert np.abs(found.numpy() - noise[:1]).max() < 1e-12


def test_the_generator_decides():
    data, tau, index, _, x = case("ou")
    made = [ht.denoising_targets(torch.tensor(x), torch.tensor(tau), torch.tensor(data), rows=64, own=torch.tensor(index),
                                 generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(made[0], made[1]) and not torch.equal(made[0], made[2])


@pytest.mark.parametrize("process", PROCESSES)
def test_the_same_minimiser_with_less_variance(process):
    """Least squares of a linear score at one tau: the same coefficients in the mean over draws, with a smaller spread."""
    rng = np.random.Generator(np.random.Philox(9))
    data = torch.tensor(np.concatenate([rng.normal(-1, 0.3, 150), rng.normal(1, 0.3, 150)])[:, None])
    tau = np.array(0.4)
    a, b = map(float, levels(process, tau))
    random, fits = torch.Generator().manual_seed(3), []
    for _ in range(300):
        index = torch.randint(300, (128,), generator=random)
        noise = torch.randn(128, 1, generator=random, dtype=torch.float64)
        x = a * data[index] + b**0.5 * noise
        features = torch.cat([x, x**3], 1)
        targets = [noise] + [ht.denoising_targets(x, 0.4, data, process=process, kind="eps", rows=rows, own=index,
                                                  generator=random) for rows in (256, None)]
        fits.append([torch.linalg.lstsq(features, target).solution[:, 0].numpy() for target in targets])
    fits = np.array(fits)  # (300, 3, 2)
    mean, error = fits.mean(0), fits.std(0) / np.sqrt(len(fits))
    assert (np.abs(mean[0] - mean[2]) < 5 * np.hypot(error[0], error[2])).all()
    assert (np.abs(mean[0] - mean[1]) < 5 * np.hypot(error[0], error[1]) + 0.02 * np.abs(mean[0])).all()
    assert (fits.std(0)[1:] < 0.9 * fits.std(0)[0]).all()  # what is left is that of x
    true = exact(x.numpy(), np.full(128, 0.4), data.numpy(), process, "eps")
    noise_of = [np.mean((target.numpy() - true)**2) for target in targets]
    assert noise_of[1] < 0.02 * noise_of[0] and noise_of[2] < 1e-20


@pytest.mark.parametrize("change, says", [
    ({"process": "vp"}, "process is 'vp'; it must be ou, ve or edm"),
    ({"kind": "noise"}, "kind is 'noise'; it must be score, eps or denoiser"),
    ({"rows": 0}, "rows is 0"),
    ({"tau": 0.0}, "tau must be above 0"),
    ({"tau": 0.0, "process": "edm"}, "sigma must be above 0"),
    ({"data": torch.zeros(5, 2)}, r"data has shape \(5, 2\); it must be \(N, 3\)"),
    ({"own": torch.arange(3)}, r"indices must be \(4,\), from 0 to 4"),
    ({"own": torch.zeros(3, 3)}, "rows must have the shape of x"),
    ({"labels": torch.zeros(4, dtype=torch.long)}, "give both labels and data_labels"),
])
def test_refusals(change, says):
    given = {"x": torch.zeros(4, 3), "tau": 0.1, "data": torch.zeros(5, 3), **change}
    with pytest.raises(ArgumentError, match=says):
        ht.denoising_targets(given.pop("x"), given.pop("tau"), given.pop("data"), **given)


def test_wrong_types():
    with pytest.raises(TypeError, match="x is torch.float16"):
        ht.denoising_targets(torch.zeros(4, 3).half(), 0.1, torch.zeros(5, 3))
    with pytest.raises(TypeError, match="data is"):
        ht.denoising_targets(torch.zeros(4, 3), 0.1, np.zeros((5, 3)))


# ---- wrong shapes, dtypes, devices and labels -------------------------------------------------------

X, TAU, DATA = torch.linspace(-1, 1, 24).reshape(8, 3), torch.linspace(0.1, 1, 8), torch.linspace(-2, 2, 150).reshape(50, 3)
ONES, ZEROS = torch.ones(8, dtype=torch.long), torch.zeros(50, dtype=torch.long)
NAN = float("nan")


@pytest.mark.parametrize("given, kind, says", [
    (dict(tau="a"), TypeError, r"tau is 'a'; it must be a tensor of shape \(n,\), or a number"),
    (dict(tau=None), TypeError, "tau is None"),
    (dict(tau=TAU[:, None]), ValueError, r"tau has shape \(8, 1\)"),
    (dict(tau=NAN), ValueError, "tau must be above 0"),
    (dict(tau=1e-25, process="edm"), ValueError, "sigma is 1e-25, whose square is 0 in torch.float32"),
    (dict(x=X.half()), TypeError, "x is torch.float16; it must be a tensor of float32 or float64"),
    (dict(x=X.to("meta")), ValueError, "x is a meta tensor"),
    (dict(x=X.to_sparse()), ValueError, "x is torch.sparse_coo; it must be a dense tensor"),
    (dict(x=torch.cat([X[:7], X[:1] * NAN])), ValueError, "row 7 of x has a value that is not finite"),
    (dict(data=torch.cat([DATA, DATA[:1] * NAN])), ValueError, "row 50 of data has a value that is not finite"),
    (dict(data=DATA.to(torch.complex64)), TypeError, "data is torch.complex64; it must be real"),
    (dict(data=DATA.to("meta")), ValueError, "data is a meta tensor"),
    (dict(data=DATA[:, :2]), ValueError, r"data has shape \(50, 2\); it must be \(N, 3\)"),
    (dict(own=torch.ones(8, dtype=torch.bool)), TypeError, "own is torch.bool; it must be indices, or rows as x"),
    (dict(own=X.reshape(8, 1, 3)), ValueError, r"own has shape \(8, 1, 3\); rows must have the shape of x"),
    (dict(own=X.int()), ValueError, r"own has shape \(8, 3\); indices must be \(8,\)"),
    (dict(own=X * NAN), ValueError, "row 0 of own has a value that is not finite"),
    (dict(generator=3), TypeError, "generator is 3; it must be a torch.Generator"),
    (dict(labels=-2 * ONES, data_labels=ZEROS), ValueError, "labels has -2; it must be a class, or -1 for all rows"),
    (dict(labels=["a"] * 8, data_labels=ZEROS), TypeError, "labels is a list of 8; it must be a tensor of integers"),
    (dict(labels=ONES.to(torch.complex64), data_labels=ZEROS), ValueError, "labels is torch.complex64"),
    (dict(labels=ONES, data_labels=ZEROS), ValueError, "labels has 1, which no row of the data has"),
])
def test_wrong_arguments_are_named(given, kind, says):
    given = {"x": X, "tau": TAU, "data": DATA, **given}
    with pytest.raises(kind, match=says):
        ht.denoising_targets(given.pop("x"), given.pop("tau"), given.pop("data"), **given)


def test_integers_and_other_precisions_of_the_data_are_taken():
    whole = (DATA * 2).int()
    for data in (whole, whole.double(), whole.half()):
        found = ht.denoising_targets(X, TAU, data, rows=None)
        assert found.dtype == torch.float32 and torch.allclose(found, ht.denoising_targets(X, TAU, whole.float(), rows=None))
    assert ht.denoising_targets(X[:0], TAU[:0], DATA).shape == (0, 3)
