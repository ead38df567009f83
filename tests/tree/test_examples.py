"""Each example runs, and what it prints agrees with the exact value within 5 standard errors."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from command_line import BUILD, ROOT


pytestmark = pytest.mark.skipif(not (BUILD / "libheatball.so").exists(),
                                reason=f"{BUILD} has no libheatball.so")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
               "HEATBALL_LIBRARY": str(BUILD / "libheatball.so"), "LD_LIBRARY_PATH": str(BUILD)}
NUMBER = r"(-?\d+\.\d+(?:e[-+]\d+)?)"


def output(*command, code=0):
    done = subprocess.run([str(c) for c in command], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def compiled(tmp_path_factory, name, source=None):
    path = tmp_path_factory.mktemp("examples") / name
    output("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
           "-Werror", f"-I{ROOT / 'include'}", source or ROOT / f"examples/c/{name}.c", "-o", path,
           f"-L{BUILD}", "-lheatball", "-lm")
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Compile the C example without a warning."""
    return compiled(tmp_path_factory, "sample_heat_ball")


def test_every_example_is_in_this_file_and_in_the_readme():
    text = (ROOT / "examples/README.md").read_text()
    found = {p.relative_to(ROOT / "examples").as_posix() for p in (ROOT / "examples").glob("*/*.*")
             if p.suffix in (".c", ".py")}
    assert found == {"c/sample_heat_ball.c", "c/mean_value_of_a_field.c", "c/solve_without_a_mesh.c",
                     "c/train_a_score.c", "c/generate_samples.c", "c/certify_a_score.c",
                     "python/mean_value.py", "python/van_der_pol_picture.py",
                     "python/double_well_chain.py", "python/ou_20d.py",
                     "python/train_own_data.py", "python/train_nonlinear_drift.py", "python/reverse_double_well.py",
                     "python/paper_corrections.py", "python/own_torch_loop.py",
                     "python/torch_log_density.py"}
    assert all(f"`{path}`" in text for path in found)


@pytest.mark.parametrize("n", [50000, 200000])
def test_c_example(program, n):
    text = output(program, n)
    mean, error = map(float, re.search(NUMBER + r" \+- " + NUMBER, text).groups())
    exact = float(re.search(r"exact value +" + NUMBER, text).group(1))
    assert exact == pytest.approx(2.718281828459045**(0.05 - 0.06 + 0.06 + 0.38 * 0.5), abs=1e-6)
    assert abs(mean - exact) < 5 * error and 0 < error < 1 / n**0.5


def test_c_example_refuses_nonsense(program):
    output(program, 0, code=1)


def test_c_example_of_a_field(tmp_path_factory):
    text = output(compiled(tmp_path_factory, "mean_value_of_a_field"))
    rows = re.findall(NUMBER + r" \+- " + NUMBER + r" \(" + NUMBER + r"\)", text)
    assert len(rows) == 6  # log-density and score at three points
    assert all(abs(float(value) - float(exact)) < 5 * float(error) for value, error, exact in rows)
    limit = float(re.search("limit " + NUMBER, text).group(1))
    off = [abs(float(v) - limit) for v in re.findall(r"r = \d\.\d +" + NUMBER, text)]
    assert len(off) == 3 and off[1] < off[0] / 3.5 and off[2] < off[1] / 3.5


def test_corrections_of_the_paper():
    """Each measured number lies within 5 standard errors of its closed form."""
    text = output(sys.executable, ROOT / "examples/python/paper_corrections.py")
    rows = re.findall(r"(-?\S+) \+- (\S+), exact (-?\S+)$", text, re.M)
    assert len(rows) == 20
    assert all(abs(float(value) - float(exact)) < 5 * float(error) for value, error, exact in rows)
    assert sum(float(exact) != 0 for _, _, exact in rows) == 11
    assert "d = 256: 0.2911, by the paper's constant 0.0016" in text


