#!/usr/bin/env python3
"""All ratios to peers in one figure: how many times as fast as the best peer, on a logarithmic axis.

    python3 bench/summary_figure.py OUT.png RESULTS.json ...     one set of points a machine

`make bench` draws build/bench_summary.png from its own run; bench/results has those that docs/dev/benchmarks.md shows. A file of
results has "machine" (its "text" is the caption's) and "summary": rows {group, what, ratio}; ratio is the time of the best peer
over ours at the same work, for particles and walks the peer's error^2 x time over ours. The numbers go beside the figure as
OUT.plot.csv. gnuplot draws.
"""
import csv
import json
import os
import re
import subprocess
import sys

COLOURS = ("#0057a8", "#d1600f", "#3c7d22", "#7a3c9a")
SHAPES = (7, 5, 9, 13)
ROW, MORE, HEAD, FOOT = 20, 8, 56, 120  # pixels; a row has MORE for every machine behind the first
CAPTION = ("Peers: NumPy (samples, grid), C at -O2 (formulas), PyTorch with OpenBLAS (networks), kernels of Scott's width (particles),",
           "the better of two Feynman-Kac programs in C (walks). One thread on both sides, digits two; the best of rounds in turns.")


def of_rates(row):
    """Rows of the first table that have a peer, not a limit of our own."""
    what = row["what"]
    if " : NumPy" in what:
        return "samples", what.split(" : ")[0].replace(" f64", ""), row["ratio"]
    match = re.match(r"expression '(.*)', points : the same in C", what)
    return ("formulas", f"formula '{match.group(1)}' : C at -O2", row["ratio"]) if match else None


def of_seconds(row):
    what = row["what"].split(" : ")[0]
    if "explicit NumPy" in row["what"]:
        return "grid", "grid, 2000 cells : explicit steps in NumPy", 1 / row["ratio"]
    if "PyTorch" in row["what"]:
        return "networks", f"{what} : PyTorch", 1 / row["ratio"]
    return None


def of_estimates(path):
    """Particles against kernels, and walks against the better of their peers; nothing without the file."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return
    for method in ("particles", "walk"):
        least = {}
        for row in found.get(method, []):
            for value in ("density", "score"):
                if row.get(f"{value}_ratio") is not None:
                    key = f"{method}, {row['case']}, {value}" + (" at 0.2 %" if row.get("level") == 0.002 else "")
                    least[key] = min(least.get(key, float("inf")), row[f"{value}_ratio"])
        yield from ((method, what, ratio) for what, ratio in least.items())


def collect(results, estimates):
    rows = [of_rates(row) for row in results["rows"]]
    rows += [of_seconds(row) for row in results["grid_rows"] + results["net_rows"]]
    rows = [row for row in rows if row] + list(of_estimates(estimates))
    return [{"group": group, "what": what, "ratio": ratio} for group, what, ratio in rows]


def read(paths):
    """[(machine's text, {what: ratio})] and all whats, in the order of the first file that has them."""
    series, whats = [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        rows = {row["what"]: row["ratio"] for row in results["summary"] if 0 < row["ratio"] < float("inf")}
        series.append((results["machine"]["text"], rows))
        whats += [what for what in rows if what not in whats]
    return series, whats


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def is_left(series, k, what):
    """Whether a number stands left of its mark: beside a larger ratio, and where it would cross the line at 1."""
    ratio = series[k][1][what]
    beside = any(ratio < rows.get(what, 0) for _, rows in series) and not 1 <= ratio < 2.5
    return beside or 0.5 < ratio < 1


def script(series, whats, out):
    n = len(whats)
    foot = FOOT + 16 * len(series)
    height = HEAD + foot + (ROW + MORE * (len(series) - 1)) * n
    lines = [f"set terminal pngcairo size 900,{height} font 'DejaVu Sans,10' noenhanced", f"set output {quoted(out)}",
             "set logscale x", f"set yrange [{n - 0.4}:-0.6]", "set lmargin at screen 0.38", "set rmargin at screen 0.94",
             f"set tmargin at screen {1 - HEAD / height:.4f}", f"set bmargin at screen {foot / height:.4f}",
             "set title 'How many times as fast as the best peer' font ',13'",
             "set xlabel 'peer / ours: time, or error² × time for particles and walks (no unit; right of 1 ours is faster)'",
             "set grid xtics lt 1 lw 1 lc rgb '#cccccc'", "set border 1", "unset key",
             "set xtics nomirror out format '%g'", "set ytics out nomirror scale 0",
             "set ytics (" + ", ".join(f"{quoted(what.replace('%', '%%'))} {i}" for i, what in enumerate(whats)) + ")",
             "set arrow from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb '#444444'"]
    values = [ratio for _, rows in series for ratio in rows.values()]
    lines.append(f"set xrange [{min(values + [1]) / 1.6:.6g}:{max(values + [1]) * 2.2:.6g}]")
    for k, (text, _) in enumerate(series):
        y = 14 + 16 * (len(series) - 1 - k)
        lines.append(f"set label {2 * k + 1} '' at screen 0.03, screen {y / height:.4f} point pt {SHAPES[k % 4]} ps 1.2 "
                     f"lc rgb '{COLOURS[k % 4]}'")
        lines.append(f"set label {2 * k + 2} {quoted(text)} at screen 0.045, screen {y / height:.4f} font ',9'")
    for k, text in enumerate(CAPTION):
        lines.append(f"set label {100 + k} {quoted(text)} at screen 0.02, screen {(FOOT - 76 + 16 * len(series) - 16 * k) / height:.4f} "
                     "font ',9' tc rgb '#333333'")
    shift = 0.3 / len(series)
    plots = []
    for k, (_, rows) in enumerate(series):
        lines.append(f"$data{k} << EOD")
        lines += [f"{rows[what]:.6g} {i + (k - (len(series) - 1) / 2) * 2 * shift:.3f} {is_left(series, k, what):d}"
                  for i, what in enumerate(whats) if what in rows] + ["EOD"]
        plots.append(f"$data{k} using 1:2 with points pt {SHAPES[k % 4]} ps 1.2 lc rgb '{COLOURS[k % 4]}'")
        for side, place in enumerate(("left offset 0.9,0", "right offset -0.9,0")):
            plots.append(f"$data{k} using ($3 == {side} ? $1 : 1/0):2:($1 < 9.95 ? sprintf('%.2g', $1) : sprintf('%.0f', $1)) "
                         f"with labels {place} font ',8' tc rgb '{COLOURS[k % 4]}'")
    return "\n".join(lines + ["plot " + ", ".join(plots)]) + "\n"


def draw(paths, out):
    """Writes the figure and its numbers; a sentence that says what came of it."""
    series, whats = read(paths)
    if not whats:
        return "no ratio to a peer, no figure"
    with open(os.path.splitext(out)[0] + ".plot.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["what"] + [text for text, _ in series])
        table.writerows([what] + [rows.get(what, "") for _, rows in series] for what in whats)
    try:
        done = subprocess.run(["gnuplot"], input=script(series, whats, out), capture_output=True, text=True, check=False)
    except OSError:
        return "no figure: gnuplot is not installed"
    return out if done.returncode == 0 else "no figure: " + (done.stderr.strip().splitlines() or ["gnuplot failed"])[-1]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(draw(sys.argv[2:], sys.argv[1]))
