"""heatball.train and heatball.Model. Oracles: exact scores of mixtures, closed forms of Gaussians in NumPy,
central differences."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import heatball

QUICK = dict(width=16, depth=2, batch=64, steps=40, n=300)


@pytest.fixture(scope="module")
def gmm():
    return heatball.dataset("asymmetric_gmm")


@pytest.fixture(scope="module")
def model(gmm):
    return heatball.train(gmm, steps=300, width=64, depth=3)


@pytest.fixture(scope="module")
def quick(gmm):
    return heatball.train(gmm, **QUICK)


def saved(model, tmp_path, name="model.safetensors"):
    model.save(tmp_path / name)
    return (tmp_path / name).read_bytes()


# ---- images ---------------------------------------------------------------------------------------

def bars(n, height=8, width=9):
    """Pictures of two classes: a bright left (0) or upper (1) half, black -0.5, white 1.885."""
    rng = np.random.default_rng(11)
    labels = np.arange(n) % 2
    pixels = rng.uniform(-0.5, 0.1, (n, height, width))
    pixels[labels == 0, :, : width // 2] += 1.7
    pixels[labels == 1, : height // 2, :] += 1.7
    return pixels, labels


@pytest.fixture(scope="module")
def pictures():
    pixels, labels = bars(400)
    return heatball.train(pixels, "dsm", head="score", labels=labels, pixels=(-0.5, 1.885), width=32,
                          depth=2, steps=400, batch=64, tau_min=0.005)


def test_a_model_of_images_keeps_their_sides(pictures, tmp_path):
    expected = dict(dim=72, classes=2, image_height=8, image_width=9, pixel_low=-0.5,
                    pixel_high=1.885)
    assert {name: pictures.info[name] for name in expected} == expected
    pictures.save(tmp_path / "m.safetensors")
    again = heatball.load(tmp_path / "m.safetensors")
    assert {name: again.info[name] for name in expected} == expected
    assert quick_sides(heatball.train(bars(60)[0].reshape(60, 72), **QUICK)) == (0, 0)
    assert quick_sides(heatball.train(bars(60)[0], **QUICK)) == (8, 9)


def quick_sides(model):
    return model.image_height, model.image_width


def test_images_are_generated_by_label(pictures):
    for label in 0, 1:
        made = pictures.generate(200, n_steps=60, label=label).reshape(-1, 8, 9)
        left, upper = made[:, 4:, :4].mean(axis=(1, 2)), made[:, :4, 4:].mean(axis=(1, 2))
        right = (left > upper) == (label == 0)
        assert right.mean() > 0.9


def test_images_end_with_the_mean(pictures, quick):
    assert np.array_equal(pictures.generate(5, n_steps=9),
                          pictures.generate(5, n_steps=9, denoise="mean"))
    assert np.array_equal(quick.generate(5, n_steps=9), quick.generate(5, n_steps=9, denoise="flow"))


def test_pixels_are_of_images_only():
    with pytest.raises(heatball.ArgumentError, match="pixels is given, but data is not images"):
        heatball.train(np.zeros((9, 2)), pixels=(0, 1), **QUICK)
    with pytest.raises(heatball.Error, match="pixel"):
        heatball.train(bars(9)[0], pixels=(1, 0), **QUICK)


# ---- what is learnt -------------------------------------------------------------------------------

@pytest.mark.parametrize("tau, factor", [(0.1, 3), (0.3, 5)])
def test_beats_the_gaussian_of_the_data(gmm, model, tau, factor):
    """The reference is what an untrained model gives: the score of the data's Gaussian under OU."""
    a = np.exp(-tau)
    covariance = a * a * gmm.covariance() + (1 - a * a) * np.eye(2)

    def gaussian(x, tau):
        return -np.linalg.solve(covariance, (x - a * gmm.mean()).T).T

    ours, its = (gmm.score_error(score, tau, n=4000) for score in (model.score, gaussian))
    for region in "all", "low":
        high, low = ours[region] + 5 * ours[region + "_se"], its[region] - 5 * its[region + "_se"]
        assert high < low / factor


def test_the_score_is_the_slope_of_the_log_density(gmm, model):
    x, h = gmm.sample(200, seed=3, tau=0.3), 5e-3
    for tau in 0.05, 0.385, 1.7:
        slopes = np.stack([(model.log_density(x + h * e, tau) - model.log_density(x - h * e, tau))
                           / (2 * h) for e in np.eye(2)], axis=1)
        assert np.abs(slopes - model.score(x, tau)).max() < 5e-4