def test_python_example():
    text = output(sys.executable, ROOT / "examples/python/mean_value.py")
    exact = float(re.search(r"exact value +" + NUMBER, text).group(1))
    draws = re.findall(NUMBER + r" \+- " + NUMBER, text)
    assert len(draws) == 2
    assert all(abs(float(mean) - exact) < 5 * float(error) for mean, error in draws)
    errors = [abs(float(e)) for e in re.findall(r"off by " + NUMBER, text)]
    assert len(errors) == 3 and errors[1] < errors[0] / 10 and errors[2] < errors[1] / 10


def measured(text, name=""):
    """Pairs (value, error) printed as `name value +- error`."""
    return [tuple(map(float, pair)) for pair in re.findall(name + r" +" + NUMBER + r" \+- " + NUMBER,
                                                           text)]


def test_solve_without_a_mesh(tmp_path_factory):
    """Particles and walks know nothing of each other."""
    text = output(compiled(tmp_path_factory, "solve_without_a_mesh"))
    assert "warning" not in text
    for name in ("log-density", "score_1"):
        pairs = measured(text, name)
        assert len(pairs) == 6
        for (a, a_se), (b, b_se) in zip(pairs[:3], pairs[3:]):
            assert abs(a - b) < 5 * (a_se**2 + b_se**2)**0.5
            assert 0 < a_se < 0.3 and 0 < b_se < 0.3


def test_train_and_generate(tmp_path_factory, tmp_path):
    """The score of two rings (radii 1.5 and 3, E|x|^2 = 5.6538) is learnt; three solvers draw the same distribution."""
    model = tmp_path / "rings.safetensors"
    text = output(compiled(tmp_path_factory, "train_a_score"), model, 600)
    assert 0 < float(re.search("tau 0.3: " + NUMBER, text).group(1)) < 0.25, text
    text = output(compiled(tmp_path_factory, "generate_samples"), model)
    rows = [[float(x) for x in re.findall(NUMBER, line)] for line in text.splitlines()]
    assert [line.split()[0] for line in text.splitlines()] == ["sde", "ode", "heun"]
    assert all(abs(square - 5.6538) < 0.8 and abs(mean) < 0.3 for square, mean in rows), text


def test_certify_a_score(tmp_path_factory):
    right, wrong = output(compiled(tmp_path_factory, "certify_a_score")).splitlines()
    assert right.startswith("exact score: passed") and wrong.startswith("four fifths of it: failed")


def essay_program(tmp_path):
    """Return a program made of the blocks of heatball.h's opening comment."""
    text = (ROOT / "include/heatball/heatball.h").read_text().partition("First tier, for users:")[0]
    blocks = "\n".join(re.findall(r"^ \*     (\S.*)$", text, re.M))
    path = tmp_path / "essay.c"
    path.write_text("#include <heatball/heatball.h>\n#include <stdio.h>\nstatic hb_status run(void)\n{\n"
                    f"{blocks}\nreturn HB_OK;\n}}\nint main(void)\n{{\nreturn run() != HB_OK;\n}}\n")
    return path


def test_the_essay_of_the_header_is_a_program(tmp_path_factory, tmp_path):
    text = output(compiled(tmp_path_factory, "essay", essay_program(tmp_path)))
    densities = [tuple(map(float, row)) for row in re.findall(r"= " + NUMBER + r" \+- " + NUMBER, text)]
    assert [round(u, 6) for u, _ in densities] == [0.392032, 0.2475, 0.303367] and all(0 < e < 1e-6 for _, e in densities)
    assert "the first sample is (" in text and len(text.splitlines()) == 5


def test_every_header_has_its_tier_and_is_on_the_map():
    tiers = {"First tier: for users.", "Second tier: for bindings and tools."}
    essay = (ROOT / "include/heatball/heatball.h").read_text().partition("*/")[0]
    first, second = essay.partition("First tier, for users:")[2].split("Second tier, for bindings and tools:")
    for path in (ROOT / "include/heatball").glob("*.h"):
        opening = " ".join(path.read_text().splitlines()[:4])
        found = [tier for tier in tiers if tier in opening]
        assert len(found) == 1, path.name
        if path.name != "heatball.h":
            assert path.name in (first if found[0].startswith("First") else second), path.name


