"""`mp.check` says of streaming DataFrames what is right, and Spark's state does as it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.pipelines import BATCHES, PIPELINES, Inputs, inputs, rows_kept, write_batches

import millpond as mp

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN = [name for name, each in PIPELINES.items() if each.grows is not None]
SAMPLE = ("windows", "join")


@pytest.fixture(scope="module")
def at(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return inputs(spark, tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize("name", PIPELINES)
def test_class_cause_and_repair_are_right(at: Inputs, name: str) -> None:
    right = PIPELINES[name]
    found = mp.check(right.build(at))
    assert found.memory == right.memory, found
    named = {each for reason in found.because for each in reason.attributes}
    assert named == set(right.causes), found
    assert right.says is None or right.says in str(found), found
    assert right.units is None or found.units == right.units, found
    assert right.repair is None or right.repair in [each.code for each in found.fixes], found
    assert (found.memory == "linear") <= (found.witness is not None), found
    assert right.repairs is None or len(found.fixes) == right.repairs, found
    assert (found.memory == "window") is ("MP207" in [each.code for each in found.because])
    if right.grows is not None:
        assert found.spark_grows is right.grows, found


@pytest.mark.parametrize("name", SAMPLE)
def test_the_state_of_spark_does_as_it_is_said(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    does_as_said(spark, tmp_path, name, 8)


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUN)
def test_the_state_of_spark_does_as_it_is_said_over_many_batches(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    does_as_said(spark, tmp_path, name, BATCHES)


def does_as_said(spark: SparkSession, folder: Path, name: str, batches: int) -> None:
    """Rows of state after the second half of the batches: more than after the first, or not."""
    pipeline = PIPELINES[name]
    write_batches(folder / "in", batches)
    frame = pipeline.build(inputs(spark, folder / "in"))
    kept = rows_kept(frame, pipeline.mode, folder / "checkpoint")
    assert len(kept) >= batches
    first, last = max(kept[: batches // 2]), kept[batches - 1]
    if mp.check(frame).spark_grows:
        assert last > 1.5 * first > 0, kept
    else:
        assert max(kept[batches // 2 :]) <= 1.3 * first + 5, kept


# What cannot be checked --------------------------------------------------------------------------


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(mp.MillpondError) as caught:
        call()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "MP504"
    return diagnostic.message


class Remote:
    """As much of a DataFrame of Spark Connect as it takes."""

    __module__ = "pyspark.sql.connect.dataframe"


def test_what_is_no_streaming_dataframe_is_refused(at: Inputs) -> None:
    assert "reads no stream" in refusal(lambda: mp.check(at.rooms, name="rooms"))
    remote: Any = Remote()
    assert "stays on the server" in refusal(lambda: mp.check(remote))
    assert "stays on the server" in refusal(lambda: mp.check_sql(remote, "SELECT 1"))
    nothing: Any = 7
    assert "int is no DataFrame" in refusal(lambda: mp.check(nothing))


@pytest.mark.parametrize("text", ["SELECT nope FROM orders_view", "SELEC id FROM orders_view"])
def test_sql_that_spark_refuses_is_refused(at: Inputs, text: str) -> None:
    assert "Spark refuses the text" in refusal(lambda: mp.check_sql(at.spark, text))


def test_a_command_is_not_carried_out(at: Inputs) -> None:
    refusal(lambda: mp.check_sql(at.spark, "DROP VIEW orders_view"))
    assert at.spark.catalog.tableExists("orders_view")


def test_checking_runs_no_job(at: Inputs) -> None:
    tracker = at.spark.sparkContext.statusTracker()
    at.spark.sparkContext.setJobGroup("check", "nothing")
    mp.check(at.orders.join(at.rooms, "room").groupBy("customer").count())
    assert not tracker.getJobIdsForGroup("check")


# What the text says -----------------------------------------------------------------------------


def test_a_part_of_a_condition_has_its_own_line(at: Inputs) -> None:
    from pyspark.sql import functions as f

    frame = at.orders.join(
        at.payments,
        (f.col("kind") == "web")
        & (f.col("id") == f.col("order_id")),
    ).select("room")  # fmt: skip
    (reason,) = mp.check(frame).because
    assert reason.span is not None
    assert reason.span.text == '& (f.col("id") == f.col("order_id")),'
    assert reason.span.source.name.endswith("test_check_dataframe.py")


def test_a_text_given_to_where_is_shown(at: Inputs) -> None:
    found = mp.check(at.orders.crossJoin(at.payments).where("id = order_id").select("room"))
    assert "--> <sql>:1:1" in str(found)
    assert "| id = order_id" in str(found)


def test_rows_without_an_event_time_are_said_to_stay(at: Inputs) -> None:
    """No watermark passes NULL; of windows Spark leaves such rows out."""
    assert "no event time that is NULL" in str(mp.check(PIPELINES["left join in time"].build(at)))
    keys = mp.check(PIPELINES["dropDuplicates with a watermark"].build(at))
    assert "no event time that is NULL" in str(keys)
    assert "NULL" not in str(mp.check(PIPELINES["windows"].build(at)))


def test_a_notebook_shows_the_text(at: Inputs) -> None:
    found = mp.check(at.orders.where("amount < 3"), name="few")
    assert found._repr_html_() == "<pre>few: none, 0 units: nothing has to be remembered</pre>"


def test_what_spark_does_not_start_is_said(at: Inputs) -> None:
    found = mp.check(PIPELINES["left join"].build(at))
    assert found.refused is not None
    assert "Stream-stream LeftOuter join" in found.refused
    assert mp.check(PIPELINES["windows"].build(at)).refused is None


def test_names_and_columns_of_any_kind_are_read(at: Inputs) -> None:
    from pyspark.sql import functions as f

    odd = at.orders.select(
        f.col("room").alias("select"), f.col("room").alias("a b"), f.struct("id").alias("pair")
    )
    found = mp.check(odd.select("select", "a b").distinct(), name="odd")
    assert (found.memory, found.units) == ("constant", 257 * 1)
    wide = mp.check(odd.distinct())
    assert wide.memory == "outside"
    assert "`struct` is not known here" in str(wide)


def test_numbers_that_wrap_around_are_not_decided(at: Inputs) -> None:
    at.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        wrapping = _sum_below(at)
    finally:
        at.spark.conf.unset("spark.sql.ansi.enabled")
    assert "+ may wrap around" in str(mp.check(wrapping))
    assert mp.check(_sum_below(at)).memory == "constant"


def _sum_below(at: Inputs) -> DataFrame:
    return at.orders.where("amount + 1 < 20 AND amount > 0").select("amount").distinct()


def test_a_budget_is_kept(at: Inputs) -> None:
    assert mp.check(at.orders.groupBy("room").count(), budget=200).memory == "impractical"
