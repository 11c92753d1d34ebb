#!/usr/bin/env python3
"""The automatic fit on ten splits of the shared sets, beside the exact GP where it is cheap: NLP and RMSE of held-out rows.

    python3 bench/splits.py run OUT.jsonl [--command build/oatgp] [--data ../shared/data] [--sets A,B] [--splits 10] [--jobs J] [--seconds S]
    python3 bench/splits.py table OUT.jsonl

The sets of uci/ have ten given splits. Of the others, split i holds out the rows whose place in a seeded order is i modulo ten. The exact
GP is --approx full from six starts, up to MOST_EXACT rows. Every fit uses one thread; J of them run side by side. Each result is a line of
OUT, with processor seconds, and one that is there is not made again. No fit begins after S seconds. The NLP is in the target's unit, and in nats per row."""
import argparse
import concurrent.futures
import gzip
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import threading
import time

SETS = ["yacht", "energy", "concrete", "airfoil", "ccpp", "bike", "protein"]
MOST_EXACT = 2000  # rows
WAYS = {"automatic": [], "exact": ["--approx", "full", "--restarts", "5"]}


def read_set(data, name):
    """Lines of the table without a header, and for each row the number of the split that holds it out."""
    packed = data / "uci" / f"{name}.csv.gz"
    if packed.exists():
        with gzip.open(packed, "rt") as rows, gzip.open(data / "uci" / f"{name}.mask.csv.gz", "rt") as mask:
            return rows.read().split(), [line.split(",").index("1") for line in mask.read().split()]
    lines = (data / f"{name}.csv").read_text().split()[1:]
    places = list(range(len(lines)))
    random.Random(1).shuffle(places)
    return lines, [place % 10 for place in places]


def write_split(folder, lines, where, split):
    for part, held_out in (("train", False), ("test", True)):
        with open(f"{folder}/{part}.csv", "w") as file:
            file.writelines(line + "\n" for line, own in zip(lines, where) if (own == split) == held_out)


def timed(words):
    """The JSON output of a command, and its processor seconds."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(words)} ended with status {status}")
    return json.loads(said), usage.ru_utime + usage.ru_stime


def fit_and_score(command, lines, where, split, words):
    with tempfile.TemporaryDirectory() as folder:
        write_split(folder, lines, where, split)
        model = f"{folder}/model.oatgp"
        shared = ["--threads", "1", "--device", "cpu", "--json", "--header", "no"]
        fit = [command, "fit", f"{folder}/train.csv", "--target", "last", "-o", model, "--quiet", *shared, *words]
        fitted, seconds = timed(fit)
        score = [command, "score", model, f"{folder}/test.csv", *shared]
        scores = json.loads(subprocess.run(score, check=True, capture_output=True, text=True).stdout)
        return {"objective": fitted["objective"], "knots": fitted["knots"], "nlp": scores["mean_nlp"], "rmse": scores["rmse"], "seconds": seconds}


def jobs_of(options, known):
    for name in options.sets:
        try:
            lines, where = read_set(options.data, name)
        except FileNotFoundError as missing:
            print(f"splits: {name} is left out: {missing}")
            continue
        for way, words in WAYS.items():
            for split in range(options.splits):
                if (name, way, split) not in known and (way == "automatic" or len(lines) <= MOST_EXACT):
                    yield name, way, split, lines, where, words


def run(options):
    known = {(line["set"], line["way"], line["split"]) for line in read_results(options.out)} if options.out.exists() else set()
    began, lock = time.monotonic(), threading.Lock()

    def one(job):
        name, way, split, lines, where, words = job
        if time.monotonic() - began > options.seconds:
            return
        result = fit_and_score(options.command, lines, where, split, words)
        with lock, open(options.out, "a") as file:
            file.write(json.dumps({"set": name, "way": way, "split": split, **result}) + "\n")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        largest_first = sorted(jobs_of(options, known), key=lambda job: -len(job[3]))
        for _ in pool.map(one, largest_first):
            pass


def read_results(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(options):
    lines = read_results(options.out)
    print("| set | splits | automatic | exact | mean difference (standard error) | worst | processor seconds |\n|---|---|---|---|---|---|---|")
    for name in SETS:
        found = {way: {line["split"]: line for line in lines if line["set"] == name and line["way"] == way} for way in WAYS}
        if found["automatic"]:
            print(row(name, found["automatic"], found["exact"]))


def row(name, own, exact):
    mean = lambda of, what: statistics.fmean(line[what] for line in of.values())
    cells = [name, str(len(own)), f"{mean(own, 'nlp'):.4f}", "", "", "", f"{mean(own, 'seconds'):.3g}"]
    gaps = [own[split]["nlp"] - exact[split]["nlp"] for split in own if split in exact]
    if len(gaps) > 1:
        cells[3] = f"{mean(exact, 'nlp'):.4f}"
        cells[4] = f"{statistics.fmean(gaps):+.4f} ({statistics.stdev(gaps) / math.sqrt(len(gaps)):.4f})"
        cells[5] = f"{max(gaps):+.4f}"
        cells[6] += f" / {mean(exact, 'seconds'):.3g}"
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--command", default="build/oatgp")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--sets", type=lambda given: given.split(","), default=SETS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=max(1, len(os.sched_getaffinity(0)) // 2))
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    {"run": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
