#!/usr/bin/env python3
"""How often bands of Sobol' indices contain the known values: Ishigami's function and Sobol's g, fitted to random Latin hypercubes.

    python3 bench/sensitivity.py [--rows 40,80,160] [--designs 12] [--noise 0] [--approx vfe]

Needs the Python package. Prints, for each function and number of rows, how many indices (first and total of each input) are inside of their band of
95 %, or within 0.005 of it, how many there are, the mean width of the bands, the mean error of the medians, and the milliseconds of one call. The
noise is in standard deviations of the target. Inputs vary over the whole cube, which the known indices are for, and not over the smaller ranges of
the rows."""

import argparse
import math
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are loaded

import numpy as np  # noqa: E402
import oatgp  # noqa: E402

DAMPING = np.array([0, 1, 4.5, 9])


def ishigami(u):
    a, b, c = (math.pi * (2 * u - 1)).T
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def ishigami_known():
    one, two, both = 0.5 * (1 + 0.1 * math.pi**4 / 5) ** 2, 49 / 8, 0.01 * math.pi**8 * 8 / 225
    return np.array([[one, two, 0], [one + both, two, both]]) / (one + two + both)


def kinked(u):
    return np.prod((abs(4 * u - 2) + DAMPING) / (1 + DAMPING), axis=1)


def kinked_known():
    own = 1 / (3 * (1 + DAMPING) ** 2)
    every = np.prod(1 + own)
    return np.array([own, own * every / (1 + own)]) / (every - 1)


def latin(d, n, seed):
    rng = np.random.default_rng(seed)
    return (np.argsort(rng.random((d, n)), axis=1).T + rng.random((n, d))) / n


def look(function, known, n, seed, args):
    """Whether each index is in its band, the widths of the bands, the errors of the medians, and the seconds."""
    d = known.shape[1]
    u = latin(d, n, seed)
    y = function(u)
    y = y + args.noise * np.std(y) * np.random.default_rng(seed).normal(size=n)
    model = oatgp.fit(u, y, approx=args.approx, threads=1)
    cube = np.repeat(((np.arange(2000) + 0.5) / 2000)[:, None], d, axis=1)
    started = time.perf_counter()
    found = model.sensitivity(cube, seed=1, draws=64, threads=1)
    seconds = time.perf_counter() - started
    names = [f"x{j + 1}" for j in range(d)]
    median = np.array([[values[name] for name in names] for values in (found.first, found.total)])
    band = np.array([[values[name] for name in names] for values in (found.first_band, found.total_band)])
    inside = (band[..., 0] - 0.005 <= known) & (known <= band[..., 1] + 0.005)
    return inside, band[..., 1] - band[..., 0], abs(median - known), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="40,80,160")
    parser.add_argument("--designs", type=int, default=12)
    parser.add_argument("--noise", type=float, default=0)
    parser.add_argument("--approx", default="vfe")
    args = parser.parse_args()
    warnings.simplefilter("ignore", oatgp.OatgpWarning)
    for name, function, known in (("Ishigami", ishigami, ishigami_known()), ("g", kinked, kinked_known())):
        for n in map(int, args.rows.split(",")):
            inside, width, error, seconds = zip(*(look(function, known, n, seed, args) for seed in range(args.designs)))
            print(
                f"{name}, {n} rows: {np.sum(inside)} of {np.size(inside)} inside, mean width {np.mean(width):.3f}, "
                f"mean error {np.mean(error):.3f}, {1000 * np.median(seconds):.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
