"""Kernels built in Python: each is an expression (docs/kernels.md), and prints as one.

>>> from oatgp.kernels import SE, Linear, Periodic
>>> SE("time") + Periodic("time") * SE("time")
se(time) + periodic(time) * se(time)
>>> (SE("a") + Linear("a")) * SE("mean rain") ** 2
(se(a) + linear(a)) * se("mean rain")^2

>>> SE("a") * 2
Traceback (most recent call last):
TypeError: a kernel can only be joined with kernels, and 2 is not one; each summand has a sigma of its own, and Constant() is a level

``kernel=`` accepts them wherever it accepts a text. A leaf without inputs uses all numeric inputs.
In the formulas s is the sum of ((x - z) / lengthscale)^2 over the leaf's inputs, and r = sqrt(s).
"""

from __future__ import annotations

import operator
import re
from typing import Any

__all__ = [
    "Categorical",
    "Constant",
    "Cosine",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "RQ",
    "SE",
]

#: How tightly the parts of an expression hold together.
_SUM, _PRODUCT, _POWER, _LEAF = range(4)


def _quoted(name: str) -> str:
    """An input as an expression names it: in quotes if it has blanks or one of ( ) , + * ^ ", or begins as a number."""
    if not isinstance(name, str):
        raise TypeError(f"an input of a kernel is given by its name, and {name!r} is not a name; the inputs of arrays are 'x1', 'x2', ...")
    return '"' + name.replace('"', '""') + '"' if re.search(r'^[0-9.]|[\s(),+*^"]', name) else name


def _is_power(number: Any) -> bool:
    return hasattr(number, "__index__") and 1 <= operator.index(number) <= 9


class Kernel:
    """An expression of kernels, joined by ``+``, ``*`` and ``**`` (1 to 9). Made from the leaves of this module."""

    def __init__(self, text: str, rank: int = _SUM) -> None:
        self._text, self._rank = text, rank

    def _within(self, rank: int) -> str:
        """The text as a part of an expression of this precedence."""
        return self._text if self._rank >= rank else f"({self._text})"

    def __add__(self, other: "Kernel") -> "Kernel":
        return Kernel(f"{self} + {_kernel(other)}", _SUM)

    def __mul__(self, other: "Kernel") -> "Kernel":
        return Kernel(f"{self._within(_PRODUCT)} * {_kernel(other)._within(_PRODUCT)}", _PRODUCT)

    # sum() and math.prod() begin with 0 and 1, which are ignored; anything else on the left is not a kernel

    def __radd__(self, other: Any) -> "Kernel":
        return self if isinstance(other, int) and other == 0 else _kernel(other)

    def __rmul__(self, other: Any) -> "Kernel":
        return self if isinstance(other, int) and other == 1 else _kernel(other)

    def __pow__(self, power: int) -> "Kernel":
        if not _is_power(power):
            raise ValueError(f"a kernel to the power {power!r}: the power is a whole number from 1 to 9")
        return Kernel(f"{self._within(_LEAF)}^{operator.index(power)}", _POWER)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def _kernel(other: Any) -> Kernel:
    if isinstance(other, Kernel):
        return other
    advice = "make it one of the classes of oatgp.kernels" if isinstance(other, str) else "each summand has a sigma of its own, and Constant() is a level"
    raise TypeError(f"a kernel can only be joined with kernels, and {other!r} is not one; {advice}")


class _Leaf(Kernel):
    """A leaf of the grammar, with the name of the class."""

    def __init__(self, *inputs: str) -> None:
        super().__init__(f"{type(self).__name__.lower()}({', '.join(map(_quoted, inputs))})", _LEAF)


class _LeafOfOne(_Leaf):
    def __init__(self, input: str) -> None:
        super().__init__(input)


class SE(_Leaf):
    """Squared exponential, exp(-s / 2): smooth functions."""


class Matern12(_Leaf):
    """exp(-r): continuous functions, like a random walk."""


class Matern32(_Leaf):
    """(1 + sqrt(3) r) exp(-sqrt(3) r): functions with one derivative."""


class Matern52(_Leaf):
    """(1 + sqrt(5) r + 5 s / 3) exp(-sqrt(5) r): functions with two derivatives."""


class RQ(_Leaf):
    """Rational quadratic, (1 + s / (2 shape))^-shape: waves of many lengths."""


class Periodic(_LeafOfOne):
    """exp(-2 sin^2(pi (x - z) / period) / lengthscale^2): functions of one input that repeat themselves."""


class Cosine(_LeafOfOne):
    """cos(2 pi (x - z) / period): one wave along one input."""


class Linear(_Leaf):
    """Sum of x_j z_j: planes through the centre of the data."""


class Polynomial(_Leaf):
    """(offset + sum of x_j z_j)^degree, with a degree from 1 to 9: polynomials.

    >>> Polynomial("a", "b", degree=3)
    polynomial(a, b, 3)
    """

    def __init__(self, *inputs: str, degree: int) -> None:
        if not _is_power(degree):
            raise ValueError(f"the degree of a polynomial is {degree!r} but must be a whole number from 1 to 9")
        Kernel.__init__(self, f"polynomial({', '.join([*map(_quoted, inputs), str(operator.index(degree))])})", _LEAF)


class Constant(Kernel):
    """1: a level."""

    def __init__(self) -> None:
        super().__init__("constant", _LEAF)


class Categorical(_LeafOfOne):
    """1 for equal levels, else exp(-1 / lengthscale): a level for each category of one input."""
