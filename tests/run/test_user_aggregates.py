"""Users' aggregates by definition: what they give, and what is said of code that is wrong."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.harness import Done, millpond

from millpond.language import read_file
from millpond.plan.user_code import UserFunction, loaded
from millpond.schema import Value

CODE = '''
import datetime
import decimal


class GeoMean:
    def init(self):
        return 0, 1.0
    def step(self, state, value):
        return state[0] + 1, state[1] * value
    def merge(self, one, other):
        return one[0] + other[0], one[1] * other[1]
    def final(self, state):
        return state[1] ** (1 / state[0]) if state[0] else None


class Longest:
    """A state that changes in place, and methods that need no object."""

    @staticmethod
    def init():
        return []
    @staticmethod
    def step(state, value):
        state.append(value)
        return state
    @staticmethod
    def merge(one, other):
        return one + other
    @classmethod
    def final(cls, state):
        return max(state, key=lambda each: (len(each), each), default="")


class Next:
    def init(self):
        return None
    def step(self, state, value):
        return value if state is None else max(state, value)
    def merge(self, one, other):
        return max((x for x in (one, other) if x is not None), default=None)
    def final(self, state):
        return None if state is None else state + datetime.timedelta(days=1)


class Cents:
    def init(self):
        return decimal.Decimal(0)
    def step(self, state, value):
        assert isinstance(value, decimal.Decimal)
        return state + value
    def merge(self, one, other):
        return one + other
    def final(self, state):
        return state


class Shelf:
    cents = Cents()
'''

DDL = """
CREATE STREAM s (k INT CHECK (k BETWEEN 1 AND 3), x DOUBLE, t VARCHAR, d DATE, m DECIMAL(9, 2));
CREATE AGGREGATE geomean (x DOUBLE) RETURNS DOUBLE LANGUAGE python AS 'lib.code:GeoMean'
  WITH (class = 'algebraic', duplicates = 'sensitive', units = 2);
CREATE AGGREGATE longest (x VARCHAR) RETURNS VARCHAR(9) AS 'lib.code:Longest'
  WITH (class = 'holistic', duplicates = 'insensitive');
CREATE AGGREGATE next_day (x DATE) RETURNS DATE AS 'lib.code:Next'
  WITH (class = 'distributive', duplicates = 'insensitive');
CREATE AGGREGATE next_time (x TIMESTAMP) RETURNS TIMESTAMP AS 'lib.code:Next'
  WITH (class = 'distributive', duplicates = 'insensitive');
CREATE AGGREGATE cents (x DECIMAL(9, 2)) RETURNS DECIMAL(12, 2) AS 'lib.code:Shelf.cents'
  WITH (class = 'distributive', duplicates = 'sensitive');
