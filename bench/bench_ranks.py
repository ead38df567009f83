#!/usr/bin/env python3
"""Two ranks of one thread against one rank of one thread, and one process with two threads.

    python3 bench/bench_ranks.py [--quick] [--rounds 3] [--only walks,train]

The command runs under mpirun with one rank and with two, each bound to a core, and without mpirun on two threads. What is
timed is the difference of two runs that differ in their work alone (more rounds, steps or rows), so that the start of the
processes, MPI's and the pilots' do not count; `sample` is timed by what it prints. The ways take turns, and of each run the
best round counts. Files go to /dev/shm, and must have the same bytes in all three ways.

Bytes: what rank 0 of two was sent for one round, step or file, as libheatball-mpi.so counts it (HEATBALL_MPI_TRAFFIC), beside
the plan in this file. The table is printed and kept in build/bench_ranks.json.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HEATBALL_BUILD", ROOT / "build"))
COMMAND = str(BUILD / "heatball")
CHAIN = str(ROOT / "examples/problems/double_well_chain.ini")
WAYS = {"1 rank": (1, 1), "2 ranks": (2, 1), "2 threads": (0, 2)}  # ranks under mpirun, threads
DIM = 4
POINTS = [[0.25 * (k % 4)] * DIM for k in range(4)] + [[0.25 * (k % 4), 0.5, 0.0, -0.5] for k in range(4)]
AT = ";".join(",".join(map(str, point)) for point in POINTS)


def run(way, arguments, work):
    """Seconds, bytes and gathers of rank 0, and the output of `heatball ARGUMENTS`."""
    ranks, threads = WAYS[way]
    words = [COMMAND, *map(str, arguments), "--threads", str(threads)]
    if ranks:
        words = ["mpirun", "--bind-to", "core" if ranks <= os.cpu_count() else "none", "--oversubscribe", "-n", str(ranks), *words]
    environment = {**os.environ, "HEATBALL_MPI_TRAFFIC": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment.pop("OMP_NUM_THREADS", None)
    start = time.perf_counter()
    done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    said = re.search(r"rank 0 of 2 was sent (\d+) bytes in (\d+) gathers", done.stderr)
    if ranks > 1 and not said:
        raise SystemExit(f"{' '.join(words)}: no line about bytes; is libheatball-mpi.so the one of this tree?")
    return seconds, (int(said[1]), int(said[2])) if said else (0, 0), done.stdout


# ---- what is planned, as it comes to rank 0 of two ------------------------------

def tally(dim):
    return 8 * (142 + 6 * dim)


def settled(times):
    return 4 * times


def walks_plan(_):
    return 2 * 16 * len(POINTS) * tally(DIM) / 2 + settled(3)


def particles_plan(counted):
    """The number of times that kernels look at is the pilot's choice: the one that fits best is taken, and must fit."""
    rest = len(POINTS) * tally(DIM) + 1024 + settled(5)
    row = 1.25 * 8192 * 8 * DIM / 2
    return round((counted - rest) / row) * row + rest


def train_plan(parameters, batch):
    shards = -(-batch // 128)
    return shards // 2 * (4 * -(-parameters // 16) * 16 + 24) + settled(3)


# ---- cases -------------------------------------------------------------------------------------

def solve(method, samples):
    return ["solve", "--problem", CHAIN, "--dim", DIM, "--at", AT, "--method", method, "--samples", samples, "-q", "-o", "out.csv"]


def cases(quick, work):
    """Name: (arguments of the short run, of the long one or None, units between them, file, plan of bytes a unit)."""
    few, more = (1, 2) if quick else (2, 10)
    yield "walks, 8 points, d = 4", solve("walk", 8192 * few), solve("walk", 8192 * more), more - few, "out.csv", walks_plan
    few, more = (1, 2) if quick else (4, 40)
    yield ("particles, 8 points, d = 4", solve("particles", 8192 * few), solve("particles", 8192 * more), more - few, "out.csv",
           particles_plan)
    rows = 100000 if quick else 8000000

    def sample(n):
        return ["sample", "--measure", "kappa", "--dim", 16, "-n", n, "-o", "rows.npy"]
    yield "sample, d = 16, in memory", sample(rows), None, 1, "rows.npy", lambda _: settled(9) + 8
    few, more = (2, 4) if quick else (20, 120)

    def train(steps):
        return ["train", "--data", "elongated_gmm", "--loss", "dsm", "--width", 256, "--batch", 1024, "--steps", steps, "-q",
                "-o", "model.safetensors"]
    yield ("train, width 256, batch 1024", train(few), train(more), more - few, "model.safetensors",
           lambda _: train_plan(network_size(work), 1024))
    few, more = (200, 400) if quick else (2000, 20000)

    def generate(n):
        return ["generate", "kept.safetensors", "-n", n, "--n-steps", 5 if quick else 100, "-q", "-o", "rows.npy"]
    yield "generate, d = 2", generate(few), generate(more), more - few, "rows.npy", lambda _: 8 * 2 / 2


def network_size(work):
    """Weights of the model that was trained last."""
    raw = (work / "model.safetensors").read_bytes()
    header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
    return sum(math.prod(array["shape"]) for name, array in header.items() if name.startswith("layer"))


def measure(name, short, long, units, file, plan, rounds, work):
    best = {way: [float("inf")] * 2 for way in WAYS}
    counted, made = 0, {}
    for _ in range(rounds):
        for way in WAYS:
            sent = []
            for k, arguments in enumerate([short, long] if long else [short]):
                seconds, traffic, printed = run(way, arguments, work)
                if not long:
                    seconds = float(re.search(r", ([\d.e-]+) s, ", printed)[1])
                best[way][k] = min(best[way][k], seconds)
                sent.append(traffic[0])
            if way == "2 ranks":
                counted = (sent[1] - sent[0]) / units if long else sent[0]
            made[way] = (work / file).read_bytes()
    if len(set(made.values())) > 1:
        raise SystemExit(f"{name}: the bytes differ between the ways")
    row = {"case": name, "bytes": counted, "planned": plan(counted)}
    for way, (first, second) in best.items():
        row[way] = second - first if long else first
    row["ranks_ratio"], row["threads_ratio"] = row["1 rank"] / row["2 ranks"], row["1 rank"] / row["2 threads"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny runs: whether it works, not how fast it is")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="beginnings of the names of cases, separated by commas")
    given = parser.parse_args()
    rows = []
    print("| | 1 rank, s | 2 ranks, s | 2 threads, s | 2 ranks : 1 | 2 threads : 1 | bytes, counted | planned |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        work = pathlib.Path(directory)
        run("2 threads", ["train", "--data", "elongated_gmm", "--loss", "dsm", "--width", 256, "--steps", 20, "-q", "-o",
                          "kept.safetensors"], work)
        for case in cases(given.quick, work):
            if given.only and not case[0].startswith(tuple(given.only.split(","))):
                continue
            row = measure(*case, 1 if given.quick else given.rounds, work)
            rows.append(row)
            print(f"| {row['case']} | {row['1 rank']:.2f} | {row['2 ranks']:.2f} | {row['2 threads']:.2f} | "
                  f"{row['ranks_ratio']:.2f} | {row['threads_ratio']:.2f} | {row['bytes']:.0f} | {row['planned']:.0f} |", flush=True)
    if not given.quick:
        (BUILD / "bench_ranks.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
