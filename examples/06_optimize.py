"""Minimises a function that takes long to evaluate, and asks which inputs it varies with."""

import math

import oatgp


def experiment(x):  # stands for a simulator; its least value is 0.397887
    a, b = x
    return (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10


bounds = [(-5, 10), (0, 15)]

# in one line
found = oatgp.optimize(experiment, bounds, evaluations=30, seed=1)
print(f"one by one: {found.y:.3f} after {len(found.values)} evaluations")

# by hand, four at a time, as if they ran side by side
optimizer = oatgp.Optimizer(bounds, seed=1)
for _ in range(8):
    points = optimizer.ask(4)
    optimizer.tell(points, [experiment(x) for x in points])
print(f"in batches: {optimizer.best.y:.2f} after {len(optimizer.best.values)} evaluations")

# which input matters: a search looks at one corner, so this takes points that are spread out
points = oatgp.Optimizer(bounds, initial=30, seed=1).ask(30)
model = oatgp.fit(points, [experiment(x) for x in points], approx="full")
indices = model.sensitivity(seed=1)
print(f"the first input has a part in {indices.total['x1']:.1f} of the variance, the second in {indices.total['x2']:.1f}")