def test_the_divergence_is_the_trace_of_the_slopes(gmm, model):
    x, h = gmm.sample(100, seed=3, tau=0.3), 1e-3
    trace = sum((model.score(x + h * e, 0.3) - model.score(x - h * e, 0.3))[:, k] / (2 * h)
                for k, e in enumerate(np.eye(2)))
    assert np.abs(model.divergence(x, 0.3) - trace).max() < 5e-3 * (1 + np.abs(trace).max())


def test_evaluate_gathers_the_judges(gmm, model):
    found = heatball.evaluate(model, "asymmetric_gmm", [0.1, 0.3], n=1000, samples=400, solver="ode")
    judged = gmm.score_error(model.score, 0.3, n=1000)
    last = found["tau"][1]
    assert (last["mse"], last["mse_low"], last["mse_high_se"], last["mse_grid"]) == (
        judged["all"], judged["low"], judged["high_se"], judged["grid"])
    assert last["curl"] < 1e-6  # an energy
    made = model.generate(400, "ode", seed=42)
    assert found["mmd2"] == heatball.metrics.mmd(made, gmm.sample(1000))["mmd2"]
    assert (found["modes"], found["modes_true"]) == (4, 4)
    rows = gmm.sample(300, seed=7)
    assert set(heatball.evaluate(model, rows, 0.3, samples=0)["tau"][0]) == {"tau", "curl", "curl_se"}
    with pytest.raises(heatball.ArgumentError, match="data has 3 columns; the model has dimension 2"):
        heatball.evaluate(model, np.zeros((20, 3)))


def test_noised_rows_have_the_law_at_tau(untrained):
    x, mean, scale, covariance = moved_gaussian()
    noise, a = np.random.Generator(np.random.Philox(1)).normal(size=x.shape), np.exp(-0.5)
    expected = mean + a * (x - mean) + scale * np.sqrt(1 - a * a) * noise
    assert np.allclose(untrained.noised(x, 0.5, noise), expected, rtol=0, atol=1e-3 * scale)


def test_a_drift_of_the_user(tmp_path):
    """dx = -a x dtau + sqrt(2) dW is OU in another clock: rows of a Gaussian stay one, in closed form."""
    random = np.random.Generator(np.random.Philox(12))
    x = random.normal([0.4, -0.3], [0.5, 0.8], (2000, 2))
    model = heatball.train(x, "dsm", drift=["-a*x", "-a*y"], params={"a": 1.5}, steps=150, width=32, depth=2)
    assert model.process == "drift" and model.scale == 1
    points, tau = random.normal(size=(200, 2)), 0.3
    shrink = np.exp(-1.5 * tau)
    variance = shrink**2 * x.var(axis=0) + (1 - shrink**2) / 1.5
    score = -(points - shrink * x.mean(axis=0)) / variance
    assert np.sqrt(((model.score(points, tau) - score)**2).mean()) < 0.15 * np.sqrt((score**2).mean())
    assert np.array_equal(pickle.loads(pickle.dumps(model)).score(points, tau), model.score(points, tau))


def rotating_gaussian(tau, A, mean, covariance):
    """The moments at tau of dx = -A x dtau + sqrt(2) dW from N(mean, covariance), by SciPy."""
    E = scipy.linalg.expm(-A * tau)
    P = scipy.linalg.solve_continuous_lyapunov(A, 2 * np.eye(len(A)))
    return E @ mean, E @ (covariance - P) @ E.T + P


