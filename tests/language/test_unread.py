"""Nothing that the parser has read is passed over, in whatever dialect it was written.

What other engines mean by a mark, an option or a clause is either meant here too, or refused.
"""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.language.marked import marked, unmarked
from tests.language.valid import DECLARED, QUERIES

from millpond.diagnostic import Source, UserError
from millpond.language import read_script
from millpond.language.bind import bind_select
from millpond.language.declare import declare_stream
from millpond.language.dialect import DIALECTS
from millpond.language.statements import Statement, statements
from millpond.language.tree import Declaration
from millpond.language.unread import IN_DECLARATIONS, IN_QUERIES, unread
from millpond.plan import to_sql

STREAMS = """\
CREATE STREAM s (a INT, b VARCHAR(8), ts BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM t (a INT, e VARCHAR, ts BIGINT, TIMESTAMP BY ts);
"""

PASSED_OVER = (
    # What sqlglot keeps as an argument of a node that is otherwise understood.
    ("oracle", "MP110", "SELECT s.a FROM s, t WHERE s.a = «t.a (+)»"),
    ("snowflake", "MP110", "SELECT s.a FROM s, t WHERE «s.a(+)» = t.a"),
    ("redshift", "MP110", "SELECT s.a FROM s JOIN t ON s.a = «t.a(+)»"),
    ("clickhouse", "MP110", "SELECT s.a FROM (s «GLOBAL JOIN t ON s.a = t.a»)"),
    ("databricks", "MP110", "SELECT a FROM «s»@v1"),
    ("duckdb", "MP110", "SELECT a FROM s WHERE EXISTS (SELECT «* EXCLUDE (e)» FROM t)"),
    ("duckdb", "MP110", "SELECT a FROM s WHERE a IN (SELECT «* EXCLUDE (e, ts)» FROM t)"),
    ("cql", "MP110", "SELECT COUNT(«* EXCEPT (a)») FROM s"),
    ("cql", "MP110", "SELECT CAST(b AS VARCHAR(«5» x)) FROM s"),
    ("oracle", "MP110", "SELECT CAST(b AS VARCHAR2(«5» BYTE)) FROM s"),
    (
        "postgres",
        "MP110",
        "WITH «x AS (SELECT a FROM s) SEARCH DEPTH FIRST BY a SET o» SELECT a FROM x",
    ),
    # What has a place elsewhere.
    ("cql", "MP134", "SELECT s.a FROM (s JOIN t ON s.a = t.a) «[RANGE 10]»"),
    ("cql", "MP134", "SELECT a FROM (s) «[ROWS 2]»"),
    ("cql", "MP140", "SELECT a FROM s WHERE a IN ((SELECT a FROM t) «LIMIT 3»)"),
    ("cql", "MP001", "SELECT «* AS x» FROM s"),
    ("cql", "MP001", "SELECT «s.* AS x» FROM s"),
    ("cql", "MP101", "SELECT a FROM s [PARTITION BY «z.a» ROWS 5]"),
    ("cql", "MP101", "SELECT a FROM SESSION(TABLE s PARTITION BY «z.a», DESCRIPTOR(ts), 5)"),
    ("cql", "MP101", "SELECT a FROM TUMBLE(TABLE s, DESCRIPTOR(«z.ts»), 5)"),
    ("cql", "MP001", "SELECT s.a FROM s JOIN t USING («s.a»)"),
    ("cql", "MP001", "SELECT s.a FROM s «OUTER JOIN t ON s.a = t.a»"),
    ("cql", "MP110", "SELECT s.a FROM s «RIGHT ANTI JOIN t ON s.a = t.a»"),
    ("cql", "MP110", "SELECT t.a FROM s «RIGHT SEMI JOIN t ON s.a = t.a»"),
    ("cql", "MP110", "SELECT a FROM s UNION «CORRESPONDING» SELECT a FROM t"),
    ("cql", "MP131", "SELECT a FROM s WHERE «EXISTS»(a)"),
    ("cql", "MP108", "CREATE STREAM v (a INT, WATERMARK FOR a AS «s.a» - 2); SELECT a FROM s"),
)


@pytest.mark.parametrize(("dialect", "code", "query"), PASSED_OVER)
def test_what_nothing_reads_is_refused_where_it_stands(dialect: str, code: str, query: str) -> None:
    text = unmarked(STREAMS + query)
    with pytest.raises(UserError) as raised:
        read_script(text, dialect=dialect)
    (found,) = raised.value.diagnostics
    assert found.span is not None
    assert (found.code, marked(text, (found.span.start, found.span.end))) == (code, STREAMS + query)


