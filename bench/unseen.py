#!/usr/bin/env python3
"""The default fit against the exact GP on rows held out, on random problems of kinds that nothing was tuned on.

  python3 bench/unseen.py run OUT [--command build/oatgp] [--count 120] [--most-rows 3000] [--more]
  python3 bench/unseen.py table OUT [--worst 10]

OUT collects one JSON line a problem; problems that it has already are passed over. A problem depends on its number
alone. The exact GP is --approx full, and up to FEW rows also from five other starts; the one with the highest
objective counts. A fit keeps the promise if its mean NLP of the held-out rows is at most 0.02 above that, or if a
warning or a note about optima was said. --more has other kinds. The mean NLPs of a constant and of a linear regression
are recorded, too.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import tempfile

import numpy as np

from trust import STARTS, write_csv

ALLOWED = 0.02  # nats a row
FEW = 800  # rows, up to which the exact GP has several starts
HELD_OUT = 500


def waves(rng, x, speed, count=5):
    """A random smooth function of the columns of x, with a standard deviation of about 1."""
    w = rng.normal(size=(x.shape[1], count)) * speed
    return np.sin(x @ w + rng.uniform(0, 6.3, count)) @ rng.normal(size=count) / math.sqrt(count / 2)


def rough(rng, n):
    """A function whose covariance is exponential: continuous, without slopes."""
    x = rng.uniform(0, 1, size=(n, int(rng.integers(1, 4))))
    count = 600
    w = rng.standard_t(1, size=(x.shape[1], count)) * rng.uniform(1, 4)
    return x, np.sin(x @ w + rng.uniform(0, 6.3, count)) @ rng.normal(size=count) / math.sqrt(count / 2) + 0.05 * rng.normal(size=n)


def two_scales(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 4))))
    return x, waves(rng, x, 0.5) + rng.uniform(0.1, 0.5) * waves(rng, x, 6.0) + 10 ** rng.uniform(-2, -0.7) * rng.normal(size=n)


def idle_inputs(rng, n):
    x = rng.normal(size=(n, int(rng.integers(8, 16))))
    return x, waves(rng, x[:, :2], 1.2) + 10 ** rng.uniform(-2, 0) * rng.normal(size=n)


def uneven_noise(rng, n):
    x = rng.uniform(-2, 2, size=(n, int(rng.integers(1, 5))))
    return x, waves(rng, x, 1.0) + 0.3 * np.exp(1.2 * x[:, 0]) * rng.normal(size=n)


def heavy_tails(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 6))))
    return x, waves(rng, x, 0.8) + 0.2 * rng.standard_t(2, size=n)


def repeated_rows(rng, n):
    """Whole rows twice or more, targets included, beside some with other targets."""
    x = rng.uniform(-2, 2, size=(n, int(rng.integers(2, 5))))
    y = waves(rng, x, 1.0) + 10 ** rng.uniform(-3, -0.5) * rng.normal(size=n)
    copies = rng.random(n) < rng.uniform(0.1, 0.5)
    of = rng.integers(0, n, n)
    return np.where(copies[:, None], x[of], x), np.where(copies, y[of], y)


def full_grid(rng, n):
    d = int(rng.integers(2, 4))
    side = math.ceil(n ** (1 / d))
    x = np.stack(np.meshgrid(*[np.linspace(-1, 1, side)] * d), -1).reshape(-1, d)
    x = x[rng.permutation(len(x))[:n]]
    return x, waves(rng, x, 3.0) + 10 ** rng.uniform(-5, -0.5) * rng.normal(size=len(x))


def integers(rng, n):
    x = np.column_stack([rng.poisson(rng.uniform(1, 6), n) for _ in range(int(rng.integers(2, 6)))]).astype(float)
    return x, waves(rng, x, 0.5) + 10 ** rng.uniform(-3, 0) * rng.normal(size=n)


def steps(rng, n):
    x = rng.normal(size=(n, int(rng.integers(2, 5))))
    return x, np.sign(waves(rng, x, 1.0)) + waves(rng, x, 0.5) + 0.05 * rng.normal(size=n)


def rounded(rng, n):
    """A deterministic function, rounded, some of it the sum of two inputs."""
    x = np.column_stack([rng.poisson(20, n), rng.poisson(80, n), rng.normal(size=(n, 3)).round(1)]).astype(float)
    return x, x[:, 0] + x[:, 1] + (0 if rng.random() < 0.5 else np.round(3 * waves(rng, x[:, 2:], 1.0)))


FAMILIES = [rough, two_scales, idle_inputs, uneven_noise, heavy_tails, repeated_rows, full_grid, integers, steps, rounded]


# ---- more kinds (--more) ----


def noise_of(rng, low=-3, high=0):
    return 10 ** rng.uniform(low, high)


def interactions(rng, n):
    """A category as dummies; each of its levels has its own slope."""
    levels = int(rng.integers(3, 9))
    code, z = rng.integers(0, levels, n), rng.normal(size=(n, 2))
    y = rng.normal(size=levels)[code] + rng.normal(size=levels)[code] * z[:, 0] + waves(rng, z, 0.7) + noise_of(rng) * rng.normal(size=n)
    return np.column_stack([code[:, None] == np.arange(1, levels), z]).astype(float), y


def long_tails(rng, n):
    """A positive target whose logarithm is smooth."""
    x = rng.normal(size=(n, int(rng.integers(1, 6))))
    return x, np.exp(rng.uniform(0.5, 2) * waves(rng, x, 0.6) + noise_of(rng, -2, -0.3) * rng.normal(size=n))


def sparse_counts(rng, n):
    x = np.column_stack([rng.poisson(rng.uniform(0.05, 0.8), n) for _ in range(int(rng.integers(5, 16)))]).astype(float)
    return x, x @ rng.normal(size=x.shape[1]) * rng.uniform(0, 1) + waves(rng, x[:, :4], 0.8) + noise_of(rng) * rng.normal(size=n)


def seasons(rng, n):
    t = np.sort(rng.uniform(0, 1, n))
    cycles = rng.uniform(2, 30)
    y = rng.normal() * 5 * t + np.sin(6.283 * cycles * t) + 0.3 * np.sin(2 * 6.283 * cycles * t + 1) + noise_of(rng, -2, -0.3) * rng.normal(size=n)
    return (np.column_stack([2000 + 20 * t, np.floor(12 * ((cycles * t) % 1))]) if rng.random() < 0.5 else 2000 + 20 * t[:, None]), y


def clusters(rng, n):
    """Places in tight clusters, far from each other."""
    count, d = int(rng.integers(3, 20)), int(rng.integers(2, 4))
    of = rng.integers(0, count, n)
    x = rng.normal(size=(count, d))[of] * 10 + noise_of(rng, -2, 0) * rng.normal(size=(n, d))
    return x, rng.normal(size=count)[of] + waves(rng, x, rng.uniform(0.1, 2)) * 0.3 + noise_of(rng, -2, 0) * rng.normal(size=n)


def many_inputs(rng, n):
    x = rng.normal(size=(n, int(rng.integers(20, 41))))
    w = rng.normal(size=x.shape[1]) * (rng.random(x.shape[1]) < rng.uniform(0.1, 1))
    return x, x @ w / max(np.linalg.norm(w), 1) + rng.uniform(0, 1) * waves(rng, x[:, :3], 0.7) + noise_of(rng, -2, 0) * rng.normal(size=n)


def collinear(rng, n):
    """Inputs that are sums of a few others, almost."""
    hidden = rng.normal(size=(n, int(rng.integers(1, 4))))
    x = hidden @ rng.normal(size=(hidden.shape[1], int(rng.integers(3, 9))))
    return x + noise_of(rng, -6, -1) * rng.normal(size=x.shape), waves(rng, hidden, 0.8) + noise_of(rng) * rng.normal(size=n)


def unlike_scales(rng, n):
    z = rng.normal(size=(n, int(rng.integers(2, 7))))
    x = np.where(rng.random(z.shape[1]) < 0.3, np.exp(2 * z), z) * 10 ** rng.uniform(-8, 8, z.shape[1]) 
    return x + 10 ** rng.uniform(0, 4, z.shape[1]) * np.std(x, 0), waves(rng, z, 0.6) + noise_of(rng) * rng.normal(size=n)


def offset(rng, n):
    """A target far from 0 with a tiny spread."""
    x = rng.uniform(-2, 2, size=(n, int(rng.integers(1, 5))))
    return x, rng.normal() * 10 ** rng.uniform(3, 9) + waves(rng, x, 0.8) * 10 ** rng.uniform(-2, 0)


def handful(rng, n):
    """5 to 20 rows (rows_of is not asked)."""
    x = rng.uniform(-1, 1, size=(HELD_OUT + int(rng.integers(5, 21)), int(rng.integers(1, 6))))
    return x, waves(rng, x, 1.5) + noise_of(rng, -4, 0) * rng.normal(size=len(x))


def piecewise(rng, n):
    """Planes that meet: the largest of some."""
    x = rng.normal(size=(n, int(rng.integers(1, 5))))
    planes = x @ rng.normal(size=(x.shape[1], 5)) + rng.normal(size=5)
    return x, planes.max(1) - planes[:, :2].min(1) + noise_of(rng, -5, -0.3) * rng.normal(size=n)


def spikes(rng, n):
    """A constant, except near a place or in a few rows."""
    x = rng.normal(size=(n, int(rng.integers(1, 5))))
    near = np.sum((x - rng.normal(size=x.shape[1])) ** 2, 1)
    y = 5 * np.exp(-near / rng.uniform(0.02, 0.5)) if rng.random() < 0.5 else 5.0 * (rng.random(n) < 0.03)
    return x, y + (0 if rng.random() < 0.5 else 0.01) * rng.normal(size=n)


def walks(rng, n):
    t = np.arange(n, dtype=float)
    return t[:, None], np.cumsum(rng.normal(size=n)) + noise_of(rng, -2, 0.5) * rng.normal(size=n)


def near_copies(rng, n):
    """Rows again, a little moved, some with their targets."""
    x = rng.normal(size=(n, int(rng.integers(1, 5))))
    of = np.where(rng.random(n) < 0.4, rng.integers(0, n, n), np.arange(n))
    y = waves(rng, x, 0.8) + noise_of(rng) * rng.normal(size=n)
    return x[of] + 10 ** rng.uniform(-9, -2) * rng.normal(size=x.shape), y[of] + 1e-4 * rng.normal(size=n) * rng.integers(0, 2)


def nearly_linear(rng, n):
    x = rng.uniform(-1, 1, size=(n, int(rng.integers(1, 9))))
    return x, x @ rng.normal(size=x.shape[1]) + noise_of(rng, -3, 0) * (x[:, 0] ** 2 + 0.3 * x[:, 0] * x[:, -1]) + noise_of(rng, -4, 0.5) * rng.normal(size=n)


def pure_noise(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 13))))
    return x, [rng.normal(size=n), rng.standard_t(3, size=n), rng.exponential(size=n), rng.poisson(2, n).astype(float)][int(rng.integers(0, 4))]


def simulators(rng, n):
    """Deterministic functions of other people's tests."""
    which, x = int(rng.integers(0, 6)), rng.random((n, 8))
    if which == 0:  # Friedman
        return x[:, :6], 10 * np.sin(math.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    if which == 1:  # borehole
        low, high = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855]), np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
        rw, r, tu, hu, tl, hl, length, kw = (low + (high - low) * x).T
        span = np.log(r / rw)
        return low + (high - low) * x, 2 * math.pi * tu * (hu - hl) / (span * (1 + 2 * length * tu / (span * rw**2 * kw) + tu / tl))
    if which == 2:  # Ackley
        z = 4 * x[:, :2] - 2
        return z, -20 * np.exp(-0.2 * np.sqrt((z**2).mean(1))) - np.exp(np.cos(6.283 * z).mean(1)) + 22.7
    if which == 3:  # Sobol's g: kinks
        return x[:, :4], np.prod((np.abs(4 * x[:, :4] - 2) + np.arange(4)) / (1 + np.arange(4)), 1)
    if which == 4:  # Rosenbrock
        z = 4 * x[:, :3] - 2
        return z, (100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1 - z[:, :-1]) ** 2).sum(1)
    return x[:, :1], (6 * x[:, 0] - 2) ** 2 * np.sin(12 * x[:, 0] - 4)  # Forrester


