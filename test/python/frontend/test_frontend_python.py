"""Control flow, calls and tuples mean in a kernel what they mean in Python.

Each function below runs twice on the same integers: as ordinary Python, and inlined into a kernel.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw

OUTPUTS = 4
Pair = namedtuple("Pair", ["first", "second"])


@tw.jit
def evaluate(out, a, b, FUNCTION: tw.constexpr):
    results = FUNCTION(a, b)
    tw.static_assert(len(results) <= 4)
    for i in tw.static_range(len(results)):
        tw.store(out + i, results[i])


def early_returns(a, b):
    if a > 10:
        return a, 1
    if b > 10:
        if a > b:
            return b, 2
        b += 1
    elif a == 3:
        return a * b, 3
    return a + b, 4


def nested_branches(a, b):
    x = 0
    y = 1.5
    if a > 2:
        x = a
        if b > 2:
            y = 2
            x += 3
        else:
            x -= 1
    elif b > 4:
        x = 7
    else:
        y = y * 2
    return x, y


def break_and_continue(a, b):
    total = 0
    last = -1
    for i in range(a + 8):
        if i == b:
            continue
        total += i
        if total > 12:
            last = i
            break
        total += 1
    return total, last


def return_in_loop(a, b):
    for i in range(a + 3):
        for j in range(b + 2):
            if i * j > 3:
                return i, j
    return -1, -2


def return_in_while(a, b):
    n = a
    while True:
        n += 2
        if n > b + 6:
            return n, 1


def break_of_the_inner_loop(a, b):
    count = 0
    for i in range(4):
        j = 0
        while j < 10:
            j += 1
            if j > a:
                break
            count += j
        count += 100
    return (count,)


def downwards(a, b):
    total = 0
    weight = 1
    for i in range(a + 5, b, -2):
        total += i * weight
        weight += 1
    return total, weight


def run_time_steps(a, b):
    step = b - 3
    total = 0
    count = 0
    if step != 0:
        for i in range(a, a + 9, step):
            total += i
            count += 1
        for i in range(a + 9, a, step):
            total += 2 * i
            count += 10
    return total, count


def carried_tuples(a, b):
    state = (0, 1)
    history = (a, (b, 0.5))
    for i in range(a + 4):
        state = state[1], state[0] + state[1]
        history = (history[0] + 1, (history[1][0], history[1][1] * 2))
    x, (y, z) = history
    return state[0], x, y, z


def collatz(a, b):
    n, steps = a + b + 1, 0
    while n != 1 and steps < 60:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
    return n, steps


def unrolled_with_break(a, b):
    total = 0
    for i, weight in enumerate((5, 7, 11)):
        if a + i > 4:
            break
        total += weight
        if total == 12:
            continue
        total += 100
    return (total,)


def conditional_expressions(a, b):
    small = a if a < b else b
    sign = 1 if a > b else -1 if a < b else 0
    ok = 1 if (a > 1 and b > 1) or not a else 0
    chain = 1 if 0 < a <= b < 9 else 0
    return small, sign, ok, chain


def helper(x, *rest, scale=2, offset=0):
    total = x
    for value in rest:
        total += value
    if total > 20:
        return total
    return total * scale + offset


def calls(a, b):
    both = (a, b)
    return helper(a), helper(a, b, scale=3), helper(*both, offset=a), helper(x=b)


def closures(a, b):
    def shifted(x):
        return x + a

    twice = lambda f, x: f(f(x))  # noqa: E731
    a = a + 1
    return twice(shifted, b), shifted(0)


def star_unpacking(a, b):
    first, *middle, last = (a, b, 3, 4)
    values = [x * 2 for x in (a, *middle) if True]
    return first, last, sum(values), len(values)


def walrus(a, b):
    n = a
    count = 0
    while (n := n + 3) < 20:
        count += n
    if (m := n - b) > 4:
        count += m
    return n, count, m


def named_tuples(a, b):
    pair = Pair(a, second=b + 1)
    if a > b:
        pair = Pair(pair.second, pair.first)
    return pair.first, pair.second, pair[0]


def minimum_and_maximum(a, b):
    return min(a, b, 4), max(a, b), abs(a - b), int(float(a) / 2.0)


def names_of_one_path(a, b):
    if a > b:
        only = a
        b = only
    for only in range(3):
        b += only
    return (b,)


def deep_jumps(a, b):
    found = 0
    for i in range(6):
        if i < a:
            if i == b:
                found = 50
                break
            elif i == 2:
                continue
        for k in (1, 2):
            if found > 9:
                return found, i, k
            found += k
    return found, -1, -1


FUNCTIONS: list[Callable[..., tuple[float, ...]]] = [
    early_returns,
    nested_branches,
    break_and_continue,
    return_in_loop,
    return_in_while,
    break_of_the_inner_loop,
    downwards,
    run_time_steps,
    carried_tuples,
    collatz,
    unrolled_with_break,
    conditional_expressions,
    calls,
    closures,
    star_unpacking,
    walrus,
    named_tuples,
    minimum_and_maximum,
    names_of_one_path,
    deep_jumps,
]


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_kernel_means_what_python_means(
    function: Callable[..., tuple[float, ...]], device: str
) -> None:
    for a, b in [(0, 0), (1, 5), (2, 1), (3, 4), (5, 3), (12, 2), (4, 15), (16, 13)]:
        expected = function(a, b)
        out = np.full(OUTPUTS, -777.0)
        with tw.device(device):
            evaluate[(1,)](out, a, b, FUNCTION=function)
        assert out[: len(expected)].tolist() == [float(x) for x in expected], (a, b)
        assert (out[len(expected) :] == -777.0).all()
