#!/usr/bin/env python3
"""The default fit against the exact GP, on many random problems.

  python3 bench/trust.py exact   OUT [--command build/oatgp] [--count 500]   the full GP from five starts, for each problem
  python3 bench/trust.py default OUT [--command build/oatgp] [--count 500]   the default fit
  python3 bench/trust.py table EXACT DEFAULT [OLDER]                         how far the default fits are from the best

OUT collects one JSON line a problem; problems that it has already are passed over. The problems depend on their number
alone. A gap is the objective of the best of all fits minus that of the default, in nats a row; every fit that ends
more than --tol-row (0.002) below must have said so: by a warning, or by the note that another optimum has more evidence.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile
import time

import numpy as np

KERNELS = ["se-ard", "matern52-ard", "se", "matern32-ard", "matern52", "matern32", "rq", "rq-ard", "exponential"]
# start values relative to the given ones: lengthscale (of sqrt(d)), tau (of the target's spread)
STARTS = [(1, 0.7), (1, 0.07), (0.25, 0.2), (4, 0.2), (0.5, 0.002)]
TOLERANCE = 0.002


def rows_of(rng):
    """Most problems have fewer than 400 rows."""
    u = rng.random()
    low, high = (20, 400) if u < 0.88 else (400, 900) if u < 0.98 else (900, 1500)
    return int(rng.integers(low, high + 1))


def smooth(rng, x):
    """A random smooth function of the columns of x."""
    total = np.zeros(len(x))
    for _ in range(1 + int(rng.integers(0, 4))):
        w = rng.normal(size=x.shape[1]) * rng.uniform(0.3, 1.5)
        total += rng.normal() * np.sin(x @ w + rng.uniform(0, 6.3))
    return total


def dummies(rng, n):
    x = rng.normal(size=(n, 2))
    k = rng.integers(0, 3, n)
    y = np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + k + 0.1 * rng.normal(size=n)
    return np.column_stack([x, k == 1, k == 2]).astype(float), y


def trend(rng, n):
    x = rng.normal(size=(n, 1 + int(rng.integers(0, 4))))
    y = 10 ** rng.uniform(0, 4) * (x @ rng.normal(size=x.shape[1])) + smooth(rng, x) + 10 ** rng.uniform(-3, 0) * rng.normal(size=n)
    return x, y


def quiet(rng, n):
    x = rng.uniform(-2, 2, size=(n, 1 + int(rng.integers(0, 3))))
    return x, smooth(rng, x) + 10 ** rng.uniform(-8, -2) * rng.normal(size=n)


def noiseless(rng, n):
    x = rng.uniform(-2, 2, size=(n, 1 + int(rng.integers(0, 4))))
    return x, smooth(rng, x)


def duplicates(rng, n):
    x = rng.normal(size=(max(n // 3, 5), 1 + int(rng.integers(0, 4))))
    x = x[rng.integers(0, len(x), n)]
    return x, smooth(rng, x) + 10 ** rng.uniform(-3, 0) * rng.normal(size=n)


def outliers(rng, n):
    x = rng.normal(size=(n, 1 + int(rng.integers(0, 4))))
    y = smooth(rng, x) + 0.1 * rng.normal(size=n)
    bad = rng.random(n) < 0.02
    return x, y + bad * rng.normal(size=n) * 20


def noisy(rng, n):
    x = rng.normal(size=(n, 1 + int(rng.integers(0, 8))))
    return x, smooth(rng, x) + 10 ** rng.uniform(-1, 0.7) * rng.normal(size=n)


def rough(rng, n):
    x = rng.uniform(0, 1, size=(n, 1 + int(rng.integers(0, 3))))
    y = np.floor(4 * x[:, 0]) + np.sin(25 * x[:, -1]) + 0.05 * rng.normal(size=n)
    return x, y


def skewed(rng, n):
    x = np.exp(1.5 * rng.normal(size=(n, 1 + int(rng.integers(0, 4)))))
    return x, np.log1p(x @ np.abs(rng.normal(size=x.shape[1]))) + 10 ** rng.uniform(-4, -0.5) * rng.normal(size=n)


def grid(rng, n):
    x = rng.integers(0, 6, size=(n, 3)).astype(float)
    return x, x[:, 0] * x[:, 1] + np.sqrt(x[:, 2]) + 10 ** rng.uniform(-4, 0) * rng.normal(size=n)


FAMILIES = [dummies, trend, quiet, noiseless, duplicates, outliers, noisy, rough, skewed, grid]


def problem(number):
    rng = np.random.default_rng(7000 + number)
    family = FAMILIES[number % len(FAMILIES)]
    x, y = family(rng, rows_of(rng))
    kernel = KERNELS[int(rng.integers(0, len(KERNELS)))] if rng.random() < 0.6 else ["se-ard", "matern52-ard"][number // 10 % 2]
    return family.__name__, kernel, x, y


def write_csv(path, x, y):
    header = ",".join([f"x{j + 1}" for j in range(x.shape[1])] + ["y"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", fmt="%.17g", header=header, comments="")


def fit(command, data, folder, *options):
    began = time.time()
    call = [command, "fit", data, "--target", "y", "-o", os.path.join(folder, "m.oatgp"), "--json", *options]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        return {"objective": -math.inf, "error": done.stderr.strip()[-300:], "seconds": time.time() - began}
    out = json.loads(done.stdout)
    said = [line for line in done.stderr.splitlines() if "warning" in line.lower() or "note" in line.lower()]
    return {"objective": out["objective"], "knots": out.get("knots"), "stop": out.get("stop"), "approx": out.get("approx"),
            "loo": out.get("loo", {}), "seconds": time.time() - began, "said": said, "sigma": out.get("sigma"), "tau": out.get("tau")}


def exact(command, data, folder, kernel, x, y):
    best = {"objective": -math.inf}
    seconds = []
    spread = float(np.std(y)) or 1.0
    for length, tau in STARTS:
        start = ["--lengthscale", repr(length * math.sqrt(x.shape[1])), "--sigma", repr(0.7 * spread), "--tau", repr(tau * spread)]
        one = fit(command, data, folder, "--approx", "full", "--select", "fixed", "--kernel", kernel, "--max-iter", "200", "--no-guard", *start)
        seconds.append(one["seconds"])
        if one["objective"] > best["objective"]:
            best = one
    return {**best, "seconds": seconds[0], "all_seconds": sum(seconds)}


def run(args):
    done = set()
    if os.path.exists(args.out):
        done = {json.loads(line)["number"] for line in open(args.out)}
    with tempfile.TemporaryDirectory() as folder, open(args.out, "a") as out:
        data = os.path.join(folder, "d.csv")
        for number in range(args.first, args.count):
            if number in done:
                continue
            family, kernel, x, y = problem(number)
            write_csv(data, x, y)
            if args.what == "exact":
                result = exact(args.command, data, folder, kernel, x, y)
            else:
                result = fit(args.command, data, folder, "--kernel", kernel, *args.option)
            out.write(json.dumps({"number": number, "family": family, "kernel": kernel, "n": len(x), "d": x.shape[1], **result}) + "\n")
            out.flush()


def load(path):
    return {r["number"]: r for r in map(json.loads, open(path))}


def table(args):
    best, mine = load(args.exact), load(args.default)
    older = load(args.older) if args.older else {}
    rows = sorted(set(best) & set(mine))
    gaps = {}
    for i in rows:
        top = max(best[i]["objective"], mine[i]["objective"], older.get(i, {}).get("objective", -math.inf))
        gaps[i] = (top - mine[i]["objective"]) / mine[i]["n"]
    within = sum(g <= TOLERANCE for g in gaps.values())
    silent = [i for i in rows if gaps[i] > TOLERANCE and not any("arning" in s or "another optimum" in s for s in mine[i].get("said", []))]
    above = sum((mine[i]["objective"] - best[i]["objective"]) / mine[i]["n"] > TOLERANCE for i in rows)
    print(f"{len(rows)} problems: {within} within {TOLERANCE} nats a row of the best; {above} better than the exact GP from five starts; "
          f"worst gap {max(gaps.values()):.4f}; {len(silent)} further away without a word {silent[:20]}")
    print(f"seconds: default {sum(mine[i]['seconds'] for i in rows):.1f}, the exact GP from one start "
          f"{sum(best[i]['seconds'] for i in rows):.1f}" +
          (f", before {sum(older[i]['seconds'] for i in rows if i in older):.1f}" if older else ""))
    print("| family | problems | within | worst gap | exact models | median seconds |")
    print("|---|---|---|---|---|---|")
    for f in [f.__name__ for f in FAMILIES]:
        these = [i for i in rows if mine[i]["family"] == f]
        if these:
            print(f"| {f} | {len(these)} | {sum(gaps[i] <= TOLERANCE for i in these)} | {max(gaps[i] for i in these):.4f} | "
                  f"{sum(mine[i].get('approx') == 'full' for i in these)} | {np.median([mine[i]['seconds'] for i in these]):.2f} |")
    for i in sorted(rows, key=lambda i: -gaps[i])[:args.worst]:
        m = mine[i]
        print(i, m["family"], m["kernel"], f"n={m['n']} d={m['d']} gap={gaps[i]:.4f} exact={best[i]['objective']:.2f} "
              f"default={m['objective']:.2f} knots={m.get('knots')} {m.get('approx')} {m.get('stop')}", (m.get("said") or [""])[-1][:150])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="what", required=True)
    for what in ["exact", "default"]:
        p = parts.add_parser(what)
        p.add_argument("out")
        p.add_argument("--command", default="build/oatgp")
        p.add_argument("--count", type=int, default=500)
        p.add_argument("--first", type=int, default=0)
        p.add_argument("--option", action="append", default=[])
    p = parts.add_parser("table")
    p.add_argument("exact")
    p.add_argument("default")
    p.add_argument("older", nargs="?")
    p.add_argument("--worst", type=int, default=0)
    args = parser.parse_args()
    table(args) if args.what == "table" else run(args)


if __name__ == "__main__":
    main()