def test_samples_and_likelihoods_under_a_drift():
    """A linear drift that rotates, from a Gaussian: an untrained model is nearly right, a short training enough."""
    A, mean, C = np.array([[1.2, 0.9], [-0.7, 0.5]]), np.array([0.9, -0.4]), np.array([[0.5, 0.1], [0.1, 0.3]])
    random = np.random.Generator(np.random.Philox(4))
    x = random.multivariate_normal(mean, C, 4000)
    model = heatball.train(x, drift=["-1.2*x - 0.9*y", "0.7*x - 0.5*y"], steps=200, width=32, depth=2,
                           tau_min=0.01, tau_max=0.8)
    constant, error = model.log_normaliser()
    assert error < 1e-4 and abs(constant) < 3
    for solver in "sde", "ode", "heun":
        made = model.generate(2000, solver, n_steps=30, ode_tolerance=1e-3)
        assert np.all(np.abs(made.mean(0) - mean) < 5 * np.sqrt(np.diag(C) / 2000) + 0.03)
        assert np.all(np.abs(np.cov(made.T) - C) < 0.07)
    m, V = rotating_gaussian(0.01, A, mean, C)
    few = random.multivariate_normal(m, V, 100)
    exact = scipy.stats.multivariate_normal(m, V).logpdf(few)
    off = model.log_likelihood(few) - exact
    assert abs(off.mean()) < 0.05 and off.std() < 0.15
    # fresh ends: those of the exact law, more of them than the model keeps
    m, V = rotating_gaussian(0.8, A, mean, C)
    ends = random.multivariate_normal(m, V, 5000)
    made = model.generate(5000, "heun", n_steps=20, ends=ends)
    assert len(np.unique(made[:, 0])) == 5000
    assert np.all(np.abs(made.mean(0) - mean) < 5 * np.sqrt(np.diag(C) / 5000) + 0.03)
    # copies of kept ends are moved before they go back
    both = model.generate(2, "ode", ends=ends[:1], first=0)
    assert np.abs(both[0] - both[1]).max() > 1e-3
    assert np.array_equal(model.generate(1, "ode", ends=ends[:1], first=1)[0], both[1])
    with pytest.raises(heatball.ArgumentError, match="ends has 3 columns"):
        model.generate(1, ends=np.zeros((2, 3)))
    with pytest.raises(heatball.ArgumentError, match="tau_max is 0.5; a model of a drift"):
        model.generate(1, tau_max=0.5)


def moved_gaussian(n=400):
    """Rows far from the origin, of three sizes, and what OU makes of them in z = (x - mean)/scale."""
    random = np.random.Generator(np.random.Philox(8))
    x = random.normal(size=(n, 3)) @ np.array([[90.0, 0, 0], [30, 55, 0], [-20, 10, 40]]) + [500, -80, 3]
    scale = x.std(axis=0)
    return x, x.mean(axis=0), scale, np.corrcoef(x.T)


@pytest.fixture(scope="module")
def untrained():
    return heatball.train(moved_gaussian()[0], "dsm", steps=1, rate=1e-12, width=8, depth=1, batch=8)


def test_an_untrained_model_is_the_gaussian_of_its_standardised_rows(untrained):
    x, mean, scale, covariance = moved_gaussian()
    assert np.allclose(untrained.scales, scale, rtol=1e-12)
    assert untrained.scale == pytest.approx(np.exp(np.log(scale).mean()), rel=1e-12)
    for tau in 0.02, 0.71:
        a = np.exp(-tau)
        carried = np.outer(scale, scale) * (a * a * covariance + (1 - a * a) * np.eye(3))
        inverse, away = np.linalg.inv(carried), x - mean
        score = -away @ inverse
        value = -0.5 * ((away @ inverse * away).sum(1) + np.log(np.linalg.det(2 * np.pi * carried)))
        assert np.allclose(untrained.score(x, tau), score, rtol=5e-3, atol=5e-3 * np.abs(score).max())
        assert np.allclose(untrained.log_density(x, tau), value, atol=0.02)


def test_likelihood_of_a_gaussian_is_its_log_density(untrained):
    """The flow of a Gaussian is linear, so what it carries is the law at tau_min itself."""
    x = moved_gaussian()[0][:50]
    exact = untrained.log_density(x, untrained.tau_min)
    assert np.allclose(untrained.log_likelihood(x, ode_tolerance=1e-7), exact, atol=2e-3)


def test_samples_have_the_law_of_the_rows(untrained):
    x, mean, scale, covariance = moved_gaussian()
    y = untrained.generate(4000, n_steps=120)
    error = np.sqrt(x.var(axis=0) / len(y))
    assert (np.abs(y.mean(axis=0) - mean) < 5 * error).all()
    assert np.allclose(np.cov(y.T) / np.outer(scale, scale), covariance, atol=5 * 2 / np.sqrt(len(y)))


@pytest.mark.parametrize("solver", ["sde", "ode", "heun"])
def test_samples_find_the_modes(gmm, model, solver):
    x = model.generate(600, solver, n_steps=60, seed=5)
    assert x.shape == (600, 2) and gmm.modes(x)["found"] == 4
    assert heatball.metrics.mmd(x, gmm.sample(2000))["mmd2"] < 0.01


