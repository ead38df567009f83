#!/usr/bin/env python3
"""The polynomial coefficients of src/random/box_muller.h, by Remez' exchange in 40 digits.

  sine    sin(pi/2 y)/y        = P(y^2),            relative error, |y| <= 1/2, degree 6
  cosine  (cos(pi/2 y) - 1)/z  = Q(z), z = y^2,     error relative to cos, degree 6
  log     (2 atanh(s)/s - 2)/z = R(z), z = s^2,     error relative to 2 atanh(s)/s, degree 6,
          |s| <= 3 - 2 sqrt(2), the image of [sqrt(1/2), sqrt(2)] under (m-1)/(m+1)

Prints them with their errors; --check fails when box_muller.h holds other numbers.
"""
import argparse
import os
import sys

from mpmath import atanh, cos, lu_solve, matrix, mp, mpf, nstr, pi, polyval, sin, sqrt

mp.dps = 40
SOURCE = os.path.join(os.path.dirname(__file__), "..", "src", "random", "box_muller.h")


def alternating_extrema(values, count):
    """Indices of `count` extrema with alternating sign, the largest ones at the ends kept."""
    found = []
    for k, value in enumerate(values):
        if not found or (value > 0) != (values[found[-1]] > 0):
            found.append(k)
        elif abs(value) > abs(values[found[-1]]):
            found[-1] = k
    while len(found) > count:
        found.pop(0 if abs(values[found[0]]) < abs(values[found[-1]]) else -1)
    return found


def remez(f, weight, a, b, degree, rounds=12, grid=400):
    """Coefficients, lowest first, that minimise max |weight (p - f)| on [a,b], and that maximum."""
    a, b, count = mpf(a), mpf(b), degree + 2

    def node(k, n):
        return (a + b) / 2 - (b - a) / 2 * cos(pi * k / n)

    points = [node(2 * k + 1, 2 * count) for k in range(count)]
    fine = [node(k, grid) for k in range(grid + 1)]
    for _ in range(rounds):
        system, right = matrix(count, count), matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                system[i, j] = x**j
            system[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = lu_solve(system, right)
        p = [solution[j] for j in range(degree + 1)]
        errors = [weight(x) * (polyval(p[::-1], x) - f(x)) for x in fine]
        extrema = alternating_extrema(errors, count)
        if len(extrema) < count:
            break
        points = [fine[k] for k in extrema]
    return p, max(abs(e) for e in errors)


def polynomials():
    cosine = lambda z: cos(pi / 2 * sqrt(z))
    sine = lambda z: sin(pi / 2 * sqrt(z)) / sqrt(z) if z > 1e-30 else pi / 2
    edge = (3 - 2 * sqrt(mpf(2))) ** 2 * mpf("1.001")
    return {
        "sine": remez(sine, lambda z: 1 / sine(z), 0, 0.25, 6),
        "cosine": remez(lambda z: (cosine(z) - 1) / z, lambda z: z / cosine(z), 1e-6, 0.25, 6),
        "log": remez(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: z / 2, 1e-9, edge, 6),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    source = open(SOURCE, encoding="utf-8").read()
    missing = 0
    for name, (coefficients, error) in polynomials().items():
        print(f"{name}: error {nstr(error, 3)}")
        for c in coefficients:
            text = float(c).hex()
            there = text in source
            missing += not there
            print(f"  {text}{'' if there else '   not in box_muller.h'}")
    return 1 if check and missing else 0


if __name__ == "__main__":
    sys.exit(main())
