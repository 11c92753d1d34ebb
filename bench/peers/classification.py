"""Classification: OATGPClassifier beside logistic regression and the Gaussian processes of scikit-learn, GPBoost and GPflow.

usage: PYTHON classification.py DATA.csv WAY [WAY ...] [--folds 10] [--seed 1] [--limit 600]

PYTHON has scikit-learn and the packages of the ways (requirements-*.txt); oatgp is that of script/python. The table has a header, and its last
column is the class, 0 or 1. All ways have the same stratified folds and inputs in standard units of the rows that are fitted, GPs the squared
exponential kernel with a lengthscale for each input and, where the package has one, an estimated mean. Set OMP_NUM_THREADS for all.
Prints a row of a table for each way: mean log loss and accuracy of all held-out rows, and seconds, of the clock and of the processor, of all
fits and predictions. A way that is not done within the limit is told of, with the rows that it has done."""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

KNOTS = 100  # of GPflow's sparse model
LEAST = 1e-15  # probability, for the log loss


def oatgp(x, y, new):
    from oatgp import OATGPClassifier

    return OATGPClassifier().fit(x, y).predict_proba(new)[:, 1]


def logistic(x, y, new):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(x, y).predict_proba(new)[:, 1]


def sklearn(x, y, new):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel() * RBF(np.ones(x.shape[1]))
    return GaussianProcessClassifier(kernel).fit(x, y).predict_proba(new)[:, 1]


def gpboost(x, y, new):
    import gpboost as package

    model = package.GPModel(gp_coords=x, cov_function="gaussian_ard", likelihood="bernoulli_logit", seed=1)
    model.fit(y=y.copy(), X=np.ones((len(x), 1)))
    return model.predict(gp_coords_pred=new, X_pred=np.ones((len(new), 1)), predict_response=True)["mu"]


def gpflow_parts(x):
    import gpflow

    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.ones(x.shape[1]))
    return gpflow, dict(kernel=kernel, likelihood=gpflow.likelihoods.Bernoulli(), mean_function=gpflow.functions.Constant())


def gpflow_result(package, model, loss, new):
    package.optimizers.Scipy().minimize(loss, model.trainable_variables, options=dict(maxiter=1000))
    return model.predict_y(new)[0].numpy().ravel()


def gpflow_vgp(x, y, new):
    package, parts = gpflow_parts(x)
    model = package.models.VGP((x, y[:, None]), **parts)
    return gpflow_result(package, model, model.training_loss, new)


def gpflow_svgp(x, y, new):
    package, parts = gpflow_parts(x)
    knots = x[np.random.default_rng(1).permutation(len(x))[:KNOTS]].copy()
    model = package.models.SVGP(inducing_variable=knots, **parts)
    return gpflow_result(package, model, model.training_loss_closure((x, y[:, None])), new)


WAYS = {way.__name__: way for way in (oatgp, logistic, sklearn, gpboost, gpflow_vgp, gpflow_svgp)}


def now():
    return np.array([time.perf_counter(), time.process_time()])


def measure(way, x, y, options):
    """Probabilities of the held-out rows, NaN where the limit was reached before, and seconds of the clock and of the processor."""
    found, seconds = np.full(len(y), np.nan), np.zeros(2)
    for fitted, held in StratifiedKFold(options.folds, shuffle=True, random_state=options.seed).split(x, y):
        centre, scale = x[fitted].mean(axis=0), x[fitted].std(axis=0)
        rows, new = ((x[part] - centre) / scale for part in (fitted, held))
        began = now()
        found[held] = way(rows, y[fitted], new)
        seconds += now() - began
        if seconds[0] > options.limit:
            break
    return found, seconds


def show(name, found, y, seconds):
    done = ~np.isnan(found)
    p, truth = np.clip(found[done], LEAST, 1 - LEAST), y[done] > 0.5
    log_loss, accuracy = -np.mean(np.log(np.where(truth, p, 1 - p))), np.mean((p > 0.5) == truth)
    told = "" if done.all() else f" ({done.sum()} of {len(y)} rows)"
    print(f"| {name}{told} | {log_loss:.4f} | {accuracy:.4f} | {seconds[0]:.2f} | {seconds[1]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("ways", nargs="+", choices=WAYS)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600, help="seconds of a way")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = np.loadtxt(options.data, delimiter=",", skiprows=1)
    print("| | log loss | accuracy | seconds | of the processor |\n|---|---|---|---|---|", flush=True)
    for name in options.ways:
        WAYS[name](table[:40, :-1], table[:40, -1], table[:2, :-1])  # loads the package, which is not counted
        found, seconds = measure(WAYS[name], table[:, :-1], table[:, -1], options)
        show(name, found, table[:, -1], seconds)


if __name__ == "__main__":
    main()
