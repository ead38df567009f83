#!/usr/bin/env python3
"""`make bench`: ours against NumPy and against our own limits, as ratios of one run.

Rounds are interleaved (ours, peer, ours, peer, ...) and the best of each is kept, because the machine
may be shared. Each part of the run has a share of BENCH_MINUTES (10); it makes up to BENCH_ROUNDS (7) rounds while
its share lasts, and one at least. The table has the machine's name at its head and is kept in build/bench.json,
the figure of all ratios to peers in build/bench_summary.png; docs/dev/benchmarks.md explains both. BENCH_ISA=avx2 runs both
sides as on a machine without AVX-512 (instruction_set.py) and keeps the table in build/bench_avx2.json.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import instruction_set

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
instruction_set.limit()

import numpy as np  # noqa: E402  (after the environment is set)

import machine  # noqa: E402
import peer_grid  # noqa: E402
import peer_numpy  # noqa: E402
import rounds  # noqa: E402
import summary_figure  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
DIMS = (2, 16, 256)
DOUBLES = 1 << 20
FILE_ROWS = {2: 8_000_000, 16: 2_000_000, 256: 150_000}
FORMULAS = ("bistable", "van der pol", "functions", "chain")
LINE_POINTS = (500, 1000, 2000, 4000, 8000)
PLANE_POINTS = (64, 128, 256)
GRID_ROUNDS = min(ROUNDS, 3)  # the peer takes seconds
MINUTES = float(os.environ.get("BENCH_MINUTES", "10"))
MOST_POINTS = os.environ.get("BENCH_MOST_POINTS", "64")  # of the grid, d = 3; 128 takes four minutes more
SHARES = {"memory": 0.12, "files": 0.15, "programs": 0.3, "PyTorch": 0.15, "particles and walks": 0.2}  # of MINUTES
best = {}
minutes = {}  # that each part took


def turns(part, rounds_wanted):
    """Rounds of a part within its share of the time."""
    begin = time.monotonic()
    yield from rounds.turns(rounds_wanted, SHARES[part] * MINUTES * 60)
    minutes[part] = (time.monotonic() - begin) / 60


def keep(name, seconds_per_item):
    best[name] = min(best.get(name, float("inf")), seconds_per_item)


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def ours(program, *words):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    if program == "bench_digits":  # it counts processor time, and waiting threads must not
        environment["OMP_WAIT_POLICY"] = "passive"
    output = subprocess.run([os.path.join(ROOT, "build", "bench", program), *words], env=environment,
                            capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        row = json.loads(line)
        if "seconds" not in row:  # a ratio of two others
            continue
        keep(f"{row['name']}, {row['threads']} threads", row["seconds"] / row["items"])


def numpy_in_memory(rng):
    x = np.empty(16384)
    keep("numpy normal", timed(lambda: [rng.standard_normal(out=x) for _ in range(100)]) / 100 / len(x))
    for d in DIMS:
        n = DOUBLES // d
        z, sigma = np.empty((n, d)), np.empty(n)
        for block in (None, max(64, 8192 // d)):
            keep(f"numpy kappa d={d}", timed(peer_numpy.kappa, rng, z, sigma, block) / n)


def numpy_file(rng, path, d):
    """Rows z, sigma as one array, in blocks through a memory of a few MB, as one would by hand."""
    n, block = FILE_ROWS[d], max(64, 131072 // d)
    header = np.lib.format.header_data_from_array_1_0(np.empty((0, d + 1)))
    header["shape"] = (n, d + 1)
    rows = np.empty((block, d + 1))
    z, sigma = np.empty((block, d)), np.empty(block)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, block):
            m = min(block, n - start)
            peer_numpy.kappa(rng, z[:m], sigma[:m], max(64, 8192 // d))
            rows[:m, :d] = z[:m]
            rows[:m, d] = sigma[:m]
            rows[:m].tofile(file)


def numpy_save(rng, path, d):
    """The plain way: fill arrays, put them side by side, numpy.save."""
    z, sigma = np.empty((FILE_ROWS[d], d)), np.empty(FILE_ROWS[d])
    peer_numpy.kappa(rng, z, sigma, max(64, 8192 // d))
    np.save(path, np.column_stack((z, sigma)))


def command_file(path, d, threads):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    subprocess.run([os.path.join(ROOT, "build", "heatball"), "sample", "--measure", "kappa", "--dim",
                    str(d), "-n", str(FILE_ROWS[d]), "-o", path, "-q", "--threads", str(threads), *instruction_set.words()],
                   check=True, env=environment)


def files(rng, directory):
    """New files each time: replacing one would count the freeing of the old one's memory."""
    path = os.path.join(directory, "x.npy")

    def fresh(name, d, write, *arguments):
        keep(name, timed(write, *arguments) / FILE_ROWS[d])
        os.unlink(path)

    for d in DIMS:
        for threads in (1, 2):
            fresh(f"file d={d}, {threads} threads", d, command_file, path, d, threads)
        fresh(f"numpy file d={d}", d, numpy_file, rng, path, d)
        fresh(f"numpy file d={d}", d, numpy_save, rng, path, d)