def test_labels(tmp_path):
    random = np.random.Generator(np.random.Philox(4))
    labels = random.integers(0, 2, 500)
    x = random.normal(size=(500, 1)) * 0.3 + np.where(labels, 2.1, -1.3)[:, None]
    model = heatball.train(x[:, 0], "dsm", labels=labels.astype(np.uint8), steps=250, width=32, depth=2,
                           batch=128)
    assert model.classes == 2 and "2 classes" in repr(model)
    middle = np.full((2, 1), 0.4)
    scores = model.score(middle, 0.1, label=[0, 1])[:, 0]
    assert scores[0] < -0.5 and scores[1] > 0.5
    assert np.array_equal(model.score(middle, 0.1, label=-1), model.score(middle, 0.1))
    assert np.array_equal(model.score(middle, 0.1, 1), model.score(middle, 0.1, np.array([1, 1], np.int64)))
    made = model.generate(200, "heun", n_steps=30, label=1)
    assert made.mean() > 1.5 and model.generate(200, "heun", n_steps=30, label=0).mean() < -0.5
    assert np.array_equal(pickle.loads(pickle.dumps(model)).score(middle, 0.1, 1),
                          model.score(middle, 0.1, 1))


# ---- the same bits --------------------------------------------------------------------------------

def test_files_and_copies_have_the_same_bits(gmm, model, tmp_path):
    data, x = saved(model, tmp_path), gmm.sample(300)
    twins = [heatball.load(tmp_path / "model.safetensors"), heatball.load(str(tmp_path / "model.safetensors")),
             pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)]
    for twin in twins:
        assert twin.info == model.info and repr(twin) == repr(model)
        assert np.array_equal(twin.score(x, 0.2), model.score(x, 0.2))
        assert np.array_equal(twin.log_density(x, 0.2), model.log_density(x, 0.2))
        assert saved(twin, tmp_path, "twin.safetensors") == data


def test_threads_do_not_change_the_bits(gmm, model, quick, tmp_path):
    again = heatball.train(gmm, threads=2, **QUICK)
    assert saved(again, tmp_path) == saved(quick, tmp_path, "two.safetensors")
    x = gmm.sample(1000)
    for ask in (lambda t: model.score(x, 0.2, threads=t), lambda t: model.log_density(x, 0.2, threads=t),
                lambda t: model.generate(300, "ode", threads=t),
                lambda t: model.log_likelihood(x[:300], threads=t)):
        assert np.array_equal(ask(1), ask(2))


def test_a_sample_does_not_depend_on_the_others(model):
    whole = model.generate(96, n_steps=40, seed=9)
    assert np.array_equal(whole[64:], model.generate(32, n_steps=40, seed=9, first=64))
    assert not np.array_equal(whole, model.generate(96, n_steps=40, seed=10))


def test_pieces_do_not_change_the_bits(gmm, model, monkeypatch):
    x, tau = gmm.sample(700), np.geomspace(0.01, 2, 700)
    whole = model.score(x, tau), model.log_density(x, tau)
    monkeypatch.setattr(heatball.model, "CHUNK", 256)
    assert np.array_equal(whole[0], model.score(x, tau)) and np.array_equal(whole[1],
                                                                            model.log_density(x, tau))


def test_named_sets_mixtures_arrays_and_files_are_the_same_data(gmm, quick, tmp_path):
    x, rest = gmm.sample(QUICK["n"]), {k: v for k, v in QUICK.items() if k != "n"}
    np.save(tmp_path / "x.npy", x)
    expected = saved(quick, tmp_path)
    for data, more in (("asymmetric_gmm", QUICK), (x, {**rest, "standardise": False}),
                       (str(tmp_path / "x.npy"), {**rest, "standardise": False}),
                       (tmp_path / "x.npy", {**rest, "standardise": False}),
                       (np.asfortranarray(x), {**rest, "standardise": False})):
        assert saved(heatball.train(data, **more), tmp_path) == expected
    assert saved(heatball.train(x, **rest), tmp_path) != expected


