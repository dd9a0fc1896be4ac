"""One plan of each kind of node, and the streams and tables that they read."""

from __future__ import annotations

from millpond.plan import (
    Aggregate,
    AggregateCall,
    Alias,
    Assign,
    Assigned,
    Call,
    Cast,
    Change,
    Changes,
    ColumnRef,
    Comparison,
    Cross,
    Difference,
    Distinct,
    Expression,
    Extent,
    Filter,
    Intersect,
    Is,
    Item,
    Join,
    Literal,
    Node,
    Not,
    Operator,
    Project,
    Results,
    Scan,
    SemiJoin,
    Side,
    Union,
    Window,
    WindowFunction,
    WindowSpec,
)
from millpond.schema import (
    BIGINT,
    DOUBLE,
    HUGEINT,
    INT,
    TIMESTAMP,
    VARCHAR,
    Column,
    Form,
    Stream,
    Time,
    Type,
)

MINUTE = 60_000_000

S = Stream(
    "s",
    (Column("a", INT), Column("b", BIGINT), Column("k", VARCHAR), Column("ts", BIGINT, False)),
    time=Time("ts", delay=2),
)
T = Stream("t", (Column("d", INT), Column("ts", TIMESTAMP, False)), time=Time("ts", 5_000_000))
U = Stream("u", (Column("a", INT), Column("x", DOUBLE)))
P = Stream(
    "p", (Column("a", INT), Column("x", DOUBLE), Column("ts", BIGINT, False)), time=Time("ts")
)
R = Stream("r", (Column("k", VARCHAR), Column("name", VARCHAR)), form=Form.TABLE)

s, t, u, p, r = (Scan(each, each.name) for each in (S, T, U, P, R))


def ref(text: str, type_: Type = INT, nullable: bool = True) -> ColumnRef:
    """A column by `alias.name`, or by its name alone."""
    alias, _, name = text.rpartition(".")
    return ColumnRef(alias or None, name, type_, nullable)


def eq(left: Expression, right: Expression) -> Comparison:
    return Comparison(Operator.EQ, left, right)


def more(left: Expression, value: int) -> Comparison:
    return Comparison(Operator.GT, left, Literal(value, INT))


def project(node: Node, **items: Expression) -> Project:
    return Project(node, tuple(Item(each, name) for name, each in items.items()))


def windowed(scan: Node, extent: Extent = Extent.RANGE, size: int | None = 10) -> Window:
    return Window(scan, WindowSpec(extent, size))


COUNT = AggregateCall("COUNT", None, False, "count", HUGEINT)
SUM = AggregateCall("SUM", ref("s.b", BIGINT), True, "sum", HUGEINT, more(ref("s.a"), 1))
A = project(s, a=ref("s.a"))
OTHER = project(p, a=ref("p.a"))
INTERNAL = Window(s, WindowSpec(Extent.RANGE, 10, internal=True))

