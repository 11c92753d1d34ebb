#!/usr/bin/env python3
"""Fits of 20 to 60 rows: mean and worst NLP of held-out rows on 200 problems, with and without priors and averages, and of
other fits.

    python3 bench/few.py run OUT.jsonl [--oatgp build/oatgp] [--data ../shared/data] [--count 200] [--methods 'A;B']
                               [--option NAME='OPTIONS']        --option adds a fit, --methods chooses between all of them
    python3 bench/few.py table OUT.jsonl [--sets]
    python3 bench/few.py sets OUT.jsonl [--oatgp build/oatgp] [--data ../shared/data]     all rows of the sets, with priors and without

Half of the problems are random rows of the sets, which are passed over where they are not there. The others are made-up
functions. A problem depends on its number alone. Every result is a line of OUT, and one that is there is not made again. Needs
numpy; scipy for `botorch-like`, scikit-learn for `scikit-learn`. The target has a standard deviation of 1 over all rows of its
problem, so that the NLP of problems can be averaged."""
import argparse
import gzip
import json
import math
import os
import shlex
import statistics
import subprocess
import tempfile
import warnings

import numpy as np

SETS = ["boston", "mcycle", "airfoil", "ccpp", "responses/quakes", "uci/yacht", "uci/energy", "uci/concrete", "uci/bike", "uci/protein"]
MOST_TEST = 1000

# ---- problems ---------------------------------------------------------------------------------------------------------------


def read_set(folder, name):
    """All rows as numbers, the target last; None if the set is not there."""
    for path, opener, skip in ((f"{name}.csv", open, 1), (f"{name}.csv.gz", gzip.open, 0)):
        path = os.path.join(folder, path)
        if os.path.exists(path):
            with opener(path, "rt") as file:
                return np.loadtxt(file, delimiter=",", skiprows=skip)
    return None


def waves(rng, x, speed):
    """A random smooth function of the columns of x."""
    return sum(rng.normal() * np.sin(x @ (rng.normal(size=x.shape[1]) * speed) + rng.uniform(0, 6.3)) for _ in range(4))


def smooth(rng, n):
    x = rng.uniform(-1, 1, size=(n, int(rng.integers(1, 7))))
    return x, waves(rng, x, 1.5), 10 ** rng.uniform(-2, -0.5)


def clean(rng, n):
    x = rng.uniform(-1, 1, size=(n, int(rng.integers(1, 7))))
    return x, waves(rng, x, 1.2), 0.0


def hartmann(rng, n):
    x = rng.uniform(size=(n, 6))
    a = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
    p = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                         [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])
    inner = np.einsum("kj,nkj->nk", a, (x[:, None, :] - p) ** 2)
    return x, -np.exp(-inner) @ np.array([1, 1.2, 3, 3.2]), 0.0


def branin(rng, n):
    x = rng.uniform(size=(n, 2)) * [15, 15] + [-5, 0]
    y = (x[:, 1] - 5.1 / (4 * np.pi**2) * x[:, 0] ** 2 + 5 / np.pi * x[:, 0] - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[:, 0])
    return x, y, 0.0


def rough(rng, n):
    x = rng.uniform(size=(n, int(rng.integers(1, 3))))
    return x, np.floor(4 * x[:, 0]) + np.sin(25 * x[:, -1]), 0.05


def noisy(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 9))))
    return x, waves(rng, x, 0.7), 10 ** rng.uniform(-0.3, 0.7)


def nothing(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 6))))
    return x, np.zeros(n), 1.0


def idle(rng, n):
    x = rng.uniform(-1, 1, size=(n, 10))
    return x, np.sin(3 * x[:, 0]) + x[:, 1] ** 2, 0.1


def tails(rng, n):
    x = np.exp(rng.normal(size=(n, int(rng.integers(1, 5)))))
    return x, np.log1p(x.sum(axis=1)) + 0.2 * rng.standard_t(2, size=n), 0.0


def trend(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 5))))
    return x, 5 * x @ rng.normal(size=x.shape[1]) + waves(rng, x, 1.0), 0.1


FUNCTIONS = [smooth, clean, hartmann, rough, noisy, idle, branin, tails, trend, nothing]