def bounded(rng, n):
    """Nothing below 0, as of an instrument with a limit."""
    x = rng.normal(size=(n, int(rng.integers(1, 5))))
    return x, np.maximum(0, waves(rng, x, 0.8) + rng.uniform(-1, 0.5) + noise_of(rng, -2, -0.3) * rng.normal(size=n))


def counts(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 6))))
    return x, rng.poisson(np.exp(waves(rng, x, 0.6) + rng.uniform(-2, 3))).astype(float)


def classes(rng, n):
    x = rng.normal(size=(n, int(rng.integers(1, 6))))
    return x, (rng.random(n) < 1 / (1 + np.exp(-rng.uniform(0.5, 8) * waves(rng, x, 0.6) + rng.uniform(0, 3)))).astype(float)


def odd_inputs(rng, n):
    """Inputs with heavy tails, mostly zero, or with two values."""
    kinds = [lambda: rng.standard_t(1.5, n), lambda: rng.exponential(size=n) * (rng.random(n) < 0.3), lambda: rng.integers(0, 2, n),
             lambda: np.exp(2 * rng.normal(size=n)), lambda: rng.normal(size=n)]
    x = np.column_stack([kinds[int(rng.integers(0, 5))]() for _ in range(int(rng.integers(2, 7)))]).astype(float)
    return x, waves(rng, np.tanh(x), 1.2) + noise_of(rng) * rng.normal(size=n)


