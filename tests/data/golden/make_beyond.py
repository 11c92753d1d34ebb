#!/usr/bin/env python3
"""Makes beyond.json: a tighter bound, likelihoods, kernel expressions, knots with neighbours. Needs numpy.

  python3 make_beyond.py           writes it again
  python3 make_beyond.py --check   writes nothing; says how far the file is from what would be written; fails if too far

Dense formulas on the inputs of make.py, gradients by complex steps. The jitter is relative and on Kuu alone. The bound
of a likelihood is at its optimum over q(u) = N(m, S), u whitened, where its gradient in m and S vanishes.
"""
import math
import sys

import numpy as np

from make import N, RESIDUAL, TEST, X, Y, Z, check, complex_step, correlation, log_normal, table, write

JITTER, SIGMA, TAU = 1e-6, 1.3, 0.25
K = len(Z)
BINARY, COUNTS = table("y_counts.csv").T
EXPOSURE = table("pois_exposure.csv")[:, 0]
TRIALS = COUNTS + 1 + np.arange(N) % 4
POSITIVE = np.exp(Y - 3.0)


def pack(parameters):
    return np.concatenate([np.ravel(value) for value in parameters.values()])


def unpack(parameters, packed):
    """The vector as a dict of the same shapes."""
    out, at = {}, 0
    for name, value in parameters.items():
        size = np.size(value)
        out[name] = packed[at : at + size].reshape(np.shape(value))
        at += size
    return out


def slopes(function, parameters):
    """Derivatives in every parameter, as lists."""
    packed = complex_step(lambda at: function(unpack(parameters, at)), pack(parameters))
    return {name: value.tolist() for name, value in unpack(parameters, packed).items()}


def start(lengthscales, **more):
    return {"log_sigma": math.log(SIGMA), **more, "log_lengthscales": np.log(lengthscales), "knots": Z}


def blocks(p, kind="se"):
    """sigma^2, Kuu with its jitter, Kuf and Q."""
    sigma2, lengthscale, z = np.exp(2 * p["log_sigma"]), np.exp(p["log_lengthscales"]), p["knots"]
    kuu = sigma2 * correlation(kind, z, z, lengthscale) + JITTER * sigma2 * np.eye(K)
    kuf = sigma2 * correlation(kind, z, X, lengthscale)
    return sigma2, kuu, kuf, kuf.T @ np.linalg.solve(kuu, kuf)


# ---- a tighter bound: vfe with -1/2 sum log(1 + g / noise) in place of the trace -----------------------------------


def bound(p, noise_scale, tight):
    sigma2, _, _, q = blocks(p)
    noise = np.exp(2 * p["log_tau"]) * noise_scale
    rest = (sigma2 - np.diag(q)) / noise
    return log_normal(RESIDUAL, q + np.diag(noise)) - (np.log(1 + rest) if tight else rest).sum() / 2


def tight_bounds():
    out = []
    for weights in (None, "0.5 + (row from 0) mod 3"):
        scale = np.ones(N) if weights is None else 1 / (0.5 + np.arange(N) % 3)
        for lengthscales in ([0.9, 0.9], [0.8, 1.4]):
            p = start(lengthscales, log_tau=math.log(TAU))
            record = {"approx": "tvfe", "kernel": "se-ard", "sigma": SIGMA, "tau": TAU, "lengthscales": lengthscales}
            record |= {"jitter": JITTER, "mean": Y.mean(), "weights": weights, "objective": bound(p, scale, True)}
            record |= {"vfe": bound(p, scale, False), "gradient": slopes(lambda at: bound(at, scale, True), p)}
            assert record["objective"] > record["vfe"]
            out.append(record)
    return out


# ---- likelihoods: log densities of f, one row a target -------------------------------------------------------------


def analytic(value, slope):
    """A real function of one argument for complex steps."""

    def function(x):
        x = np.asarray(x)
        real = np.vectorize(value)(x.real)
        return real + 1j * x.imag * np.vectorize(slope)(x.real) if np.iscomplexobj(x) else real

    return function


def digamma(x):
    shift = 0.0
    while x < 10:
        shift, x = shift - 1 / x, x + 1
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    return shift + math.log(x) - 0.5 / x - sum(b / x ** (2 * i + 2) for i, b in enumerate(terms))


def log_phi(x):
    return math.log(math.erfc(-x / math.sqrt(2)) / 2)


LGAMMA = analytic(math.lgamma, digamma)
LOG_PHI = analytic(log_phi, lambda x: math.exp(-x * x / 2 - log_phi(x)) / math.sqrt(2 * math.pi))


def softplus(x):
    """log(1 + exp(x))"""
    top = np.maximum(x.real, 0)
    return top + np.log(np.exp(x - top) + np.exp(-top))