"""

ROWS = """\
{"s": {"k": 1, "x": 2.0, "t": "aa", "d": "2026-01-31", "m": "1.50"}}
{"s": {"k": 1, "x": 8.0, "t": "b", "d": null, "m": "2.25"}}
{"s": {"k": 2, "x": null, "t": "ccc", "d": "2026-02-27", "m": null}}
{"s": {"k": 1, "x": 8.0, "t": null, "d": "2025-12-31", "m": "0.25"}}
"""


def folder(root: Path, code: str = CODE, name: str = "lib") -> Path:
    """A folder with a package in it, and the rows."""
    (root / name).mkdir(parents=True)
    (root / name / "__init__.py").write_text("")
    (root / name / "code.py").write_text(dedent(code))
    (root / "rows.jsonl").write_text(ROWS)
    return root


def run(root: Path, query: str, *options: str, ddl: str = DDL) -> Done:
    path = root / "q.sql"
    path.write_text(f"{ddl}{query};\n")
    rows = root / "rows.jsonl"
    return millpond("run", path, "--engine", "definition", "--input", rows, *options)


def final(root: Path, query: str) -> list[dict[str, Value]]:
    done = run(root, query, "--emit", "final")
    assert done.code == 0, done.err
    return [each["row"] for each in done.lines]


def test_changes_are_those_of_the_function_over_each_group(tmp_path: Path) -> None:
    done = run(folder(tmp_path), "SELECT k, geomean(x) AS g FROM s GROUP BY k")
    assert [(each["op"], each["row"]["g"], each["at"]) for each in done.lines] == [
        ("+", 2.0, 1), ("-", 2.0, 2), ("+", 4.0, 2), ("+", None, 3), ("-", 4.0, 4),
        ("+", pytest.approx(128 ** (1 / 3)), 4),
    ]  # fmt: skip


def test_distinct_filter_and_values_of_every_type(tmp_path: Path) -> None:
    root = folder(tmp_path)
    assert final(root, "SELECT geomean(DISTINCT x) FROM s") == [{"geomean": 4.0}]
    assert final(root, "SELECT geomean(x) FILTER (WHERE x > 5) AS g FROM s") == [{"g": 8.0}]
    assert final(root, "SELECT geomean(k) AS g FROM s WHERE k = 2") == [{"g": 2.0}]
    assert final(root, "SELECT k, longest(t) AS t FROM s GROUP BY k") == [
        {"k": 1, "t": "aa"}, {"k": 2, "t": "ccc"},
    ]  # fmt: skip
    assert final(root, "SELECT next_day(d) AS d FROM s") == [{"d": "2026-02-28"}]
    moment = final(root, "SELECT next_time(CAST(d AS TIMESTAMP)) AS d FROM s")
    assert moment == [{"d": "2026-02-28T00:00:00Z"}]
    assert final(root, "SELECT cents(m) AS m FROM s HAVING cents(m) > 1") == [{"m": "4.00"}]


def test_over_no_values_it_is_the_final_of_init(tmp_path: Path) -> None:
    query = "SELECT longest(t) AS t, geomean(x) AS g FROM s WHERE k = 3"
    assert final(folder(tmp_path), query) == [{"t": "", "g": None}]


def test_the_folder_of_the_file_comes_first(tmp_path: Path) -> None:
    one = folder(tmp_path / "one")
    other = folder(tmp_path / "other", CODE.replace('default=""', 'default="other"'))
    query = "SELECT longest(t) AS t FROM s WHERE k = 3"
    for _ in range(2):
        assert final(one, query) == [{"t": ""}]
        assert final(other, query) == [{"t": "other"}]


def test_a_module_of_the_same_name_as_one_of_pythons_does_not_take_its_place(
    tmp_path: Path,
) -> None:
    import json

    root = folder(tmp_path, name="json")
    query = "SELECT longest(t) AS t FROM s WHERE k = 3"
    done = run(root, query, "--emit", "final", ddl=DDL.replace("lib.code", "json.code"))
    assert (done.code, done.lines) == (0, [{"row": {"t": ""}, "n": 1}]), done.err
    assert sys.modules["json"] is json
    assert "json.code" not in sys.modules
    assert str(root) not in sys.path


# The law of merge --------------------------------------------------------------------------------


def by_parts(function: UserFunction, values: list[Value], rng: random.Random) -> Value:
    """The function of values that are split at random, stepped and merged in any order."""
    states = []
    rng.shuffle(values)
    for part in range(rng.randint(1, 4)):
        state = function.init()
        for each in values[part::4]:
            state = function.step(state, each)
        states.append(state)
    for part in range(len(states), 4):
        for each in values[part::4]:
            place = rng.randrange(len(states))
            states[place] = function.step(states[place], each)
    while len(states) > 1:
        rng.shuffle(states)
        states.append(function.merge(states.pop(), states.pop()))
    return function.final(states[0])


@pytest.mark.parametrize("seed", range(30))
def test_final_of_merged_parts_is_that_of_the_whole(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    root = folder(tmp_path)
    (root / "q.sql").write_text(DDL)
    catalog = read_file(str(root / "q.sql")).catalog
    texts: list[Value] = ["a", "bb", "cc", "ddd"]
    drawn: dict[str, list[Value]] = {
        "geomean": [rng.choice((0.5, 1.0, 2.0, 4.0)) for _ in range(rng.randint(0, 9))],
        "longest": [rng.choice(texts) for _ in range(rng.randint(0, 9))],
        "next_day": [rng.randint(0, 20_000) for _ in range(rng.randint(0, 9))],
    }
    for name, values in drawn.items():
        declared = catalog.aggregate(name)
        assert declared is not None
        function = loaded(declared)
        whole = function.compute(list(values))
        parts = by_parts(function, list(values), rng)
        same = parts == whole or (
            isinstance(whole, float) and isinstance(parts, float) and math.isclose(parts, whole)
        )
        assert same, (name, values)


# Code that is wrong ------------------------------------------------------------------------------

METHODS = """
class F:
    def init(self): {init}
    def step(self, state, value): {step}
    def merge(self, one, other): return one
    def final(self, state): {final}
