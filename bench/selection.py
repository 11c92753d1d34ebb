"""The automatic selection against selections by hand: number of knots, objective, held-out scores and seconds, set by set and split by split.

    python3 bench/selection.py run --oatgp build/oatgp --data ../shared/data --out results/selection.jsonl [--sets A,B] [--masks 1-10] [--methods A,B]
                                   [--threads T] [--jobs J] [--seconds S]
    python3 bench/selection.py tables results/selection.jsonl
    python3 bench/selection.py splits results/selection.jsonl [--method auto]

Every fit adds a line to the output file, and one that is there is not run again, so a run can be stopped and taken up. Sets are DIR/NAME.csv, with a
header, and DIR/uci/NAME.csv.gz, without, with their ten splits in NAME.mask.csv.gz; for the former ten folds are dealt out at random. The target is the
last column. A set that is not there is left out. Without --masks there are ten splits of each set, but two of bike and protein.

J fits run side by side, those of the largest sets first, each on T threads. After S seconds no fit begins. "splits" prints mean and standard
deviation of the scores over the splits, and the models that were chosen. Only Python's standard library is needed."""
import argparse
import concurrent.futures
import csv
import gzip
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SETS = ["boston", "yacht", "energy", "concrete", "airfoil", "ccpp", "bike", "protein"]
TWO_MASKS = {"bike", "protein"}
EXACT_ROWS = 5000  # the exact GP is fitted up to here
ITERATIONS = ["--max-iter", "300"]


def methods():
    """Name -> options of the fit."""
    by_hand = {
        f"simultaneous {start}:{k}": ["--select", "simultaneous", "--knots", f"{start}:{k}", *ITERATIONS]
        for k in (50, 100, 200, 400)
        for start in ("kmeans", "random")
    }
    return {
        "auto": [],
        "kernel auto": ["--kernel", "auto"],
        **by_hand,
        "variance 400": ["--select", "variance", "--knots", "400", *ITERATIONS],
        "oat-bo": ["--select", "oat-bo"],
        "oat-gain": ["--select", "oat-gain"],
        "exact": ["--approx", "full"],
    }


def read_set(folder, name):
    """Rows as text, and for each row ten marks; None if the set is not there."""
    plain, packed = os.path.join(folder, name + ".csv"), os.path.join(folder, "uci", name + ".csv.gz")
    if os.path.exists(plain):
        with open(plain, newline="") as file:
            rows = list(csv.reader(file))[1:]
        fold = [i % 10 for i in range(len(rows))]
        random.Random(1).shuffle(fold)
        return rows, [[f == m for m in range(10)] for f in fold]
    if os.path.exists(packed):
        with gzip.open(packed, "rt", newline="") as file, gzip.open(packed.replace(".csv.gz", ".mask.csv.gz"), "rt", newline="") as mask:
            return list(csv.reader(file)), [[float(cell) != 0 for cell in row] for row in csv.reader(mask)]
    return None


def write_split(folder, rows, marks, mask):
    """train.csv and test.csv of one mask (from 1); returns the number of training rows."""
    count = 0
    for part, wanted in (("train", False), ("test", True)):
        with open(os.path.join(folder, part + ".csv"), "w", newline="") as file:
            chosen = [row for row, mark in zip(rows, marks) if mark[mask - 1] == wanted]
            csv.writer(file).writerows(chosen)
            count = count if wanted else len(chosen)
    return count


def command(oatgp, *arguments):
    """The JSON that it prints, and the seconds of processor time that it took."""
    process = subprocess.Popen([oatgp, *arguments, "--json", "--quiet"], stdout=subprocess.PIPE)
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"'{oatgp} {' '.join(arguments)}' ended with {process.returncode}")
    return json.loads(printed), used.ru_utime + used.ru_stime


def measure(options, folder, arguments):
    """One fit and its scores."""
    model, train, test = (os.path.join(folder, name) for name in ("model.oatgp", "train.csv", "test.csv"))
    table = ["--target", "last", "--header", "no", "--threads", str(options.threads)]
    fit, cpu = command(options.oatgp, "fit", train, *table, "-o", model, *arguments)
    score, _ = command(options.oatgp, "score", model, test, *table)
    result = {key: fit[key] for key in ("approx", "knots", "neighbours", "objective", "evaluations", "seconds", "stop", "loo_mean_nlp") if key in fit}
    return {**result, "cpu": cpu, **{key: score[key] for key in ("mean_nlp", "rmse", "coverage95")}}