def problem(number, folder):
    """Name, rows to fit and rows to predict (inputs, target); None if its set is not there."""
    rng = np.random.default_rng(41000 + number)
    n = int(rng.integers(20, 61))
    if number % 2 == 0:
        name = SETS[number // 2 % len(SETS)]
        rows = read_set(folder, name)
        if rows is None:
            return None
        x, y = rows[:, :-1], rows[:, -1]
    else:
        function = FUNCTIONS[number // 2 % len(FUNCTIONS)]
        name = function.__name__
        x, f, noise = function(rng, n + MOST_TEST)
        y = f / (np.std(f) or 1) + noise * rng.normal(size=len(f))
    order = rng.permutation(len(y))
    fit, test = order[:n], order[n : n + MOST_TEST]
    y = (y - y.mean()) / y.std()
    return name, x[fit], y[fit], x[test], y[test]


# ---- fits: from rows to a function that predicts mean and standard deviation of y -----------------------------------------------


def mean_nlp(y, mean, sd):
    return float(np.mean(0.5 * np.log(2 * np.pi * sd**2) + 0.5 * ((y - mean) / sd) ** 2))


def constant(x, y, to):
    return np.full(len(to), y.mean()), np.full(len(to), y.std(ddof=1))


def scikit_learn(x, y, to):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    centre, scale = x.mean(axis=0), np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    kernel = ConstantKernel(1.0, (1e-5, 1e5)) * RBF(np.ones(x.shape[1]), (1e-2, 1e5)) + WhiteKernel(0.1, (1e-10, 1e2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0)
        model.fit((x - centre) / scale, y)
        return model.predict((to - centre) / scale, return_std=True)


def botorch_like(x, y, to):
    """Inputs in the unit cube, a standardised target, sigma 1, the priors of BoTorch's SingleTaskGP, the mode by L-BFGS."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    low, width = x.min(axis=0), np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1)
    x, to = (x - low) / width, (to - low) / width
    centre, scale = y.mean(), y.std(ddof=1)
    y = (y - centre) / scale
    n, d = x.shape
    middle, wide = math.sqrt(2) + 0.5 * math.log(d), math.sqrt(3)
    apart = (x[:, None, :] - x[None, :, :]) ** 2

    def evaluate(p):
        length, noise = np.exp(p[:d]), np.exp(p[d])
        k = np.exp(-0.5 * apart @ length**-2)
        factor = cho_factor(k + (noise + 1e-8) * np.eye(n), lower=True)
        one, solved = cho_solve(factor, np.ones(n)), cho_solve(factor, y)
        a = solved - one * (one @ y) / one.sum()
        value = -0.5 * y @ a - np.log(np.diag(factor[0])).sum()
        outer = 0.5 * (np.outer(a, a) - cho_solve(factor, np.eye(n)))
        slope = np.append(np.einsum("ij,ijd->d", outer * k, apart) / length**2, noise * np.trace(outer))
        z = (p - np.append(np.full(d, middle), -4)) / np.append(np.full(d, wide), 1)
        value += (-0.5 * z**2 - p).sum()
        slope += -z / np.append(np.full(d, wide), 1) - 1
        return -value, -slope

    start = np.append(np.full(d, middle - wide**2), -5)
    bounds = [(math.log(2.5e-2), 12)] * d + [(math.log(1e-4), 5)]
    p = minimize(evaluate, np.clip(start, -3, None), jac=True, method="L-BFGS-B", bounds=bounds).x
    length, noise = np.exp(p[:d]), np.exp(p[d])
    factor = cho_factor(np.exp(-0.5 * apart @ length**-2) + (noise + 1e-8) * np.eye(n), lower=True)
    one = cho_solve(factor, np.ones(n))
    level = (one @ y) / one.sum()
    across = np.exp(-0.5 * ((to[:, None, :] - x[None, :, :]) ** 2) @ length**-2)
    mean = level + across @ cho_solve(factor, y - level)
    variance = 1 + noise - np.einsum("ij,ji->i", across, cho_solve(factor, across.T))
    return centre + scale * mean, scale * np.sqrt(np.maximum(variance, noise))


def write_csv(path, x, y):
    header = ",".join([f"x{j + 1}" for j in range(x.shape[1])] + ["y"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", fmt="%.17g", header=header, comments="")


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def oatgp(command, options, x, y, to, answers):
    with tempfile.TemporaryDirectory() as folder:
        fit, test, model = (os.path.join(folder, name) for name in ("fit.csv", "test.csv", "m.oatgp"))
        write_csv(fit, x, y)
        write_csv(test, to, answers)
        out = call(command, "fit", fit, "--target", "y", "-o", model, "--json", "--threads", "1", *options)
        score = call(command, "score", model, test, "--json", "--threads", "1")
    return {"nlp": score["mean_nlp"], "seconds": out["seconds"], "tau": out.get("tau"), "sigma": out.get("sigma"),
            "draws": len(out.get("average") or [])}


METHODS = {
    "constant": constant,
    "scikit-learn": scikit_learn,
    "botorch-like": botorch_like,
    "oatgp": [],
    "oatgp, one set of parameters": ["--average", "0"],
    "oatgp, no prior": ["--prior", "none"],
    "oatgp, no prior, one set of parameters": ["--prior", "none", "--average", "0"],
    "oatgp full": ["--approx", "full"],
    "oatgp full, no prior": ["--approx", "full", "--prior", "none"],
}

# ---- runs -------------------------------------------------------------------------------------------------------------------


def one(args, method, x, y, to, answers):
    if isinstance(method, list):
        return oatgp(args.oatgp, method, x, y, to, answers)
    mean, sd = method(x, y, to)
    return {"nlp": mean_nlp(answers, mean, np.maximum(sd, 1e-12))}


def load(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def run(args):
    methods = {**METHODS, **{name: shlex.split(options) for name, options in (o.split("=", 1) for o in args.option)}}
    chosen = args.methods.split(";") if args.methods else list(methods)
    there = {(r["number"], r["method"]) for r in load(args.out)}
    with open(args.out, "a") as out:
        for number in range(args.first, args.count):
            wanted = [m for m in chosen if (number, m) not in there]
            made = problem(number, args.data) if wanted else None
            for name in wanted if made else []:
                result = one(args, methods[name], *made[1:])
                out.write(json.dumps({"number": number, "set": made[0], "n": len(made[1]), "d": made[1].shape[1], "method": name, **result}) + "\n")
                out.flush()


def table(args):
    results = load(args.out)
    by = {}
    for r in results:
        by.setdefault(r["method"], {})[r["number"]] = r
    plain = by.get("constant", {})
    print("| fit | problems | averaged | mean NLP | median | worst | 0.1 worse than the constant | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, of in by.items():
        nlp = [r["nlp"] for r in of.values()]
        worse = sum(r["nlp"] > plain[i]["nlp"] + 0.1 for i, r in of.items() if i in plain)
        seconds = [r["seconds"] for r in of.values() if "seconds" in r]
        time = f"{statistics.mean(seconds):.4f}" if seconds else ""
        averaged = sum(r.get("draws", 0) > 0 for r in of.values())
        print(f"| {name} | {len(nlp)} | {averaged} | {statistics.mean(nlp):.3f} | {statistics.median(nlp):.3f} | {max(nlp):.3g} | {worse} | {time} |")
    if args.sets:
        names = list(dict.fromkeys(r["set"] for r in results))
        print("\n| set | " + " | ".join(by) + " |\n|---|" + "---|" * len(by))
        for s in names:
            cells = [[r["nlp"] for r in of.values() if r["set"] == s] for of in by.values()]
            print(f"| {s} | " + " | ".join(f"{statistics.mean(c):.2f} ({max(c):.2f})" if c else "" for c in cells) + " |")


def sets(args):
    there = {(r["set"], r["method"]) for r in load(args.out)}
    with open(args.out, "a") as out:
        for name in SETS:
            rows = read_set(args.data, name)
            if rows is None:
                continue
            order = np.random.default_rng(5).permutation(len(rows))
            test, fit = order[: len(rows) // 10], order[len(rows) // 10 :]
            y = (rows[:, -1] - rows[:, -1].mean()) / rows[:, -1].std()
            for method in ("oatgp", "oatgp, no prior"):
                if (name, method) not in there:
                    result = oatgp(args.oatgp, METHODS[method], rows[fit, :-1], y[fit], rows[test, :-1], y[test])
                    out.write(json.dumps({"set": name, "n": len(fit), "method": method, **result}) + "\n")
                    out.flush()
    by = {(r["set"], r["method"]): r for r in load(args.out)}
    print("| set | rows | mean NLP | without the prior | difference |\n|---|---|---|---|---|")
    for name in SETS:
        if (name, "oatgp") in by and (name, "oatgp, no prior") in by:
            a, b = by[name, "oatgp"], by[name, "oatgp, no prior"]
            print(f"| {name} | {a['n']} | {a['nlp']:.4f} | {b['nlp']:.4f} | {a['nlp'] - b['nlp']:+.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "sets"])
    parser.add_argument("out")
    parser.add_argument("--oatgp", default="build/oatgp")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--methods", help="names with ; between them")
    parser.add_argument("--option", action="append", default=[], help="a further fit: NAME=OPTIONS of oatgp fit")
    parser.add_argument("--sets", action="store_true", help="table: also set by set")
    args = parser.parse_args()
    {"run": run, "table": table, "sets": sets}[args.what](args)


if __name__ == "__main__":
    main()