def test_what_nothing_reads_is_said_beside_other_errors() -> None:
    with pytest.raises(UserError) as raised:
        read_script(STREAMS + "SELECT nope FROM s, t WHERE s.a = t.a(+)", dialect="oracle")
    assert {each.code for each in raised.value.diagnostics} == {"MP102", "MP110"}


MEANT = (
    ("snowflake", "SELECT a FROM s WHERE a NOT IN (SELECT a FROM t)"),
    ("cql", "SELECT a FROM s WHERE a NOT IN ((SELECT a FROM t))"),
    ("clickhouse", "SELECT a FROM s WHERE a GLOBAL NOT IN (SELECT a FROM t)"),
)


@pytest.mark.parametrize(("dialect", "query"), MEANT)
def test_not_in_means_the_same_everywhere(dialect: str, query: str) -> None:
    meant = "SELECT a FROM s WHERE a NOT IN (SELECT a FROM t)"
    assert printed(STREAMS + query, dialect) == printed(STREAMS + meant)


def test_exists_takes_a_query_in_parentheses_of_its_own() -> None:
    doubly = "SELECT a FROM s WHERE NOT EXISTS ((SELECT a FROM t WHERE t.a = s.a))"
    assert printed(STREAMS + doubly) == printed(
        STREAMS + doubly.replace("((", "(").replace("))", ")")
    )
    assert printed(
        STREAMS + "SELECT a FROM s WHERE EXISTS ((SELECT a FROM t) EXCEPT (SELECT a FROM s))"
    )


def printed(text: str, dialect: str = "cql") -> list[str]:
    return [to_sql(each) for each in read_script(text, dialect=dialect).queries]


# Every node and every argument ------------------------------------------------------------------

TREES = [
    each
    for query in QUERIES
    for each in statements(Source("file.sql", DECLARED + query))
    if isinstance(each, Statement)
]
CATALOG = read_script(DECLARED + QUERIES[0]).catalog
OURS = {
    "pond_window", "pond_changes", "pond_emit", "pond_comma", "pond_columns", "pond_stream",
    "pond_watermark", "alias",
}  # fmt: skip
"""Arguments that our grammar adds."""


def bound(statement: Statement, tree: exp.Expr) -> None:
    if isinstance(tree, Declaration):
        declare_stream(tree, statement.places)
    else:
        query = tree.expression if isinstance(tree, exp.Create) else tree
        bind_select(query, CATALOG, statement.places)


@pytest.mark.parametrize(
    ("takes", "declares"), [(IN_QUERIES, False), (IN_DECLARATIONS, True)], ids=["query", "declared"]
)
def test_an_argument_that_nobody_reads_is_refused_on_every_node(
    takes: dict[type[exp.Expr], str], declares: bool
) -> None:
    """Each node of right statements, with each argument that sqlglot could give it."""
    tried = set()
    for statement in (each for each in TREES if each.declares is declares):
        query = statement.tree
        for place, node in enumerate(query.walk()):
            for key in set(node.arg_types) - set(takes[type(node)].split()):
                if (type(node), key) in tried or (node is query and isinstance(node, exp.Create)):
                    continue
                changed = query.copy()
                changed.meta["text"] = query.meta.get("text")
                other = list(changed.walk())[place]
                other.set(key, exp.Literal.number(1))
                with pytest.raises(UserError):
                    bound(statement, changed)
                tried.add((type(node), key))
    assert len(tried) > 5 if declares else len(tried) > 60


@pytest.mark.parametrize("takes", [IN_QUERIES, IN_DECLARATIONS], ids=["query", "declared"])
def test_the_table_names_arguments_that_there_are(takes: dict[type[exp.Expr], str]) -> None:
    for node, said in takes.items():
        assert set(said.split()) <= {*node.arg_types, *OURS}, node


def test_false_and_nothing_say_nothing() -> None:
    assert unread(exp.Column(this="a", join_mark=False, catalog=None), "this") == []
    assert unread(exp.Column(this="a", join_mark=True), "this") == ["join_mark"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_means_the_same_in_every_dialect_or_is_refused(dialect: str) -> None:
    """Of declarations with tables, Flink would make streams."""
    declared = ";".join(
        each for each in DECLARED.split(";") if dialect != "flink" or "TABLE" not in each
    )
    read = 0
    for query in QUERIES:
        try:
            found = printed(declared + query, dialect)
        except UserError:
            continue
        if dialect == "clickhouse":  # where EXCEPT and INTERSECT keep duplicates unless DISTINCT
            found = [each.replace("INTERSECT ALL", "INTERSECT") for each in found]
        windows = any(word in query for word in ("TUMBLE", "HOP", "SESSION"))
        if dialect in ("materialize", "risingwave") and windows and "EMIT" not in query:
            query += " EMIT CHANGES"  # where windows are said as they grow
        assert found == printed(DECLARED + query)
        read += 1
    assert read >= len(QUERIES) - 6