"""
OF = (
    "CREATE STREAM s (k INT CHECK (k BETWEEN 1 AND 3), x DOUBLE, t VARCHAR, d DATE, "
    "m DECIMAL(9, 2)); CREATE AGGREGATE f (x INT) RETURNS {} AS '{}' "
    "WITH (class = 'holistic', duplicates = 'sensitive');\n"
)


def methods(init: str = "return 0", step: str = "return state", final: str = "return state") -> str:
    return METHODS.format(init=init, step=step, final=final)


@pytest.mark.parametrize(
    ("code", "source", "message", "hint"),
    [
        pytest.param("", "lbi.code:F", "no module `lbi`", "beside the file", id="no module"),
        pytest.param("", "lib.cod:F", "no module `lib.cod`", "beside the file", id="no submodule"),
        pytest.param("", "lib.code:F", "`lib.code` has no `F`", "", id="nothing in it"),
        pytest.param("class G: pass", "lib.code:Ff.g", "no `Ff.g`", "`G`", id="not that in it"),
        pytest.param("import nowhere", "lib.code:F", "ModuleNotFoundError", "", id="its import"),
        pytest.param("x = 1 / 0", "lib.code:F", "ZeroDivisionError", "", id="fails"),
        pytest.param("def f(:", "lib.code:F", "SyntaxError", "", id="is no Python"),
        pytest.param("raise SystemExit", "lib.code:F", "SystemExit", "", id="leaves"),
        pytest.param("class F: pass", "lib.code:F", "`F` has no `init`, `step`, `merge`, `final`",
                     "final(state)", id="no methods"),
        pytest.param("class F:\n def __init__(self, a): pass", "lib.code:F", "`F()` failed",
                     "without arguments", id="cannot be made"),
    ],
)  # fmt: skip
def test_code_that_cannot_be_loaded_is_said(
    code: str, source: str, message: str, hint: str, tmp_path: Path
) -> None:
    root = folder(tmp_path, code)
    done = run(root, "SELECT f(k) FROM s", ddl=OF.format("INT", source))
    assert (done.code, done.codes) == (2, ["MP316"]), done.err
    assert message in done.err
    assert hint in done.err
    assert "q.sql:1:" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("code", "returns", "message", "hint"),
    [
        (methods(init="return 1 / 0"), "INT", "`f` failed in init: ZeroDivisionError", "line 3"),
        (methods(step="state.append(value)"), "INT", "in step: AttributeError", "line 4"),
        (methods(init="pass", step="state.x"), "INT", "in step: AttributeError", "state"),
        (methods(final="raise SystemExit(3)"), "INT", "in final: SystemExit", "line 6"),
        (methods(final="return len(1, 2)"), "INT", "in final: TypeError", "line 6"),
        (methods(final="return f'{1}'"), "INT", "gave '1', and it returns INT", "an int"),
        (methods(final="return 1.5"), "INT", "gave 1.5", "an int"),
        (methods(final="return True"), "INT", "gave True", "an int"),
        (methods(final="return 10 ** 12"), "INT", "gave 1000000000000", "fits"),
        (methods(final="return float('nan')"), "DOUBLE", "gave nan", "finite"),
        (methods(final="return 10 ** 400"), "DOUBLE", "gave 1000", "finite"),
        (methods(final="return 1"), "BOOLEAN", "gave 1", "True"),
        (methods(final="return 'abcd'"), "VARCHAR(3)", "gave 'abcd'", "a str"),
        (methods(final="return 'z'"), "ENUM('x', 'y')", "gave 'z'", "a str"),
        (methods(final="return 'NaN'"), "DECIMAL(4, 2)", "gave 'NaN'", "a Decimal"),
        (methods(final="return 100"), "DECIMAL(4, 2)", "gave 100", "a Decimal"),
        (methods(final="return '2026-01-01'"), "DATE", "gave '2026", "datetime.date"),
        (methods(final="return 5"), "TIMESTAMP", "gave 5", "datetime.datetime"),
    ],
)
def test_code_that_fails_is_said_with_its_place(
    code: str, returns: str, message: str, hint: str, tmp_path: Path
) -> None:
    root = folder(tmp_path, code)
    done = run(root, "SELECT f(k) FROM s", ddl=OF.format(returns, "lib.code:F"))
    assert (done.code, done.codes) == (2, ["MP315"]), done.err
    assert message in done.err
    assert hint in done.err
    assert "q.sql:2:8" in done.err
    assert "Traceback" not in done.err


def test_instants_before_a_failure_are_printed(tmp_path: Path) -> None:
    root = folder(tmp_path, methods(step="return state + 1 // (value - 2)"))
    done = run(root, "SELECT k, f(k) AS f FROM s GROUP BY k", ddl=OF.format("INT", "lib.code:F"))
    assert [each["at"] for each in done.lines] == [1, 2, 2]
    assert done.codes == ["MP315"]
