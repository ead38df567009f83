"""A rotating double well turned back: samples and likelihoods of where its paths began.

    PYTHONPATH=python python3 examples/python/reverse_double_well.py [STEPS] [DIRECTORY]

dx = (x - x^3 - y, x - y) dtau + sqrt(2) dW forgets where it began: three Gaussians at tau = 0 are two wells at tau = 1.5. A model
that has learnt the score on the way carries draws of the end back to the beginning, by the reverse-time SDE or the
probability-flow ODE, and says how likely a beginning is. Both are compared with the three Gaussians themselves. The
default, 1000 steps, takes about ten seconds. With a DIRECTORY it keeps the model, for `heatball generate`, and a figure
(with gnuplot; without it its numbers and its script).
"""

import pathlib
import shutil
import subprocess
import sys

import numpy as np

import heatball

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
DRIFT = ["x - x^3 - y", "x - y"]
MEANS, WIDTHS = np.array([[-1.5, 0.5], [1.2, 1.2], [0.3, -1.4]]), np.array([0.3, 0.25, 0.35])
SHARES = np.array([0.3, 0.3, 0.4])
STYLE = pathlib.Path(__file__).with_name("style.gp").read_text(encoding="utf-8")
SCRIPT = """set terminal pngcairo enhanced size 2000,760 font "DejaVu Sans,16" fontscale 1.2 linewidth 1.6 pointscale 1.6
set output "reverse_double_well.png"
set multiplot layout 1,3
set xrange [-3.6:3.6]; set yrange [-3.6:3.6]; set size ratio 1; unset key
set xlabel "{/:Italic x}"; set ylabel "{/:Italic y}"; set xtics 1; set ytics 1
file = "reverse_double_well.csv"
set title "(A) data, {/:Italic τ} = 0"
plot file every ::1 using 1:2 with points pt 7 ps 0.25 lt 7
set title "(B) paths, {/:Italic τ} = 1.5"
plot file every ::1 using 3:4 with points pt 7 ps 0.25 lt 1
set title "(C) generated, back at {/:Italic τ} = 0"
plot file every ::1 using 5:6 with points pt 7 ps 0.25 lt 2
unset multiplot
"""


def beginnings(n, seed):
    """n draws of the three Gaussians."""
    random = np.random.default_rng(seed)
    part = random.choice(3, n, p=SHARES)
    return MEANS[part] + WIDTHS[part][:, None] * random.normal(size=(n, 2))


def log_density(x):
    """ln of their density."""
    squares = ((x[:, None] - MEANS) ** 2).sum(axis=-1)
    return np.log((SHARES * np.exp(-squares / 2 / WIDTHS**2) / (2 * np.pi * WIDTHS**2)).sum(axis=1))


def shares(x):
    """Shares of the rows that are nearest to each of the three."""
    nearest = ((x[:, None] - MEANS) ** 2).sum(axis=-1).argmin(axis=1)
    return np.bincount(nearest, minlength=3) / len(x)


model = heatball.train(beginnings(8000, 1), drift=DRIFT, tau_max=1.5, steps=STEPS, width=64)
real, other = beginnings(2000, 2), beginnings(2000, 3)
print(f"real  mmd {heatball.metrics.mmd(other, real)['mmd']:.4f}  shares", *(f"{s:.3f}" for s in shares(other)))
generated = {solver: model.generate(2000, solver, n_steps=100) for solver in ("sde", "ode", "heun")}
for solver, made in generated.items():
    print(f"{solver:5} mmd {heatball.metrics.mmd(made, real)['mmd']:.4f}  shares", *(f"{s:.3f}" for s in shares(made)))
constant, error = model.log_normaliser()
print(f"density at tau_max: ln of its integral {constant:.4f}, error {error:.1g}")
found, exact = model.log_likelihood(real[:500]), log_density(real[:500])
print(f"ln p: model {found.mean():.3f}, exact {exact.mean():.3f}, difference {np.std(found - exact):.3f} (deviation)")
if len(sys.argv) > 2:
    folder = pathlib.Path(sys.argv[2])
    model.save(folder / "reverse_double_well.safetensors")
    end = model.generate(2000, "ode", tau_min=1.49, denoise="none")
    np.savetxt(folder / "reverse_double_well.csv", np.hstack([real, end, generated["sde"]]), delimiter=",",
               fmt="%.6g", comments="", header="real_x,real_y,end_x,end_y,generated_x,generated_y")
    (folder / "reverse_double_well.gp").write_text(STYLE + SCRIPT, encoding="utf-8")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "reverse_double_well.gp"], cwd=folder, check=True)