def test_any_real_dtype_and_layout(quick):
    x = np.arange(-12, 12).reshape(-1, 2)
    expected = quick.score(x.astype(float), 0.3)
    wide = np.zeros((24, 4))
    wide[::2, 1:3] = x
    for same in (x.astype(np.int8), x.astype(np.float32), x.astype(np.float16), x.astype(">f8"), x.tolist(),
                 wide[::2, 1:3], np.asfortranarray(x), x.astype(np.longdouble)):
        assert np.array_equal(quick.score(same, 0.3), expected)
    taus = np.full(len(x), 0.3)
    for same in (taus, taus.tolist(), np.repeat(taus, 2)[::2], np.float64(0.3)):
        assert np.array_equal(quick.score(x, same), expected)
    assert quick.score(np.empty((0, 2)), 0.3).shape == (0, 2)
    assert quick.log_density(np.empty((0, 2)), []).shape == (0,)


def test_a_line_may_be_given_as_numbers():
    x = np.random.Generator(np.random.Philox(3)).normal(1.5, 0.2, 300)
    model = heatball.train(x, "dsm", steps=20, width=8, depth=1, batch=64)
    assert model.dim == 1 and model.score(x, 0.2).shape == (300, 1)
    assert np.array_equal(model.score(x, 0.2), model.score(x[:, None], 0.2))


# ---- while it trains ------------------------------------------------------------------------------

def test_watch_and_progress(gmm, quick, tmp_path):
    seen, steps = [], []

    def watch(step, model):
        assert model.steps == step
        seen.append((step, model, copy.copy(model), model.score([[0.3, -0.2]], 0.3)))

    model = heatball.train(gmm, watch=watch, watch_every=15, log=tmp_path / "log.csv",
                           progress=lambda done, total: steps.append((done, total)), **QUICK)
    assert [step for step, *_ in seen] == [15, 30, 40]
    assert steps == [(i + 1, 40) for i in range(40)]
    assert saved(model, tmp_path) == saved(quick, tmp_path, "unwatched")  # watching changes nothing
    assert np.array_equal(seen[-1][3], model.score([[0.3, -0.2]], 0.3))
    for _, lent, kept, score in seen:
        assert np.array_equal(kept.score([[0.3, -0.2]], 0.3), score)
        with pytest.raises(heatball.ArgumentError, match="lent to `watch`"):
            lent.score([[0.3, -0.2]], 0.3)
    assert (tmp_path / "log.csv").read_text().startswith("step,")
    calls = []
    heatball.train(gmm, watch=lambda step, model: calls.append(step), **{**QUICK, "steps": 50})
    assert calls == list(range(2, 51, 2))


def test_progress_line(gmm, capfd):
    heatball.train(gmm, progress=True, **QUICK)
    assert "train: step 40 of 40, 0 s left" in capfd.readouterr().err


@pytest.mark.parametrize("where", ["watch", "progress"])
def test_what_a_callback_raises_ends_the_training(gmm, tmp_path, where):
    def stop(step, _):
        if step >= 20:
            raise ZeroDivisionError("enough")

    path = tmp_path / "state.ckpt"
    with pytest.raises(ZeroDivisionError, match="enough"):
        heatball.train(gmm, checkpoint=path, **{where: stop}, **({"watch_every": 10} if where == "watch" else {}),
                       **QUICK)
    assert path.exists()


def test_ctrl_c_writes_the_checkpoint_and_resuming_gives_the_same_bits(gmm, quick, tmp_path):
    path, seen = tmp_path / "state.ckpt", []

    def press(step, steps):
        seen.append(step)
        if step == 17:  # to this thread: another one might be late to take it
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        heatball.train(gmm, checkpoint=path, progress=press, **QUICK)
    assert signal.getsignal(signal.SIGINT) is before
    assert seen == list(range(1, 18)) and path.exists()
    model = heatball.train(gmm, checkpoint=path, resume=True, progress=press, **QUICK)
    assert seen == list(range(1, 41))  # it went on from step 17
    assert saved(model, tmp_path) == saved(quick, tmp_path, "whole")
    with pytest.raises(heatball.Error, match="width"):  # of other settings
        heatball.train(gmm, checkpoint=path, resume=True, **{**QUICK, "width": 24})


def test_ctrl_c_from_outside(tmp_path):
    """The signal comes at any moment, also inside the library, and no callback is asked for."""
    script = ("import heatball, sys\n"
              "print('ready', flush=True)\n"
              "try: heatball.train('ring', steps=10**7, width=64, checkpoint=sys.argv[1])\n"
              "except KeyboardInterrupt: print('stopped', flush=True)\n")
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(heatball.__file__))}
    child = subprocess.Popen([sys.executable, "-c", script, tmp_path / "c.ckpt"], stdout=subprocess.PIPE,
                             text=True, env=env)
    assert child.stdout.readline() == "ready\n"
    threading.Event().wait(0.5)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "stopped\n" and child.returncode == 0
    assert (tmp_path / "c.ckpt").exists()