def column(values):
    return np.asarray(values)[:, None]


def logit(f, _):
    return -softplus(-column(2 * BINARY - 1) * f)


def probit(f, _):
    return LOG_PHI(column(2 * BINARY - 1) * f)


def binomial(f, _):
    ways = LGAMMA(TRIALS + 1) - LGAMMA(COUNTS + 1) - LGAMMA(TRIALS - COUNTS + 1)
    return column(ways) + column(COUNTS) * f - column(TRIALS) * softplus(f)


def poisson(f, _):
    return column(COUNTS) * (f + column(np.log(EXPOSURE))) - column(EXPOSURE) * np.exp(f) - column(LGAMMA(COUNTS + 1))


def negative_binomial(f, p):
    """Mean e exp(f), variance mean + mean^2 / shape."""
    shape = np.exp(p["log_shape"])
    constant = LGAMMA(COUNTS + shape) - LGAMMA(shape) - LGAMMA(COUNTS + 1) + shape * np.log(shape)
    power = column(COUNTS) * (f + column(np.log(EXPOSURE)))
    return column(constant) + power - (column(COUNTS) + shape) * np.log(shape + column(EXPOSURE) * np.exp(f))


def gamma(f, p):
    """Mean exp(f)."""
    shape = np.exp(p["log_shape"])
    constant = shape * np.log(shape) - LGAMMA(shape) + (shape - 1) * np.log(POSITIVE)
    return column(constant) - shape * f - shape * column(POSITIVE) * np.exp(-f)


def student(f, p, nu=4.0):
    scale = np.exp(p["log_scale"])
    constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - np.log(scale)
    return constant - (nu + 1) / 2 * np.log(1 + ((column(Y) - f) / scale) ** 2 / nu)


LIKELIHOODS = {  # density, its parameters, a mean, the share of a step (the Student t is not log-concave)
    "bernoulli-logit": (logit, {}, 0.0, 1.0),
    "bernoulli-probit": (probit, {}, 0.0, 1.0),
    "binomial-logit": (binomial, {}, 0.0, 1.0),
    "poisson": (poisson, {}, 0.0, 1.0),
    "negative-binomial": (negative_binomial, {"log_shape": math.log(2.5)}, 0.0, 1.0),
    "gamma": (gamma, {"log_shape": math.log(3.0)}, 0.0, 1.0),
    "student-t": (student, {"log_scale": math.log(0.4)}, 3.4, 0.3),
}

# Equidistant nodes: for analytic functions their error falls as exp(-2 pi times the distance of the nearest singularity over the step).
# A hundred Gauss-Hermite nodes are not enough for student-t, whose singularities are 0.8 from the real line: they miss the bound by 3e-6.
NODES = np.linspace(-9, 9, 241)
WEIGHTS = np.exp(-NODES * NODES) * (NODES[1] - NODES[0])


def expectation(density, p, mean, variance):
    """Of every row's log density under N(mean, variance) of f."""
    f = mean[:, None] + np.sqrt(2 * variance)[:, None] * NODES
    return density(f, p) @ WEIGHTS / math.sqrt(math.pi)


def cholesky(a):
    """Lower factor L of a = L L^T, analytic in complex elements."""
    l = np.zeros_like(a)
    for j in range(len(a)):
        l[j, j] = np.sqrt(a[j, j] - l[j, :j] @ l[j, :j])
        l[j + 1 :, j] = (a[j + 1 :, j] - l[j + 1 :, :j] @ l[j, :j]) / l[j, j]
    return l


def whiten(p, points):
    """L^-1 k(knots, points), L the factor of Kuu."""
    sigma2, kuu, _, _ = blocks(p)
    kus = sigma2 * correlation("se", p["knots"], points, np.exp(p["log_lengthscales"]))
    return np.linalg.solve(cholesky(kuu), kus)


def marginals(p, v, m, s):
    """Mean (without the constant) and variance of f under q where V is v."""
    return v.T @ m, np.exp(2 * p["log_sigma"]) - (v * v).sum(0) + (v * (s @ v)).sum(0)


def likelihood_bound(density, p, m, s):
    mean, variance = marginals(p, whiten(p, X), m, s)
    divergence = (np.trace(s) + m @ m - K - np.linalg.slogdet(s)[1]) / 2
    return expectation(density, p, p["mean"] + mean, variance).sum() - divergence