MORE = [interactions, long_tails, sparse_counts, seasons, clusters, many_inputs, collinear, unlike_scales, offset, handful, piecewise, spikes,
        walks, near_copies, nearly_linear, pure_noise, simulators, bounded, counts, classes, odd_inputs]


def rows_of(rng, most):
    return int(50 * (most / 50) ** (rng.random() ** 1.5))


def problem(number, most, families):
    rng = np.random.default_rng(91000 + number)
    family = families[number % len(families)]
    x, y = family(rng, rows_of(rng, most) + HELD_OUT)
    order = rng.permutation(len(x))
    kernel = ["se-ard", "matern52-ard", "matern32-ard"][int(rng.integers(0, 3))]
    return family.__name__, kernel, x[order], y[order]


def fit(args, folder, *options):
    """Scores of held-out rows, and the messages."""
    model = os.path.join(folder, "m.oatgp")
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([args.command, "fit", os.path.join(folder, "fit.csv"), "--target", "y", "-o", model, "--json", "--threads", "1", *options],
                          capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
    if done.returncode != 0:
        return {"objective": -math.inf, "nlp": math.inf, "seconds": seconds, "said": [done.stderr.strip()[-300:]]}
    out = json.loads(done.stdout)
    score = json.loads(subprocess.run([args.command, "score", model, os.path.join(folder, "test.csv"), "--json", "--threads", "1"],
                                      capture_output=True, text=True).stdout)
    said = [line for line in done.stderr.splitlines() if "warning" in line.lower() or "note" in line.lower()]
    kept = ("objective", "knots", "neighbours", "approx", "stop", "sigma", "tau")
    return {**{k: out.get(k) for k in kept}, "loo": out.get("loo_mean_nlp"), "nlp": score["mean_nlp"], "seconds": seconds, "said": said}


def exact(args, folder, kernel, d, spread, n):
    tries = [fit(args, folder, "--approx", "full", "--kernel", kernel, "--no-guard")]
    for length, tau in STARTS if n <= FEW else []:
        tries.append(fit(args, folder, "--approx", "full", "--select", "fixed", "--kernel", kernel, "--no-guard", "--max-iter", "200",
                         "--lengthscale", repr(length * math.sqrt(d)), "--sigma", repr(0.7 * spread), "--tau", repr(tau * spread)))
    return max(tries, key=lambda t: t["objective"])


def plain(x, y, n):
    """Mean NLP of the held-out rows: of a constant, and of a linear regression (with a ridge that is next to nothing)."""
    def nlp(mean, sd):
        return float(np.mean(0.5 * ((y[n:] - mean) / sd) ** 2 + np.log(sd))) + 0.5 * math.log(2 * math.pi) if np.all(sd > 0) else math.inf
    spread = np.std(x[:n], 0)
    z = np.column_stack([np.ones(len(x)), (x - np.mean(x[:n], 0)) / np.where(spread > 0, spread, 1)])
    middle = np.mean(y[:n])
    inverse = np.linalg.inv(z[:n].T @ z[:n] + 1e-3 * np.eye(z.shape[1]))
    w = inverse @ (z[:n].T @ (y[:n] - middle))
    sd = math.sqrt(np.sum((y[:n] - middle - z[:n] @ w) ** 2) / max(n - z.shape[1], 1))
    return nlp(middle, np.std(y[:n])), nlp(middle + z[n:] @ w, sd * np.sqrt(1 + np.sum(z[n:] @ inverse * z[n:], 1)))


def run(args):
    done = {json.loads(line)["number"] for line in open(args.out)} if os.path.exists(args.out) else set()
    with tempfile.TemporaryDirectory() as folder, open(args.out, "a") as out:
        sizes = {i: rows_of(np.random.default_rng(91000 + i), args.most_rows) for i in range(args.first, args.count) if i not in done}
        for number in sorted(sizes, key=sizes.get):  # the fast ones first
            family, kernel, x, y = problem(number, args.most_rows, MORE if args.more else FAMILIES)
            n = len(x) - HELD_OUT
            write_csv(os.path.join(folder, "fit.csv"), x[:n], y[:n])
            write_csv(os.path.join(folder, "test.csv"), x[n:], y[n:])
            record = {"number": number, "family": family, "kernel": kernel, "n": n, "d": x.shape[1]}
            record["constant"], record["linear"] = plain(x, y, n)
            record["default"] = fit(args, folder, "--kernel", kernel, *args.option)
            record["exact"] = exact(args, folder, kernel, x.shape[1], float(np.std(y[:n])) or 1.0, n)
            out.write(json.dumps(record) + "\n")
            out.flush()


def worse(r):
    return r["default"]["nlp"] - r["exact"]["nlp"]


def told(r):
    return any("arning" in s or "another optimum" in s for s in r["default"]["said"])


def table(args):
    results = [json.loads(line) for line in open(args.out)]
    print("| kind | problems | within 0.02 of the exact GP or better | better by 0.02 | worse, and told | worse, without a word | worst |")
    print("|---|---|---|---|---|---|---|")
    for name in [f.__name__ for f in FAMILIES + MORE] + ["all"]:
        of = [r for r in results if name in (r["family"], "all")]
        if of:
            far = [r for r in of if worse(r) > ALLOWED]
            print(f"| {name.replace('_', ' ')} | {len(of)} | {len(of) - len(far)} | {sum(worse(r) < -ALLOWED for r in of)} | "
                  f"{sum(told(r) for r in far)} | {sum(not told(r) for r in far)} | {max(map(worse, of)):.3f} |")
    beside = [r for r in results if "constant" in r]
    if beside:
        bad = [r for r in beside if r["default"]["nlp"] - r["constant"] > ALLOWED]
        print(f"\n{len(bad)} of {len(beside)} worse than a constant, {sum(not told(r) for r in bad)} of them without a word; "
              f"{sum(r['default']['nlp'] - r['linear'] > 0.1 for r in beside)} are 0.1 worse than a linear regression")
    for r in sorted(results, key=worse, reverse=True)[:args.worst]:
        m, e = r["default"], r["exact"]
        print(r["number"], r["family"], r["kernel"], f"n={r['n']} d={r['d']} worse by {worse(r):.4f}: nlp {m['nlp']:.4f} exact {e['nlp']:.4f}, "
              f"objective {m['objective']:.2f} exact {e['objective']:.2f}, {m.get('approx')} {m.get('knots')} {m.get('neighbours')} {m.get('stop')}",
              "; ".join(s[:110] for s in m["said"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="what", required=True)
    p = parts.add_parser("run")
    p.add_argument("out")
    p.add_argument("--command", default="build/oatgp")
    p.add_argument("--count", type=int, default=120)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--most-rows", type=int, default=3000)
    p.add_argument("--option", action="append", default=[])
    p.add_argument("--more", action="store_true", help="the kinds of MORE")
    p = parts.add_parser("table")
    p.add_argument("out")
    p.add_argument("--worst", type=int, default=0)
    args = parser.parse_args()
    table(args) if args.what == "table" else run(args)


if __name__ == "__main__":
    main()
