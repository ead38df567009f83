#!/usr/bin/env python3
"""All ratios to peers in one figure: how many times as fast as the best peer, on logarithmic axes.

    python3 bench/summary_figure.py OUT.png RESULTS.json ...     one set of points a machine

`make bench` draws build/bench_summary.png from its own run; bench/results has those that docs/dev/benchmarks.md shows. A file of
results has "machine" (its "text" is the caption's) and "summary": rows {group, what, ratio}; ratio is the time of the best peer
over ours at the same work (panel A), for particles and walks the peer's error^2 x time over ours (panel B). A panel has at most
ROWS rows. The numbers go beside the figure as OUT.plot.csv. gnuplot draws, in the style of examples/python/style.gp.
"""
import csv
import json
import os
import re
import subprocess
import sys

ROWS = 20  # of a panel, at most
ROW, HEAD, FOOT, WIDTH = 52, 130, 250, 2000  # pixels
STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "examples", "python", "style.gp")
CAPTION = ("Peers: NumPy (samples, grid), C at −O2 (formulas), PyTorch with OpenBLAS (networks), kernels of Scott's width (particles), "
           "the better of two",
           "Feynman–Kac programs in C (walks). One thread on both sides, digits two; the best of rounds in turns.")


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


def split(what):
    """Row and kind of mark: density and score of a case share a row; None: a ratio of times."""
    match = re.fullmatch(r"((?:particles|walk), .*), (density|score)(.*)", what)
    return (match.group(1) + match.group(3), match.group(2)) if match else (what, None)


def panel(series, whats, side):
    """Lines of one panel: side 0 has times, side 1 error² × time."""
    chosen = [what for what in whats if (split(what)[1] is not None) == bool(side)]
    rows = list(dict.fromkeys(split(what)[0] for what in chosen))[:ROWS]
    if not rows:
        return []
    left = 0.21 + 0.5 * side
    lines = [f"set lmargin at screen {left}", f"set rmargin at screen {left + 0.265}", f"set yrange [{len(rows) - 0.5}:-0.5]",
             "set title " + quoted("(B) Error² × time: the peer's over ours" if side else "(A) Time: the peer's over ours"),
             "set ytics (" + ", ".join(f"{quoted(row.replace('%', '%%').replace('explicit steps in ', ''))} {i}" for i, row in enumerate(rows)) + ")",
             "set key bottom right"]
    plots = []
    for k, (text, ratios) in enumerate(series):
        for kind, shape in (("density", 7), ("score", 5)) if side else ((None, (7, 5, 9, 13)[k % 4]),):
            points = [(ratios[what], rows.index(split(what)[0])) for what in chosen
                      if what in ratios and split(what)[1] == kind and split(what)[0] in rows]
            if points:
                lines += [f"$data{k}{kind} << EOD"] + [f"{ratio:.6g},{row}" for ratio, row in points] + ["EOD"]
                colour = 1 + (kind == "score" if len(series) == 1 or side else k)
                label = kind or re.split(r", (?=\d+ cores)", text)[0].rsplit(", ", 1)[-1]
                plots.append(f"$data{k}{kind} using 1:2 with points pt {shape} ps 1 lt {colour} title {quoted(label)}")
    return lines + ["plot " + ", ".join(plots)]


def script(series, whats, out):
    most = max(len(list(dict.fromkeys(split(what)[0] for what in whats if (split(what)[1] is not None) == bool(side)))) for side in (0, 1))
    foot = FOOT + 34 * len(series)
    height = HEAD + foot + ROW * min(most, ROWS)
    with open(STYLE, encoding="utf-8") as file:
        lines = [file.read()]
    lines += [f"set terminal pngcairo noenhanced size {WIDTH},{height} font 'DejaVu Sans,16' fontscale 1.1 linewidth 1.5 pointscale 1.6",
              f"set output {quoted(out)}", "set logscale x", "set format x '%g'", "set xlabel 'ratio (right of 1 heatball is faster)'",
              "set ytics scale 0", "set border 1", "set arrow from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb '#404040'",
              f"set tmargin at screen {1 - HEAD / height:.4f}", f"set bmargin at screen {foot / height:.4f}", "set multiplot"]
    texts = CAPTION + tuple(f"Machine: {text}" for text, _ in series)
    lines += [f"set label {1 + k} {quoted(text)} at screen 0.02, screen {(foot - 160 - 34 * k) / height:.4f} font ',13' tc rgb '#404040'"
              for k, text in enumerate(texts)]
    return "\n".join(lines + panel(series, whats, 0) + ["unset label", "set autoscale x"] + panel(series, whats, 1)) + "\n"


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