def test_a_program_of_0_2_compiles_with_compat(tmp_path_factory):
    """A column of errors and a field of a training have their names of 0.2."""
    text = output(compiled(tmp_path_factory, "names", ROOT / "tests/tree/install/names_0_2.c"))
    value, error, fraction = map(float, re.findall(NUMBER, text))
    assert abs(value + 0.9189385332) < 1e-6 and 0 <= error < 1e-5 and fraction == 0.25, text


def is_png(path):
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 8000


def test_van_der_pol_picture(tmp_path):
    text = output(sys.executable, ROOT / "examples/python/van_der_pol_picture.py", tmp_path)
    spread = [float(n) for n in re.findall(r"rms of .*? +" + NUMBER, text)]
    assert len(spread) == 2 and all(0.4 < s < 2 for s in spread)
    assert float(re.search(r"largest .*? +" + NUMBER, text).group(1)) < 6
    assert is_png(tmp_path / "van_der_pol.png")


def test_double_well_chain(tmp_path):
    text = output(sys.executable, ROOT / "examples/python/double_well_chain.py", tmp_path)
    rows = [list(map(float, re.findall(NUMBER, line))) for line in text.splitlines() if "+-" in line]
    assert 7 <= len(rows) <= 9  # doubted scores are left out
    assert all(0 < row[2] < 0.1 for row in rows)
    checked = [row for row in rows if len(row) == 6]
    assert 2 <= len(checked) <= 3
    assert all(abs(free - exact) < 5 * error for *_, free, error, exact in checked)
    assert is_png(tmp_path / "double_well_chain.png")


def test_ou_in_twenty_dimensions():
    text = output(sys.executable, ROOT / "examples/python/ou_20d.py")
    rows = re.findall("log-density " + NUMBER + r" \+- " + NUMBER + r" \(" + NUMBER + r"\) +score off by "
                      + NUMBER + ", reported " + NUMBER, text)
    assert len(rows) == 6
    for v, v_se, exact, off, reported in (map(float, row) for row in rows):
        assert abs(v - exact) < 5 * v_se + 1e-4 and off < 5 * reported + 1e-4


def test_train_own_data(tmp_path):
    text = output(sys.executable, ROOT / "examples/python/train_own_data.py", tmp_path)
    right, _ = map(float, re.search(r"tau 0.02: \[ *" + NUMBER + " +" + NUMBER, text).groups())
    assert right > 0.01
    model, gaussian = map(float, re.search(f"model {NUMBER}, one Gaussian {NUMBER}", text).groups())
    assert model > gaussian + 0.5
    made, real, normal = map(float, re.search(
        f"generated {NUMBER}, real {NUMBER}, one Gaussian {NUMBER}", text).groups())
    assert made < 2 * real < normal
    assert "the file gives the same bits: True" in text
    assert (tmp_path / "own.safetensors").stat().st_size > 30000


def test_reverse_double_well(tmp_path):
    """Samples come back to the three Gaussians in their shares; the likelihood is near the exact one."""
    text = output(sys.executable, ROOT / "examples/python/reverse_double_well.py", "600", tmp_path)
    found = {line.split()[0]: [float(x) for x in re.findall(NUMBER, line)] for line in text.splitlines()[:4]}
    assert set(found) == {"real", "sde", "ode", "heun"}, text
    assert all(v[0] < 0.1 and max(abs(a - b) for a, b in zip(v[1:], (0.3, 0.3, 0.4))) < 0.08
               for v in found.values()), text
    model, exact = map(float, re.search(f"ln p: model {NUMBER}, exact {NUMBER}", text).groups())
    assert abs(model - exact) < 0.4, text
    assert len((tmp_path / "reverse_double_well.csv").read_text().splitlines()) == 2001
    assert (tmp_path / "reverse_double_well.safetensors").exists()


