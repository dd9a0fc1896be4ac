"""Prints tick steps as Python: for Numba, and as it is for the interpreter.

The function that comes out has the fixed arguments

    start, stop, skip    rows to do; arms of the first row that were done before a trap
    selector, row, at    per row: which arm, which row of its stream's columns, its instant
    filled               buckets in use, per store
    out, used            output so far: columns, NULL marks, weight and instant of each row

and returns `(place, arm, out, used)`: `place == stop`, or the row and the arm at which a number
would have passed 64 bits, with nothing of that arm done.
"""

from __future__ import annotations

from collections.abc import Iterable

from millpond.program.expression import (
    Arith,
    At,
    Compare,
    Condition,
    Field,
    Greatest,
    Int,
    Least,
    Local,
    Number,
)
from millpond.program.tick import (
    AddTo,
    AnyOf,
    Arm,
    Digit,
    Emit,
    Grow,
    Held,
    Kernel,
    Put,
    Range,
    Scale,
    Set,
    Step,
    Times,
    When,
)

FIXED = ("start", "stop", "skip", "selector", "row", "at", "filled", "out", "used")
_LARGEST = 2**63 - 1


def python_of(kernel: Kernel, *, trapping: bool = True) -> str:
    """The source of the function; without traps for integers of any size."""
    return "\n".join(_Printer(trapping=trapping).kernel(kernel)) + "\n"


class _Printer:
    def __init__(self, *, trapping: bool) -> None:
        self._trapping = trapping
        self._arm = 0

    def kernel(self, kernel: Kernel) -> list[str]:
        lines = [
            f"def {kernel.name}({', '.join((*FIXED, *kernel.arrays))}):",
            "    for i in range(start, stop):",
            "        s = selector[i]",
            "        r = row[i]",
        ]
        for number, arm in enumerate(kernel.arms):
            self._arm = number
            lines += self._arm_lines(arm, kernel)
        lines.append("        skip = 0")
        lines.append("    return stop, 0, out, used")
        return lines

    def _arm_lines(self, arm: Arm, kernel: Kernel) -> list[str]:
        body = [line for step in arm.body for line in self._step(step)]
        return [
            f"        if s == {arm.selector} and skip <= {self._arm}:",
            "            before = used",
            *("            " + line for line in body or ["pass"]),
        ]

    def _block(self, steps: Iterable[Step]) -> list[str]:
        lines = ["    " + line for step in steps for line in self._step(step)]
        return lines or ["    pass"]

    def _step(self, step: Step) -> list[str]:
        match step:
            case Set(name, value):
                return [f"{name} = {number(value)}"]
            case Put(array, index, value):
                return [f"{array}[{number(index)}] = {number(value)}"]
            case When(conditions, body):
                if not conditions:
                    return [line for each in body for line in self._step(each)]
                tests = " and ".join(condition(each) for each in conditions)
                return [f"if {tests}:", *self._block(body)]
            case AnyOf(conditions, body):
                tests = " or ".join(condition(each) for each in conditions)
                return [f"if {tests}:", *self._block(body)]
            case Range(name, low, high, body):
                head = f"for {name} in range({number(low)}, {number(high)} + 1):"
                return [head, *self._block(body)]
            case Held(name, array, body):
                return [f"for {name} in list({array}):", *self._block(body)]
            case Digit(target, place, stride, size, low):
                digit = number(place) if stride == 1 else f"{number(place)} // {stride}"
                return [f"{target} = {digit} % {size} + {low}"]
            case Times(target, factor):
                by = number(factor)
                check = [f"if {target} > {_LARGEST} // {by}:", *self._trap()]
                return [*(check if self._trapping else []), f"{target} *= {by}"]
            case Scale(target, factor):
                return self._scale(target, number(factor))
            case Grow(target, amount):
                return self._grow(target, number(amount))
            case AddTo(array, index, amount):
                element, by = f"{array}[{number(index)}]", number(amount)
                check = [f"if {element} > {_LARGEST} - {by}:", *self._trap()]
                return [*(check if self._trapping else []), f"{element} += {by}"]
            case Emit():
                return self._emit(step)

    def _scale(self, target: str, by: str) -> list[str]:
        far = f"{by} > {_LARGEST} // abs({target}) or {by} < -({_LARGEST} // abs({target}))"
        check = [f"if {target} != 0 and ({far}):", *self._trap()]
        return [*(check if self._trapping else []), f"{target} = {target} * {by}"]

    def _grow(self, target: str, by: str) -> list[str]:
        above = f"{by} > 0 and {target} > {_LARGEST} - {by}"
        below = f"{by} < 0 and {target} < -{_LARGEST} - {by}"
        check = [f"if ({above}) or ({below}):", *self._trap()]
        return [*(check if self._trapping else []), f"{target} = {target} + {by}"]

    def _trap(self) -> list[str]:
        return [f"    return i, {self._arm}, out, before"]

    def _emit(self, step: Emit) -> list[str]:
        lines = ["if used == len(out):", "    out = grow(out)"]
        values = [
            *(number(each) for each in step.columns),
            *(
                str(int(each)) if isinstance(each, bool) else f"1 if {condition(each)} else 0"
                for each in step.nulls
            ),
            number(step.weight),
            "at[i]",
        ]
        lines += [f"out[used, {at}] = {each}" for at, each in enumerate(values)]
        return [*lines, "used += 1"]


def number(expression: Number) -> str:
    """A number as Python."""
    match expression:
        case Int(value):
            return str(value) if value >= 0 else f"({value})"
        case Local(name):
            return name
        case At(array, index):
            return f"{array}[{number(index)}]"
        case Arith(op, left, right):
            return f"({number(left)} {op} {number(right)})"
        case Greatest(operands):
            return f"max({', '.join(number(each) for each in operands)})"
        case Least(operands):
            return f"min({', '.join(number(each) for each in operands)})"
        case Field():
            raise TypeError(f"{expression} is no number of a tick step")


def condition(expression: Condition) -> str:
    """A condition as Python."""
    if isinstance(expression, Compare):
        return f"{number(expression.left)} {expression.op} {number(expression.right)}"
    raise TypeError(f"{expression} is no condition of a tick step")