PLANS: dict[str, Node] = {
    "scan": project(s, a=ref("s.a")),
    "scan with an alias": project(Scan(S, "x"), b=ref("x.a")),
    "range": project(windowed(s), a=ref("s.a")),
    "range of time": project(
        Window(Scan(T, "v"), WindowSpec(Extent.RANGE, 10 * MINUTE, 1_500_000)), d=ref("v.d")
    ),
    "rows": project(
        Window(s, WindowSpec(Extent.ROWS, 5, 2, partition=("k",))), k=ref("s.k", VARCHAR)
    ),
    "unbounded": project(windowed(u, Extent.UNBOUNDED, None), a=ref("u.a")),
    "internal": project(INTERNAL, a=ref("s.a")),
    "tumble": project(
        Assign(s, WindowFunction(Assigned.TUMBLE, 10, 10)), e=ref("s.window_end", BIGINT, False)
    ),
    "hop": project(
        Assign(Scan(T, "h"), WindowFunction(Assigned.HOP, 2 * MINUTE, MINUTE)), d=ref("h.d")
    ),
    "session": project(
        Assign(s, WindowFunction(Assigned.SESSION, 5, 5, ("k",), close=False)), a=ref("s.a")
    ),
    "filter": project(
        Filter(s, (more(ref("s.a"), 5), Not(Is(ref("s.k", VARCHAR), None)))), a=ref("s.a")
    ),
    "cross": project(
        Filter(Cross((u, Scan(U, "v"))), (eq(ref("u.a"), ref("v.a")),)), a=ref("u.a")
    ),
    "left join": project(
        Join(windowed(s), r, Side.LEFT, (eq(ref("s.k", VARCHAR), ref("r.k", VARCHAR)),)),
        name=ref("r.name", VARCHAR),
    ),
    "joins": project(
        Join(
            Filter(Cross((u, Scan(U, "v"))), (eq(ref("u.a"), ref("v.a")),)),
            Filter(Cross((Scan(U, "w"), Scan(U, "z"))), (eq(ref("w.a"), ref("z.a")),)),
            Side.FULL,
            (eq(ref("u.a"), ref("w.a")), eq(ref("v.a"), ref("z.a"))),
        ),
        a=ref("u.a"),
        b=ref("z.a"),
    ),
    "join in a product": project(
        Cross((u, Join(Scan(U, "v"), Scan(U, "w"), Side.RIGHT, (eq(ref("v.a"), ref("w.a")),)))),
        a=ref("u.a"),
    ),
    "semi-join": project(
        SemiJoin(
            SemiJoin(
                Filter(u, (more(ref("u.a"), 0),)),
                Filter(Scan(U, "v"), (more(ref("v.a"), 1),)),
                (eq(ref("u.a"), ref("v.a")),),
                anti=False,
            ),
            Scan(U, "w"),
            (Not(Is(eq(ref("u.a"), ref("w.a")), False)),),
            anti=True,
        ),
        a=ref("u.a"),
    ),
    "in": project(
        SemiJoin(u, Scan(U, "v"), (eq(Literal(1, INT), ref("v.a")),), anti=False), a=ref("u.a")
    ),
    "semi-join in from": project(
        Filter(
            SemiJoin(
                u, Scan(U, "v"), (eq(ref("u.a"), ref("v.a")), more(ref("v.a"), 2)), anti=True
            ),
            (more(ref("u.a"), 1),),
        ),
        a=ref("u.a"),
    ),
    "union all": Union((A, OTHER, A)),
    "union": Distinct(Union((A, OTHER))),
    "union of types": Union(
        (
            project(A, a=Cast(ref("a"), DOUBLE)),
            project(p, x=ref("p.x", DOUBLE)),
        )
    ),
    "except": Difference(Distinct(A), Distinct(OTHER)),
    "except all": Difference(A, Union((OTHER, A))),
    "intersect": Intersect(Distinct(Distinct(A)), Distinct(OTHER)),
    "intersect all": Intersect(A, OTHER),
    "distinct": Distinct(A),
    "aggregate": project(
        Filter(
            Aggregate(
                Filter(s, (more(ref("s.a"), 0),)),
                (
                    Item(ref("s.k", VARCHAR), "k"),
                    Item(Call("+", (ref("s.a"), Literal(1, INT)), BIGINT), "b"),
                ),
                (COUNT, SUM),
            ),
            (more(ref("count", HUGEINT, False), 2),),
        ),
        k=ref("k", VARCHAR),
        b=ref("b", BIGINT),
        n=ref("count", HUGEINT, False),
        sum=Call("*", (ref("sum", HUGEINT), Literal(2, INT)), HUGEINT),
    ),
    "aggregate of all": project(Aggregate(s, (), (COUNT,)), count=ref("count", HUGEINT, False)),
    "subquery": project(
        Alias(Distinct(project(u, c=ref("u.a"))), "q"), c=Call("-", (ref("q.c"),), BIGINT)
    ),
    "istream": Changes(project(windowed(s), a=ref("s.a")), Change.ISTREAM),
    "dstream": Changes(Distinct(project(windowed(s), a=ref("s.a"))), Change.DSTREAM, restore=True),
    "window of changes": project(
        Window(
            Alias(Changes(project(windowed(s), a=ref("s.a")), Change.RSTREAM), "q"),
            WindowSpec(Extent.ROWS, 3),
        ),
        a=ref("q.a"),
    ),
    "internal results": Results(
        project(Aggregate(INTERNAL, (), (COUNT,)), count=ref("count", HUGEINT, False))
    ),
    "window of results": project(
        Window(Alias(Results(project(INTERNAL, a=ref("s.a"))), "q"), WindowSpec(Extent.ROWS, 3)),
        a=ref("q.a"),
    ),
    "wstream": Window(
        Results(project(Cross((s, p)), a=ref("s.a"), b=ref("p.a"))), WindowSpec(Extent.ROWS, 10)
    ),
    "wstream without a window": Window(
        Results(project(s, a=ref("s.a"))), WindowSpec(Extent.UNBOUNDED)
    ),
    "aggregate of wstream": project(
        Aggregate(
            Window(
                Alias(
                    Results(
                        project(
                            Aggregate(windowed(s), (), (AggregateCall(
                                "SUM", ref("s.a"), False, "sum", HUGEINT
                            ),)),
                            result=ref("sum", HUGEINT),
                        )
                    ),
                    "results",
                ),
                WindowSpec(Extent.ROWS, 10),
            ),
            (),
            (AggregateCall("SUM", ref("results.result", HUGEINT), False, "sum", HUGEINT),),
        ),
        sum=ref("sum", HUGEINT),
    ),
}  # fmt: skip
"""Plans as the binder makes them, so that they come back from their text."""