def rate(name):
    return 1e-6 / best[name]


def row(what, ours_name, peer_name, target):
    ratio = best[peer_name] / best[ours_name]
    return {"what": what, "ours_million_per_s": rate(ours_name),
            "other_million_per_s": rate(peer_name), "ratio": ratio, "target": target}


def grid_peer():
    """The explicit solver at the 2000 points that ours is asked for."""
    keep("numpy grid, 2000 points", peer_grid.bistable(2000)[0])


def seconds_row(what, ours_name, peer_name, target):
    """Times of one solution; the ratio is ours : other, and its target an upper bound."""
    return {"what": what, "ours_seconds": best[ours_name], "other_seconds": best[peer_name],
            "ratio": best[ours_name] / best[peer_name], "target": target}


def grid_table():
    def name(dim, points):
        return f"grid d={dim}, {points} points, 1 threads"

    rows = [seconds_row("grid d=1, 2000 points to t=1 : explicit NumPy", name(1, 2000),
                        "numpy grid, 2000 points", 0.2)]
    for dim, points in ((1, LINE_POINTS), (2, PLANE_POINTS)):
        for fewer, more in zip(points, points[1:]):
            rows.append(seconds_row(f"grid d={dim}, {more} points : {fewer} points per axis",
                                    name(dim, more), name(dim, fewer), None))
    for dim, points in ((1, 2000), (2, 128)):
        rows.append(seconds_row(f"grid d={dim}, default settings : {points} points per axis",
                                f"grid d={dim}, default, 1 threads", name(dim, points), None))
    rows.append(seconds_row("grid d=3, 64 points : 32 points per axis", name(3, 64), name(3, 32), None))
    if name(3, 128) in best:  # BENCH_MOST_POINTS=128
        more, fewer = (f"grid d=3, {n} points, processor, 1 threads" for n in (128, 64))
        rows.append(seconds_row("grid d=3, 128 points : 64 points per axis", more, fewer, 12))
    if os.cpu_count() > 1:
        rows.append(seconds_row("grid d=3, 64 points, two threads : one", "grid d=3, 64 points, 2 threads",
                                name(3, 64), 0.59))
    return rows


def table():
    rows = [row("normals f64, in cache : NumPy", "normal f64, 1 threads", "numpy normal", 4),
            row("normals f64, in cache : own bits (limit)", "normal f64, 1 threads",
                "uniform f64, 1 threads", None),
            row("normals f32, in cache : NumPy f64", "normal f32, 1 threads", "numpy normal", None)]
    for d in DIMS:
        rows.append(row(f"kappa d={d}, in memory : NumPy", f"kappa d={d}, 8 MB, 1 threads",
                        f"numpy kappa d={d}", 5))
    for d in DIMS:
        rows.append(row(f"kappa d={d}, .npy file, 1 thread : NumPy", f"file d={d}, 1 threads",
                        f"numpy file d={d}", 4))
    for d in DIMS:
        rows.append(row(f"kappa d={d}, .npy file, 2 threads : NumPy", f"file d={d}, 2 threads",
                        f"numpy file d={d}", 4))
    best["kappa d=256 per coordinate"] = best["kappa d=256, 8 MB, 1 threads"] / 256
    rows.append(row("kappa d=256, per coordinate : own normals, same array",
                    "kappa d=256 per coordinate", "normal f64, 8 MB, 1 threads", 0.8))
    for name in ("normal f64, 64 MB", "kappa d=2, 64 MB", "kappa d=16, 64 MB", "kappa d=256, 64 MB"):
        rows.append(row(f"{name}, 2 threads : 1 thread", f"{name}, 2 threads", f"{name}, 1 threads",
                        1.8))
    for name in FORMULAS:
        rows.append(row(f"expression '{name}', points : the same in C at -O2",
                        f"expression {name}, 1 threads", f"C {name}, 1 threads", 0.33))
    return rows


NETWORKS = ("net dsm score step", "net values", "net 2 first", "net 2 first, tau, laplacian",
            "net 12 values for 64 anchors")


DIGITS = ("digits dsm score step", "digits dsm score step with targets", "digits generation")


def torch_row(name, script, batch, target):
    """A step beside the same in PyTorch, which the script runs in turns with it; nothing without PyTorch."""
    start = time.monotonic()
    peer = subprocess.run([sys.executable, os.path.join(ROOT, "bench", script)], capture_output=True, text=True,
                          check=False, env={**os.environ, "OMP_WAIT_POLICY": "passive",
                                            "BENCH_SECONDS": str(SHARES["PyTorch"] * MINUTES * 30)})
    minutes["PyTorch"] = minutes.get("PyTorch", 0) + (time.monotonic() - start) / 60
    if peer.returncode != 0:
        print("no row of PyTorch:", (peer.stderr.strip().splitlines() or ["?"])[-1])
        return []
    found = json.loads(peer.stdout)
    for key, kept in (("torch_ms", "torch"), ("step_ms", "beside torch")):
        best[f"{name}, {kept}"] = found[key] / batch / 1e3
    return [seconds_row(f"{name} : PyTorch, OpenBLAS {found['core']}", f"{name}, beside torch", f"{name}, torch", target)]


