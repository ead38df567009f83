"""A user's script as a checker of types reads it: every call of the package, none of it run."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heatball


def drift(x: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    return x - x**3


s = heatball.solve("x - x^3", 1, "gaussian(mean=0, var=1)", 1, [-1.0, 0.0, 0.5], cells=256, box=(-5, 5))
s = heatball.solve(drift, noise=[[1.0, 0.2], [0.0, 0.5]], initial=lambda x: -x[:, 0]**2, time=np.linspace(0, 1, 5),
                   at=heatball.mesh((-1, 1, 5), (-1, 1, 5)), params={"a": 2}, stderr=0.01, facts=("autonomous",))
s = heatball.solve(problem=pathlib.Path("chain.ini"), at=np.zeros((1, 10)), method="walk", seed=3)
density: NDArray[np.float64] = s.density
note: str = s.note
total: float = float(s.density.sum() + s.t[0])
table: Any = s.to_pandas()
as_dict: dict[str, Any] = s.to_dict()
ax: Any = s.plot("score", time=0.5)
elsewhere: heatball.Evaluation = s([[0.5, 0.1]], time=0.5)
print(elsewhere.score.shape, elsewhere.density_error.max(), s.config["drift"])
s.save("s.npz")
again: heatball.Solution = heatball.load("s.npz")

residual: heatball.Residual = heatball.residual("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7], [0.2, 0.4])
scaled = residual["scaled"] + residual.scaled
residual.plot("scaled", ax=ax)

z, sigma = heatball.ball.sample("kappa", 7, 1000, dtype=np.float32)
nodes, times, weights = heatball.ball.nodes("kappa", 2, degree=3)
draws: heatball.ball.Draws = heatball.ball.sample("kappa", 7, 1000)
value: Any = heatball.ball.kernel("heat", [0.0, 0.0], 0.02)
first: float = heatball.ball.constants(2)["C1"] + heatball.budget(2, lambda T: 1 + T, 0.5).T0

names: list[str] = heatball.dataset_names()
moons: heatball.Mixture = heatball.dataset("two_moon")
x = moons.sample(100, tau=0.3, process="ve")
mine = heatball.Mixture([1, 1], [[-1.0], [1.0]], np.ones((2, 1, 1)))
error = moons.score_error(lambda x, tau: moons.score(x, tau), 0.3)["all"]

model: heatball.Model = heatball.train(x, "hb", steps=20, width=16, progress=lambda step, steps: print(step), log="losses.csv",
                                       watch=lambda step, model: model.save(f"at_{step}.safetensors"), half=True)
model = heatball.load(pathlib.Path("model.safetensors"))
model.score(x, 0.1).mean(axis=0)
dim: int = model.dim
as_score: NDArray[np.float64] = model(x, 0.1)
made = model.generate(10, "ode", n_steps=20)
likelihood: NDArray[np.float64] = model.log_likelihood(made)
constant, constant_error = model.log_normaliser()
judged = heatball.evaluate(model, "two_moon", [0.1, 0.3])
print(judged.mmd, judged["tau"][0]["mse"], heatball.training_log("losses.csv").loss[-1])

likelihoods = heatball.log_likelihood(lambda x, tau: -x, x, divergence=lambda x, tau: -2.0 * np.ones(len(x)))
print(likelihoods.mean, likelihoods.se.max(), likelihoods.to_pandas())
drawn: NDArray[np.float64] = heatball.generate(model.score, 100, dim=2, mean=[0.0, 0.0])
print(heatball.residual(model.score, x, 0.3, radius_fraction=0.3).scaled, heatball.score_error(model.score, "two_moon", 0.3).all)
nodes_of_mine = heatball.balls(x, 0.3, process="ve")
print(nodes_of_mine.residual(np.zeros(100), np.zeros((100, 4))))

table_density: heatball.ScoreDensity = heatball.ScoreDensity("hb", maps=["log", ("logit", 0, 1)], steps=100).fit(x)
mean_of_ln_p: float = table_density.set_params(seed=3).score(x)
rows_of_it: NDArray[np.float64] = table_density.sample(10, random_state=1)

distance: float = heatball.metrics.mmd(made, x)["mmd"]
share, share_error = heatball.metrics.curl(model.score, x, 0.3)
index, near = heatball.metrics.nearest(made, x)
precision, recall = heatball.metrics.precision_recall(made, x, k=5)
pixels, labels = heatball.images("mnist", resize=16)
heatball.image_grid("digits.png", pixels[:40], columns=10)
classifier = heatball.Classifier(pixels.reshape(-1, 256), np.zeros(len(pixels), int), epochs=2)
probabilities: NDArray[np.float64] = classifier.predict(x)
normals = heatball.random.normal(10, seed=1)
try:
    heatball.ball.constants(-1)
except heatball.ArgumentError as failure:
    print(failure.status)