def test_signals_do_not_disturb_the_numbers(quick, tmp_path):
    """A handled signal inside oneDNN's product would overwrite memory; in a process of its own."""
    script = ("import heatball, signal, sys\n"
              "hits = []\n"
              "signal.signal(signal.SIGALRM, lambda *_: hits.append(1))\n"
              "signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)\n"
              f"model = heatball.train('asymmetric_gmm', threads=1, **{QUICK!r})\n"
              "signal.setitimer(signal.ITIMER_REAL, 0)\n"
              "model.save(sys.argv[1])\n"
              "print(len(hits))\n")
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(heatball.__file__))}
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "under_signals"],
                          capture_output=True,
                          text=True, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    assert (tmp_path / "under_signals").read_bytes() == saved(quick, tmp_path)


def test_models_in_threads_and_after_their_thread(gmm, quick):
    """A model outlives the thread that made it, and several threads may ask one model at a time."""
    x, out = gmm.sample(500), {}

    def work(k):
        out[k] = heatball.train(gmm, threads=1, **QUICK) if k == 0 else quick.score(x, 0.3, threads=1)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = quick.score(x, 0.3)
    assert all(np.array_equal(out[k], expected) for k in (1, 2, 3))
    assert np.array_equal(out[0].score(x, 0.3), expected)


# ---- refused --------------------------------------------------------------------------------------

ROWS = np.random.Generator(np.random.Philox(2)).normal(size=(50, 2))


def with_value(value):
    rows = ROWS.copy()
    rows[6, 1] = value
    return rows


@pytest.mark.parametrize("arguments, kind, says", [
    ((with_value(np.nan),), heatball.ArgumentError, "row 7, column 2 of the data is nan"),
    ((with_value(np.inf),), heatball.ArgumentError, "row 7, column 2 of the data is inf"),
    ((ROWS[:1],), heatball.ArgumentError, "2"),
    ((ROWS[:0],), heatball.ArgumentError, "2"),
    ((np.zeros((5, 2, 2, 2)),), heatball.ArgumentError, "data has 4 axes; it must have 2"),
    ((np.ones((50, 2)),), heatball.Error, "column 1 of the data is 1 in every row"),
    ((ROWS + 1j,), TypeError, "data has dtype complex128; it must be an array of real numbers"),
    (("rng",), heatball.ArgumentError, "there is no set called rng"),
    (("nowhere.npy",), heatball.Error, "nowhere.npy"),
    ((ROWS, "dms"), heatball.ArgumentError, "loss is 'dms'; it must be dsm, fp, hb or hb-paper"),
    ((None,), TypeError, "data"),
])
def test_refused_data(arguments, kind, says):
    with pytest.raises(kind, match=says):
        heatball.train(*arguments, steps=5, width=8, depth=1)


@pytest.mark.parametrize("settings, kind, says", [
    ({"head": "energetic"}, heatball.ArgumentError, "head is 'energetic'; it must be score, energy or helm"),
    ({"process": "vp"}, heatball.ArgumentError, "process is 'vp'; it must be ou, ve or drift"),
    ({"process": "drift"}, heatball.ArgumentError, "drift goes with process"),
    ({"process": "ve", "drift": "-x, -y"}, heatball.ArgumentError, "drift goes with process"),
    ({"drift": lambda x: -x}, TypeError, "drift is a function; .* must be text"),
    ({"drift": "-x, -z"}, heatball.ArgumentError, "z"),
    ({"params": {"a": 2}}, heatball.ArgumentError, "params is given without drift"),
    ({"width": 0}, heatball.ArgumentError, "width is 0"),
    ({"width": 2**40}, heatball.ArgumentError, "width is 1099511627776"),
    ({"width": 1.5}, TypeError, "width is 1.5; it must be an integer"),
    ({"rate": -1}, heatball.ArgumentError, "rate is -1"),
    ({"rate": "fast"}, TypeError, "rate is 'fast'; it must be a number"),
    ({"batch": 0}, heatball.ArgumentError, "batch is 0"),
    ({"steps": -1}, heatball.ArgumentError, "steps is -1"),
    ({"tau_min": 3, "tau_max": 1}, heatball.ArgumentError, "tau_min is 3 and tau_max is 1"),
    ({"labels": [0, 1]}, heatball.ArgumentError, r"labels has shape \(2,\); it must be \(50,\)"),
    ({"labels": np.full(50, -2)}, heatball.ArgumentError, "the label of row 1 is -2"),
    ({"labels": np.full(50, 0.5)}, TypeError, "labels has dtype float64; it must be integers"),
    ({"labels": np.full(50, 2**40)}, heatball.ArgumentError, "1099511627776"),
    ({"resume": True}, heatball.ArgumentError, "resume needs the name of a checkpoint"),
    ({"checkpoint": 5}, TypeError, "checkpoint is 5; it must be a path"),
    ({"log": "a\0b"}, heatball.ArgumentError, "log has a zero byte"),
    ({"threads": -1}, heatball.ArgumentError, "threads is -1"),
    ({"seed": -1}, heatball.ArgumentError, "seed is -1"),
])
def test_refused_settings(settings, kind, says):
    with pytest.raises(kind, match=says):
        heatball.train(ROWS, **{**dict(steps=5, width=8, depth=1), **settings})