def likelihood_row():
    """ln p of rows from one pass of an energy network beside the probability-flow ODE, on one thread, after the check."""
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import heatball  # pylint: disable=import-outside-toplevel
    model = heatball.train("two_moon", steps=1500, width=64, tau_min=0.005, anchor_tau_min=0.005, threads=1)
    x = heatball.dataset("two_moon").sample(4096, seed=2)
    model.log_likelihood(x[:1], method="direct", threads=1)
    for _ in range(GRID_ROUNDS):
        keep("ln p, ODE", timed(lambda: model.log_likelihood(x[:256], threads=1)) / 256)
        keep("ln p, one pass", timed(lambda: model.log_likelihood(x, method="direct", threads=1)) / len(x))
    return [seconds_row("ln p of a row of two_moon, one pass : ODE", "ln p, one pass", "ln p, ODE", 0.02)]


def net_table():
    """Training steps, passes with derivatives and generation beside their matrix products, and PyTorch's steps."""
    def beside_products(name, threads, target):
        return seconds_row(f"{name} : its matrix products", f"{name}, {threads} threads",
                           f"{name}, products alone, {threads} threads", target)

    rows = [beside_products(name, 1, 1.35 if "step" in name else None) for name in NETWORKS]
    rows += torch_row("net dsm score step", "peer_torch.py", 256, 0.5)
    rows += [beside_products(name, 2, 1.667) for name in DIGITS] + likelihood_row()
    return rows + torch_row("digits dsm score step", "peer_torch_digits.py", 128, 0.667)


def print_table(heading, unit, rows, columns):
    print(f"{heading:58}{'ours':>10}{'other':>10}{'ratio':>8}{'target':>8}")
    print(f"{unit:58}")
    for r in rows:
        target = "" if r["target"] is None else f"{r['target']:g}"
        print(f"{r['what']:58}{r[columns[0]]:10.4g}{r[columns[1]]:10.4g}{r['ratio']:8.2f}{target:>8}")


def measure():
    rng = np.random.Generator(np.random.Philox(1))
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for _ in turns("memory", ROUNDS):
        ours("bench_random")
        ours("bench_ball")
        numpy_in_memory(rng)
    with tempfile.TemporaryDirectory(dir=base) as directory:
        for _ in turns("files", ROUNDS):
            files(rng, directory)
    for _ in turns("programs", GRID_ROUNDS):
        ours("bench_grid", MOST_POINTS)
        ours("bench_expression")
        grid_peer()
        ours("bench_net")
        ours("bench_digits", "table")


def estimates():
    """Particles and walks print tables of their own; 0 when all went well."""
    if instruction_set.chosen():
        print("\nno particles and walks: their peer is compiled for all that this processor has")
        return 0
    start = time.monotonic()
    script = os.path.join(ROOT, "bench", "bench_estimate.py")
    seconds = SHARES["particles and walks"] * MINUTES * 60
    code = subprocess.run([sys.executable, script, "--quick", "--seconds", str(seconds)], check=False).returncode
    minutes["particles and walks"] = (time.monotonic() - start) / 60
    return code


def main():
    here = machine.describe()
    measure()
    rows, grid_rows, net_rows = table(), grid_table(), net_table()
    print("machine:", here["text"])
    if machine.warning(here):
        print(machine.warning(here))
    print_table("", "(million items per second; ratio: ours to other)", rows,
                ("ours_million_per_s", "other_million_per_s"))
    print()
    print_table("", "(seconds of a solution; ratio: ours to other)", grid_rows,
                ("ours_seconds", "other_seconds"))
    print()
    print_table("", "(seconds per row of a step or pass of the network; ratio: ours to other)", net_rows,
                ("ours_seconds", "other_seconds"))
    code = estimates()
    results = {"machine": here, "rounds": ROUNDS, "minutes": minutes, "rows": rows, "grid_rows": grid_rows,
               "net_rows": net_rows}
    estimated = "" if instruction_set.chosen() else os.path.join(ROOT, "build", "bench_estimate.json")
    results["summary"] = summary_figure.collect(results, estimated)
    path = os.path.join(ROOT, "build", f"bench_{instruction_set.chosen()}.json" if instruction_set.chosen() else "bench.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print(f"\n{sum(minutes.values()):.1f} minutes:", ", ".join(f"{part} {m:.1f}" for part, m in minutes.items()))
    print(summary_figure.draw([path], os.path.join(ROOT, "build", "bench_summary.png")))
    return code


if __name__ == "__main__":
    sys.exit(main())