def best_posterior(density, p, share):
    """Natural gradients on sites: q is the posterior of rows with precision l2 and target l1 / l2."""
    v, h = whiten(p, X), 1e-30
    l1, l2, m, s = np.zeros(N), np.full(N, 0.1), np.zeros(K), np.eye(K)
    for _ in range(2000):
        mean, variance = marginals(p, v, m, s)
        d_mean = expectation(density, p, p["mean"] + mean + 1j * h, variance).imag / h
        d_variance = expectation(density, p, p["mean"] + mean, variance + 1j * h).imag / h
        new1, new2 = d_mean - 2 * d_variance * mean, -2 * d_variance
        moved = np.abs(new1 - l1).max() + np.abs(new2 - l2).max()
        l1, l2 = (1 - share) * l1 + share * new1, (1 - share) * l2 + share * new2
        s = np.linalg.inv(np.eye(K) + (v * l2) @ v.T)
        m = s @ (v @ l1)
        if moved < 1e-12:
            return m, s
    raise ArithmeticError("the posterior does not settle")


def likelihoods():
    out = []
    for name, (density, own, base, share) in LIKELIHOODS.items():
        for mean, lengthscales in ((base + 0.3, [0.8, 1.4]), (base, [0.9, 0.9])):
            p = start(lengthscales) | own | {"mean": mean}
            m, s = best_posterior(density, p, share)
            f, variance = marginals(p, whiten(p, TEST), m, s)
            record = {"likelihood": name, "parameters": {key: math.exp(value) for key, value in own.items()}}
            record |= {"kernel": "se-ard", "sigma": SIGMA, "lengthscales": lengthscales, "mean": mean, "jitter": JITTER}
            record |= {"objective": likelihood_bound(density, p, m, s)}
            record |= {"gradient": slopes(lambda at, q=(m, s), d=density: likelihood_bound(d, at, *q), p)}
            record |= {"predict_latent_mean": list(mean + f), "predict_latent_variance": list(variance)}
            out.append(record)
    return out


# ---- kernel expressions: leaves on named inputs, sums and products -------------------------------------------------


def leaf(kind, a, b, lengthscale, *inputs):
    return correlation(kind, a[:, inputs], b[:, inputs], lengthscale)


def periodic(a, b, period, lengthscale):
    return np.exp(-2 * np.sin(math.pi * (a[:, :1] - b[:, :1].T) / period) ** 2 / lengthscale**2)


def linear(a, b, i):
    return a[:, [i]] @ b[:, [i]].T


EXPRESSIONS = {  # the covariance at parameters q, their values, what they are
    "se(x1) + matern52(x2)": (
        lambda q, a, b: q[0] ** 2 * leaf("se", a, b, q[1], 0) + q[2] ** 2 * leaf("matern52", a, b, q[3], 1),
        [1.3, 0.8, 0.7, 1.4],
        ["sigma of se", "lengthscale of se", "sigma of matern52", "lengthscale of matern52"],
    ),
    "se(x1) * se(x2)": (
        lambda q, a, b: q[0] ** 2 * leaf("se", a, b, q[1], 0) * leaf("se", a, b, q[2], 1),
        [1.3, 0.8, 1.4],
        ["sigma of the product", "lengthscale x1", "lengthscale x2"],
    ),
    "periodic(x1) * se(x1) + linear(x2)": (
        lambda q, a, b: q[0] ** 2 * periodic(a, b, q[1], q[2]) * leaf("se", a, b, q[3], 0)
        + q[4] ** 2 * linear(a, b, 1),
        [1.1, 1.7, 0.9, 2.5, 0.6],
        ["sigma of the product", "period", "lengthscale of periodic", "lengthscale of se", "sigma of linear"],
    ),
    "se(x1, x2) + constant": (
        lambda q, a, b: q[0] ** 2 * leaf("se", a, b, q[1:3], 0, 1) + q[3] ** 2,
        [1.3, 0.8, 1.4, 0.5],
        ["sigma of se", "lengthscale x1", "lengthscale x2", "sigma of constant"],
    ),
    "(se(x1) + linear(x1)) * matern52(x2)": (
        lambda q, a, b: (q[0] ** 2 * leaf("se", a, b, q[1], 0) + q[2] ** 2 * linear(a, b, 0))
        * leaf("matern52", a, b, q[3], 1),
        [1.3, 0.8, 0.4, 1.4],
        ["sigma of se", "lengthscale of se", "sigma of linear", "lengthscale of matern52 (its own scale is 1)"],
    ),
}


def expression_objective(p, covariance, approx):
    q, tau2, z = np.exp(p["log_parameters"]), np.exp(2 * p["log_tau"]), p["knots"]
    kff = covariance(q, X, X)
    if approx == "full":
        return log_normal(RESIDUAL, kff + tau2 * np.eye(N))
    kuu, kuf = covariance(q, z, z), covariance(q, z, X)
    kuu = kuu + JITTER * np.diag(kuu).mean() * np.eye(K)
    explained = kuf.T @ np.linalg.solve(kuu, kuf)
    rest = np.trace(kff) - np.trace(explained)
    return log_normal(RESIDUAL, explained + tau2 * np.eye(N)) - rest / (2 * tau2)