def read_results(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def jobs_of(options):
    """A job for each fit that is wanted and not done: set, its table, mask, method and its options; the largest sets first."""
    done = {(r["set"], r["mask"], r["method"]) for r in read_results(options.out)}
    chosen = {name: value for name, value in methods().items() if not options.methods or name in options.methods.split(",")}
    jobs = []
    for name in options.sets.split(","):
        table = read_set(options.data, name)
        if table is None:
            print(f"{name} is not in {options.data}: left out", file=sys.stderr)
            continue
        masks = numbers(options.masks or ("1-2" if name in TWO_MASKS else "1-10"))
        jobs += [(name, table, mask, *method) for mask in masks for method in chosen.items() if (name, mask, method[0]) not in done]
    return sorted(jobs, key=lambda job: -len(job[1][0])) if options.jobs > 1 else jobs


def run_job(options, lock, job):
    name, table, mask, method, arguments = job
    if time.monotonic() - options.began > options.seconds:
        return
    with tempfile.TemporaryDirectory() as folder:
        n = write_split(folder, *table, mask)
        if method == "exact" and n > EXACT_ROWS:
            return
        result = {"set": name, "mask": mask, "method": method, "n": n, "d": len(table[0][0]) - 1, "threads": options.threads}
        result.update(measure(options, folder, arguments))
    with lock:
        with open(options.out, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(name, mask, method, result["knots"], round(result["mean_nlp"], 4), round(result["seconds"], 2), file=sys.stderr)


def run(options):
    options.began, lock = time.monotonic(), threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(run_job, options, lock, job) for job in jobs_of(options)]
    failed = [str(one.exception()) for one in runs if one.exception() is not None]
    if failed:
        sys.exit("\n".join(failed))


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def by_method(results, name):
    """A set's results: method -> rows, for the splits that auto has."""
    mine = [r for r in results if r["set"] == name]
    masks = {r["mask"] for r in mine if r["method"] == "auto"}
    found = {method: [r for r in mine if r["method"] == method and r["mask"] in masks] for method in methods()}
    return {method: rows for method, rows in found.items() if rows}


def ahead(found, method):
    """The median over the splits of auto's mean NLP minus the method's: negative is better for auto."""
    auto = {r["mask"]: r["mean_nlp"] for r in found["auto"]}
    return statistics.median(auto[r["mask"]] - r["mean_nlp"] for r in found[method])


def summary_of(found, name):
    """Auto against the best of all, against the best number of knots by hand, and against the fewest knots that do."""
    difference = {method: ahead(found, method) for method in found}
    best = max((method for method in found if method != "auto"), key=difference.get)
    by_hand = max((method for method in found if method[-1].isdigit()), key=difference.get)
    enough = [rows for method, rows in found.items() if method != "exact" and difference[method] >= max(difference.values()) - 0.01]
    auto, other = found["auto"], found[by_hand]
    return (
        f"| {name} | {difference[best]:+.4f} ({best}) | {by_hand} | {median(auto, 'cpu') / median(other, 'cpu'):.2f} | {median(auto, 'seconds') / median(other, 'seconds'):.2f} | "
        f"{median(auto, 'knots'):.0f} | {min(median(rows, 'knots') for rows in enough):.0f} |"
    )


def table_of(found, name):
    lines = ["| selection | splits | K | objective | mean NLP | RMSE | coverage | seconds | CPU seconds | auto's NLP minus this |", "|---" * 10 + "|"]
    for method, rows in found.items():
        lines.append(
            f"| {method} | {len(rows)} | {median(rows, 'knots'):.0f} | {median(rows, 'objective'):.1f} | {median(rows, 'mean_nlp'):.4f} | {median(rows, 'rmse'):.4g} | "
            f"{100 * median(rows, 'coverage95'):.1f} % | {median(rows, 'seconds'):.2f} | {median(rows, 'cpu'):.2f} | {ahead(found, method):+.4f} |"
        )
    auto = found["auto"]
    stops = sorted({r["stop"] for r in auto})
    title = f"{name} ({auto[0]['n']} rows, {auto[0]['d']} inputs, {len(auto)} splits; auto stopped by {', '.join(stops)}):"
    return "\n".join([title, "", *lines, ""])


def tables(options):
    results = read_results(options.results)
    found = {name: by_method(results, name) for name in SETS if any(r["set"] == name and r["method"] == "auto" for r in results)}
    print("| set | auto's NLP minus the best of all | best K by hand | auto's CPU seconds / those by hand | seconds / those by hand | auto's K | smallest K within 0.01 |")
    print("|---" * 7 + "|")
    for name, rows in found.items():
        print(summary_of(rows, name))
    print()
    for name, rows in found.items():
        print(table_of(rows, name))


def model_of(row):
    """A summary of the chosen models."""
    if row.get("approx") == "full":
        return "exact"
    near = row.get("neighbours", 0)
    return f"{row['approx']}, {row['knots']} knots" + (f" and {near} neighbours" if near else "")


def with_spread(rows, key, digits):
    values = [row[key] for row in rows]
    spread = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.mean(values):.{digits}f} ({spread:.{digits}f})"


def splits(options):
    results = [r for r in read_results(options.results) if r["method"] == options.method]
    print("| set | rows x inputs | splits | mean NLP (sd) | RMSE (sd) | seconds (sd) | CPU seconds (sd) | models |")
    print("|---" * 8 + "|")
    for name in SETS:
        rows = [r for r in results if r["set"] == name]
        if rows:
            models = [model_of(r) for r in rows]
            counted = "; ".join(f"{models.count(m)} x {m}" for m in sorted(set(models)))
            cells = [with_spread(rows, key, digits) for key, digits in (("mean_nlp", 4), ("rmse", 4), ("seconds", 1), ("cpu", 1))]
            print(f"| {name} | {rows[0]['n']} x {rows[0]['d']} | {len(rows)} | {' | '.join(cells)} | {counted} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    runner = verbs.add_parser("run", help="fit and score")
    runner.add_argument("--oatgp", required=True, metavar="COMMAND")
    runner.add_argument("--data", required=True, metavar="DIR")
    runner.add_argument("--out", required=True, metavar="FILE.jsonl")
    runner.add_argument("--sets", default=",".join(SETS))
    runner.add_argument("--masks", default="")
    runner.add_argument("--methods", default="")
    runner.add_argument("--threads", type=int, default=2, help="of each fit (default: 2)")
    runner.add_argument("--jobs", type=int, default=1, help="fits side by side (default: 1)")
    runner.add_argument("--seconds", type=float, default=math.inf, help="after so many no fit begins")
    runner.set_defaults(action=run)
    reader = verbs.add_parser("tables", help="print the results as Markdown")
    reader.add_argument("results", metavar="FILE.jsonl")
    reader.set_defaults(action=tables)
    summary = verbs.add_parser("splits", help="print means and spreads over the splits")
    summary.add_argument("results", metavar="FILE.jsonl")
    summary.add_argument("--method", default="auto")
    summary.set_defaults(action=splits)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