def test_train_nonlinear_drift(tmp_path):
    """The constraints beat denoising alone in the low-density region at every tau."""
    text = output(sys.executable, ROOT / "examples/python/train_nonlinear_drift.py", "1000", "1")
    low = {line.split()[0]: [float(x) for x in re.findall(r"low ([\d.]+)", line)]
           for line in text.splitlines()}
    assert set(low) == {"dsm", "fp", "hb"} and all(len(v) == 3 for v in low.values()), text
    assert all(hb < dsm for hb, dsm in zip(low["hb"], low["dsm"])), text


def test_own_torch_loop():
    """Short: two sets, with and without the loss; errors are finite, fall with tau, and the loss leads nowhere else."""
    pytest.importorskip("torch")
    text = output(sys.executable, ROOT / "examples/python/own_torch_loop.py", "40")
    rows = [[float(x) for x in re.findall(r"(?:all|low) ([\d.]+)", line)] for line in text.splitlines()]
    assert len(rows) == 4 and all(len(row) == 6 for row in rows), text
    for dsm, balls in (rows[:2], rows[2:]):
        assert dsm[0] > dsm[2] > dsm[4] and dsm != balls
        assert all(abs(a / b - 1) < 0.3 for a, b in zip(dsm, balls)), text


def test_torch_log_density(tmp_path):
    """Short: the constraint brings v nearer to the exact log-density at tau_min, in the mean and in its deviation."""
    pytest.importorskip("torch")
    options = []
    if importlib.util.find_spec("matplotlib"):
        options = ["--plot", tmp_path / "line.png"]
    text = output(sys.executable, ROOT / "examples/python/torch_log_density.py", "300", *options)
    rows = [[float(x) for x in re.findall(r"(?:weights|mean|deviation|nll|exact) (-?[\d.]+)", line)] for line in text.splitlines()]
    assert len(rows) == 2 and all(len(row) == 5 for row in rows), text
    dsm, balls = rows
    assert abs(balls[1]) < abs(dsm[1]) and balls[4] == dsm[4], text
    for weights, mean, deviation, nll, exact in rows:
        assert abs(nll - (exact - mean)) < 2e-3
    assert not options or (tmp_path / "line.png").stat().st_size > 10000


PROBLEMS = sorted(path.stem for path in (ROOT / "examples/problems").glob("*.ini"))


def test_every_problem_file_is_named_in_the_docs():
    text = (ROOT / "docs/reference/problem-files.md").read_text() + (ROOT / "docs/explanation/published-problems.md").read_text()
    assert len(PROBLEMS) >= 22 and [name for name in PROBLEMS if f"`{name}`" not in text] == []


def test_published_problems():
    """Those with a closed form that take little time: errors are within their claims, else the script ends with 1."""
    names = ["gbm", "gbm_one_noise", "gbm_many", "gbm_axes", "linear_oscillator", "turning_noise", "brownian_cauchy", "brownian_laplace",
             "moving_trap", "sine", "ou_point", "ou_matrix"]
    text = output(sys.executable, ROOT / "bench/published_problems.py", *names)
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()[2:]]
    exact = [row for row in rows if float(row[7]) < 1e-9]
    assert len(rows) == 17 and len(exact) >= 8 and "NOT COVERED" not in text


@pytest.mark.parametrize("name, at", [
    ("active_swimmer", "0,0"), ("anharmonic_particles", ",".join(["2", "0.1"] * 5)), ("lorenz", "1,1,20"), ("underdamped_double_well", "0,0")])
def test_problem_files_of_nonlinear_drifts(name, at):
    """They load, and particles answer."""
    text = output(BUILD / "heatball", "solve", "--problem", ROOT / f"examples/problems/{name}.ini", "--at", at,
                  "--method", "particles", "--samples", 2048, "-q")
    assert float(text.splitlines()[1].split()[len(at.split(","))]) > 0
