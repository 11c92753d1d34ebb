#!/usr/bin/env python3
"""Measures the gain of averaging predictions over draws of the parameters, on the problems of few.py, with the Python package:

    python3 bench/average.py run OUT.jsonl [--data ../shared/data] [--first 0] [--count 200] [--approx full]
    python3 bench/average.py table OUT.jsonl
    python3 bench/average.py sets OUT.jsonl [--data ../shared/data]     nine tenths of the rows of the sets of at most 2000 rows

Every problem is fitted with `average` 0, 4, 8, 16 and 32, and the mean NLP of other rows is that of the mixture. `8 draws, one Gaussian` has
the mean and the variance of the mixture of 8 instead. Seconds are those of the processor. Every problem is a line of OUT, and one that is
there is not made again."""

import argparse
import json
import os
import statistics
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are loaded

import few  # noqa: E402
import numpy as np  # noqa: E402
import oatgp  # noqa: E402

DRAWS = [0, 4, 8, 16, 32]
AS_ONE = "8 draws, one Gaussian"


def name_of(draws):
    return f"{draws} draws" if draws else "one fit"


def one(approx, x, y, to, answers, numbers=DRAWS):
    """For each number of draws: mean NLP, seconds of the fit, seconds of a prediction of all rows."""
    there = np.ptp(x, axis=0) > 0  # an input that is the same in all rows is none
    x, to = x[:, there], to[:, there]
    found = {}
    for draws in numbers:
        began = time.process_time()
        model = oatgp.fit(x, y, approx=approx, average=draws, threads=1)
        fitted = time.process_time()
        at = model.predict(to, interval=None, threads=1)
        predicted = time.process_time()
        found[name_of(draws)] = [model.score(to, answers, threads=1).mean_nlp, fitted - began, predicted - fitted]
        if draws == 8:
            found[AS_ONE] = [few.mean_nlp(answers, at.mean, at.sd), fitted - began, predicted - fitted]
    return found


def run(args):
    warnings.simplefilter("ignore", oatgp.OatgpWarning)
    there = {r["number"] for r in few.load(args.out)}
    with open(args.out, "a") as out:
        for number in range(args.first, args.count):
            made = few.problem(number, args.data) if number not in there else None
            if made:
                out.write(json.dumps({"number": number, "set": made[0], "found": one(args.approx, *made[1:])}) + "\n")
                out.flush()


def table(args):
    results = few.load(args.out)
    print("| predictions | problems | mean NLP | median | worst | 0.05 better than one fit | 0.05 worse | fit, ms | predict, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in results[0]["found"]:
        nlp, fit, predict = ([r["found"][name][j] for r in results] for j in range(3))
        less = [r["found"]["one fit"][0] - r["found"][name][0] for r in results]
        better, worse = sum(v > 0.05 for v in less), sum(v < -0.05 for v in less)
        scores = f"{statistics.mean(nlp):.3f} | {statistics.median(nlp):.3f} | {max(nlp):.2f} | {better} | {worse}"
        print(f"| {name} | {len(nlp)} | {scores} | {1e3 * statistics.mean(fit):.0f} | {1e3 * statistics.mean(predict):.1f} |")


def sets(args):
    warnings.simplefilter("ignore", oatgp.OatgpWarning)
    there = {r["set"] for r in few.load(args.out)}
    with open(args.out, "a") as out:
        for name in few.SETS:
            rows = few.read_set(args.data, name) if name not in there else None
            if rows is None or len(rows) > 2000:
                continue
            order = np.random.default_rng(5).permutation(len(rows))
            test, fit = order[: len(rows) // 10], order[len(rows) // 10 :]
            y = (rows[:, -1] - rows[:, -1].mean()) / rows[:, -1].std()
            found = one(args.approx, rows[fit, :-1], y[fit], rows[test, :-1], y[test], [0, 8])
            out.write(json.dumps({"set": name, "n": len(fit), "found": found}) + "\n")
            out.flush()
    print("| set | rows | one fit | 8 draws | difference | fit, s | with 8 draws, s |\n|---|---|---|---|---|---|---|")
    for r in few.load(args.out):
        (a, alone, _), (b, drawn, _) = r["found"]["one fit"], r["found"]["8 draws"]
        print(f"| {r['set'].split('/')[-1]} | {r['n']} | {a:.4f} | {b:.4f} | {b - a:+.4f} | {alone:.2f} | {drawn:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "sets"])
    parser.add_argument("out")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--approx", default="vfe")
    args = parser.parse_args()
    {"run": run, "table": table, "sets": sets}[args.what](args)


if __name__ == "__main__":
    main()
