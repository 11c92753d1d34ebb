#!/usr/bin/env python3
"""Two series with a trend and a season: oatgp and scikit-learn with the same kernel.

    python3 bench/series.py [--oatgp build/oatgp] [--data data]

Prints, for each series, the log evidence of both at the same parameters, and the log evidence and the seconds of a fit. That of scikit-learn
begins at these parameters; that of oatgp at its own, from several starts. Needs scikit-learn."""
import argparse
import csv
import json
import math
import os
import subprocess
import tempfile
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern, RationalQuadratic, WhiteKernel


def season(sigma, lengthscale, decay):
    return ConstantKernel(sigma**2) * ExpSineSquared(lengthscale, 1.0, periodicity_bounds="fixed") * RBF(decay)


SERIES = {
    "co2": (
        (lambda y: y, 1990),
        ("se(time) + periodic(time) * se(time) + rq(time)", [50, 50, 3, 1, 1.4, 100, 1, 0.5, 1.5], 0.2),
        ConstantKernel(50**2) * RBF(50) + season(3, 1.4, 100) + ConstantKernel(1) * RationalQuadratic(1.5, 0.5) + WhiteKernel(0.2**2),
    ),
    "airpassengers": (
        (math.log, 1959),
        ("se(time) + periodic(time) * se(time) + matern12(time)", [0.5, 5, 0.15, 1, 0.6, 20, 0.07, 2.5], 0.02),
        ConstantKernel(0.5**2) * RBF(5) + season(0.15, 0.6, 20) + ConstantKernel(0.07**2) * Matern(2.5, nu=0.5) + WhiteKernel(0.02**2),
    ),
}


def read(path, scale, until):
    with open(path, newline="") as file:
        rows = [(float(t), scale(float(y))) for t, y in list(csv.reader(file))[1:]]
    return [row for row in rows if row[0] < until]


def command(*words):
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def compare(oatgp, name, folder, scratch):
    (scale, until), (expression, parameters, tau), kernel = SERIES[name]
    rows = read(os.path.join(folder, name + ".csv"), scale, until)
    table = os.path.join(scratch, "rows.csv")
    with open(table, "w") as file:
        file.write("time,y\n" + "".join(f"{t!r},{y!r}\n" for t, y in rows))
    options = [table, "--target", "y", "--kernel", expression, "--approx", "full", "--no-scale", "--json", "--quiet"]
    given = ",".join(map(repr, parameters))
    here = command(oatgp, "objective", *options, "--jitter", "0", "--parameters", given, "--tau", repr(tau))["objective"]
    begin = time.time()
    fit = command(oatgp, "fit", *options, "--parameters", "periodic(time).period=1", "--fix", "periodic(time).period", "-o", table + ".oatgp")
    seconds = time.time() - begin

    x, y = np.array([[t] for t, _ in rows]), np.array([y for _, y in rows])
    there = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(x, y - y.mean()).log_marginal_likelihood_value_
    begin = time.time()
    other = GaussianProcessRegressor(kernel, alpha=0).fit(x, y - y.mean()).log_marginal_likelihood_value_
    print(f"{name}: {len(rows)} rows")
    print(f"  at the same parameters  oatgp {here:.9f}, scikit-learn {there:.9f}, difference {here - there:.1e}")
    print(f"  fitted                  oatgp {fit['objective']:.6f} in {seconds:.1f} s, scikit-learn {other:.6f} in {time.time() - begin:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oatgp", default="build/oatgp")
    parser.add_argument("--data", default="data")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of bounds that are reached
    with tempfile.TemporaryDirectory() as scratch:
        for name in SERIES:
            compare(given.oatgp, name, given.data, scratch)


if __name__ == "__main__":
    main()
