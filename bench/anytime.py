#!/usr/bin/env python3
"""The quality of a fit with a time limit: mean NLP on held-out rows for each limit, compared with a constant.

    python3 bench/anytime.py [--command build/oatgp] [--data ../shared/data] [--sets A,B] [--threads 2] [--whole]

"made" is 8000 rows x 8 inputs, y = sin 2a + b^2 / 2 + c d + cos 3e + 0.1 noise, made up here. The other sets are those of bench/selection.py,
of which those that are not there are left out; a tenth of the rows is held out. --whole adds a fit without a limit.
"""
import argparse
import csv
import math
import os
import random
import tempfile
import time

import selection

LIMITS = [0.5, 1, 2, 4, 8, 16]


def made_up():
    draw = random.Random(3)
    rows = []
    for _ in range(9000):
        x = [draw.gauss(0, 1) for _ in range(8)]
        y = math.sin(2 * x[0]) + x[1] ** 2 / 2 + x[2] * x[3] + math.cos(3 * x[4]) + 0.1 * draw.gauss(0, 1)
        rows.append([repr(v) for v in [*x, y]])
    return rows, [[i >= 8000] for i in range(9000)]


def constant_nlp(folder):
    """Of the training rows' mean and variance."""
    part = {}
    for name in ("train", "test"):
        with open(os.path.join(folder, name + ".csv"), newline="") as file:
            part[name] = [float(row[-1]) for row in csv.reader(file)]
    n = len(part["train"])
    mean = sum(part["train"]) / n
    variance = sum((y - mean) ** 2 for y in part["train"]) / n
    return sum(0.5 * (math.log(2 * math.pi * variance) + (y - mean) ** 2 / variance) for y in part["test"]) / len(part["test"])


def fit(args, folder, limit):
    model, train, test = (os.path.join(folder, name) for name in ("model.oatgp", "train.csv", "test.csv"))
    began = time.time()
    options = ["--time-limit", str(limit)] if limit else []
    info, _ = selection.command(args.command, "fit", train, "--target", "last", "-o", model, "--threads", str(args.threads), *options)
    seconds = time.time() - began
    scores, _ = selection.command(args.command, "score", model, test)
    return scores["mean_nlp"], info["knots"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/oatgp")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--sets", default="made,concrete,airfoil,ccpp,bike,protein")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    args = parser.parse_args()
    limits = LIMITS + ([0] if args.whole else [])
    print("| set | rows | constant | " + " | ".join(f"{limit} s" if limit else "no limit" for limit in limits) + " | longest over its limit |")
    print("|" + "---|" * (4 + len(limits)))
    for name in args.sets.split(","):
        found = made_up() if name == "made" else selection.read_set(args.data, name)
        if found is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            count = selection.write_split(folder, *found, 1)
            cells, over = [], 0.0
            for limit in limits:
                nlp, knots, seconds = fit(args, folder, limit)
                cells.append(f"{nlp:.3f} ({knots})" + (f" {seconds:.1f} s" if not limit else ""))
                over = max(over, seconds - limit) if limit else over
            print(f"| {name} | {count} | {constant_nlp(folder):.3f} | " + " | ".join(cells) + f" | {over:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