def expressions():
    out = []
    for text, (covariance, values, meaning) in EXPRESSIONS.items():
        for approx in ("full", "vfe"):
            p = {"log_parameters": np.log(values), "log_tau": math.log(TAU), "knots": Z}
            gradient = slopes(lambda at, c=covariance, a=approx: expression_objective(at, c, a), p)
            if approx == "full":
                gradient.pop("knots")
            record = {"kernel": text, "meaning": meaning, "parameters": values, "tau": TAU, "approx": approx}
            record |= {"jitter": JITTER, "jitter_times": "mean of diag K(Z, Z)"}
            out.append(record | {"objective": expression_objective(p, covariance, approx), "gradient": gradient})
    return out


# ---- knots and neighbours: a row given its nearest earlier rows, within what the knots leave of K ------------------


def nearest(points, count, lengthscale, earlier):
    """For each point the numbers of the nearest rows, in order; only of earlier ones, where the points are the rows."""
    distance = (((points[:, None, :] - X[None, :, :]) / lengthscale) ** 2).sum(-1)
    rows = [distance[i, :i] if earlier else distance[i] for i in range(len(points))]
    return [np.sort(np.argsort(row, kind="stable")[:count]) for row in rows]


def regress(inner, cross, rows):
    return np.linalg.solve(inner[np.ix_(rows, rows)], cross[rows]) if len(rows) > 0 else np.zeros(0)


def chain(p, kind, sets):
    """Q, what is left of K and the noise, the unit lower matrix of the regressions, the variances of their errors."""
    sigma2, _, _, q = blocks(p, kind)
    left = sigma2 * correlation(kind, X, X, np.exp(p["log_lengthscales"])) - q + np.exp(2 * p["log_tau"]) * np.eye(N)
    unit, errors = np.eye(N, dtype=left.dtype), np.diag(left).copy()
    for i, rows in enumerate(sets):
        b = regress(left, left[:, i], rows)
        unit[i, rows] -= b
        errors[i] -= b @ left[rows, i]
    return q, left, unit, errors


def neighbour_objective(p, kind, sets):
    q, _, unit, errors = chain(p, kind, sets)
    inverse = np.linalg.inv(unit)
    return log_normal(RESIDUAL, q + inverse @ np.diag(errors) @ inverse.T)


def neighbour_predictions(p, kind, count, sets):
    sigma2, kuu, kuf, _ = blocks(p, kind)
    _, left, unit, errors = chain(p, kind, sets)
    lengthscale = np.exp(p["log_lengthscales"])
    l = np.linalg.cholesky(kuu)
    v, vt = np.linalg.solve(l, kuf), np.linalg.solve(l, sigma2 * correlation(kind, p["knots"], TEST, lengthscale))
    w = v @ unit.T
    b = np.eye(K) + (w / errors) @ w.T
    e = np.linalg.solve(b, (w / errors) @ (unit @ RESIDUAL))
    cross = sigma2 * correlation(kind, X, TEST, lengthscale) - v.T @ vt
    mean, variance = [], []
    for t, rows in enumerate(nearest(TEST, count, lengthscale, False)):
        share = regress(left, cross[:, t], rows)
        u = vt[:, t] - v[:, rows] @ share
        mean.append(Y.mean() + u @ e + share @ RESIDUAL[rows])
        variance.append(sigma2 - vt[:, t] @ vt[:, t] - share @ cross[rows, t] + u @ np.linalg.solve(b, u))
    return mean, variance


def neighbours():
    out = []
    for kind in ("se", "matern52"):
        for count in (0, 5, 12, N - 1):
            p = start([0.8, 1.4], log_tau=math.log(TAU))
            sets = nearest(X, count, [0.8, 1.4], True)
            mean, variance = neighbour_predictions(p, kind, count, sets)
            record = {"approx": "fitc", "neighbours": count, "kernel": kind + "-ard", "sigma": SIGMA, "tau": TAU}
            record |= {"lengthscales": [0.8, 1.4], "jitter": JITTER, "mean": Y.mean()}
            record |= {"objective": neighbour_objective(p, kind, sets)}
            record |= {"gradient": slopes(lambda at, k=kind, n=sets: neighbour_objective(at, k, n), p)}
            out.append(record | {"predict_mean": mean, "predict_latent_variance": variance})
    return out


def main():
    made = {"neighbours": neighbours(), "tight": tight_bounds(), "likelihoods": likelihoods(), "kernels": expressions()}
    made["targets"] = {"binomial_trials": TRIALS.tolist(), "gamma_y": POSITIVE.tolist()}
    if "--check" in sys.argv:
        return 0 if check("beyond.json", made, 1e-8) else 1
    write("beyond.json", made, None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