def test_helmholtz_needs_the_plane():
    with pytest.raises(heatball.ArgumentError, match="the helmholtz head needs data in 2 dimensions"):
        heatball.train(np.hstack([ROWS, ROWS[::-1, :1]]), head="helmholtz", steps=5)


@pytest.mark.parametrize("ask, kind, says", [
    (lambda m: m.score([[1.0, 2, 3]], 0.3), heatball.ArgumentError, "x has 3 columns; the model has dimension 2"),
    (lambda m: m.score([1.0, 2], 0.3), heatball.ArgumentError, "x has 1 axis; it must have 2"),
    (lambda m: m.score([[1j, 2]], 0.3), TypeError, "x has dtype complex128"),
    (lambda m: m.score([["a", "b"]], 0.3), TypeError, "real numbers"),
    (lambda m: m.score(ROWS, 0), heatball.ArgumentError, "tau of point 1 is 0; it must be positive"),
    (lambda m: m.score(ROWS, np.nan), heatball.ArgumentError, "tau of point 1 is nan"),
    (lambda m: m.score(ROWS, [0.1, 0.2]), heatball.ArgumentError, "tau has 2 values; x has 50 rows"),
    (lambda m: m.score(ROWS, "soon"), TypeError, "tau is 'soon'"),
    (lambda m: m.score(ROWS, 0.3, label=1), heatball.ArgumentError, "the model was trained without labels"),
    (lambda m: m.generate(-1), heatball.ArgumentError, "n is -1"),
    (lambda m: m.generate(5, "rk4"), heatball.ArgumentError, "solver is 'rk4'; it must be sde, ode or heun"),
    (lambda m: m.generate(5, n_steps=0), heatball.ArgumentError, "n_steps is 0"),
    (lambda m: m.generate(5, denoise="all"), heatball.ArgumentError, "denoise is 'all'; it must be none, mean"),
    (lambda m: m.log_likelihood(ROWS, probes=-1), heatball.Error, "probes is -1"),
    (lambda m: m.save("/nowhere/m.safetensors"), heatball.Error, "/nowhere/m.safetensors"),
    (lambda m: m.save(7), TypeError, "path is 7; it must be a path"),
    (lambda m: m.colour, AttributeError, "has no attribute 'colour'"),
    (lambda m: heatball.Model(), TypeError, "made by heatball.train or heatball.load"),
])
def test_refused_questions(quick, ask, kind, says):
    with pytest.raises(kind, match=says):
        ask(quick)


def test_only_the_energy_head_has_a_log_density():
    model = heatball.train(ROWS, "dsm", head="score", steps=5, width=8, depth=1)
    with pytest.raises(heatball.ArgumentError, match="only a model with the energy head has a log-density"):
        model.log_density(ROWS, 0.3)


def test_refused_files(quick, tmp_path):
    data = saved(quick, tmp_path)
    for name, content, says in (("cut", data[:-9], ""), ("text", b"nothing of the kind", ""), ("empty", b"", "")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(heatball.Error, match=name + ".*" + says) as caught:
            heatball.load(tmp_path / name)
        assert caught.value.status.name == "ERROR_FORMAT"
    with pytest.raises(heatball.Error, match="nowhere"):
        heatball.load(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="path is None; it must be a path"):
        heatball.load(None)
