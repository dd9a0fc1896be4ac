"""Streaming DataFrames as people write them, what is to be said of each, and data to run them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDERS = "id BIGINT, customer BIGINT, kind STRING, room TINYINT, amount INT, ts TIMESTAMP"
PAYMENTS = "order_id BIGINT, paid INT, ts TIMESTAMP"
BATCHES = 20
ROWS = 30
_STEP = timedelta(minutes=10)


@dataclass(frozen=True)
class Inputs:
    """The streams and the table that pipelines read."""

    spark: SparkSession
    orders: DataFrame
    payments: DataFrame
    rooms: DataFrame
    texts: DataFrame
    """The orders, each as a line of text."""


@dataclass(frozen=True)
class Pipeline:
    """A DataFrame, and what is right of it."""

    build: Callable[[Inputs], DataFrame]
    memory: str
    causes: tuple[str, ...] = ()
    """The columns that the reasons name."""
    repair: str | None = None
    """One of its repairs, as code."""
    repairs: int | None = None
    """How many it has, where that matters: what bounds the groups need not bound the rest."""
    units: int | None = None
    says: str | None = None
    """What stands in its text."""
    grows: bool | None = None
    """Whether the rows that Spark keeps of it grow over batches; None for what Spark refuses."""
    mode: str = "append"


def inputs(spark: SparkSession, folder: Path) -> Inputs:
    """Streams of a file a batch, and a table of rooms."""
    _folders(folder)
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    orders = reader.schema(ORDERS).json(str(folder / "orders"))
    payments = reader.schema(PAYMENTS).json(str(folder / "payments"))
    rooms = spark.createDataFrame(
        [(each, each // 10) for each in range(1, 41)], "room TINYINT, floor INT"
    )
    orders.createOrReplaceTempView("orders_view")
    payments.createOrReplaceTempView("payments_view")
    texts = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "texts"))
    return Inputs(spark, orders, payments, rooms, texts)


def _folders(folder: Path) -> None:
    for name in ("orders", "payments", "texts"):
        (folder / name).mkdir(parents=True, exist_ok=True)


def write_batches(folder: Path, batches: int = BATCHES) -> None:
    """Files in the order of their age; event time goes on ten minutes a batch."""

    _folders(folder)
    rng = random.Random(7)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for batch in range(batches):
        lines: dict[str, list[dict[str, Any]]] = {"orders": [], "payments": []}
        for row in range(ROWS):
            at = start + batch * _STEP + timedelta(seconds=rng.randrange(600))
            number = batch * ROWS + row
            lines["orders"].append(
                {
                    "id": number,
                    "customer": rng.randrange(10**9),
                    "kind": rng.choice(["web", "shop"]),
                    "room": 1 + number % 40,
                    "amount": rng.randint(11, 19),
                    "ts": at.isoformat(),
                }
            )
            paid = {"order_id": number, "paid": rng.randint(11, 19), "ts": at.isoformat()}
            lines["payments"].append(paid)
        lines["texts"] = lines["orders"]
        for name, rows in lines.items():
            path = folder / name / f"{batch:04d}.json"
            path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
            os.utime(path, (1_000_000_000 + batch, 1_000_000_000 + batch))


def rows_kept(frame: DataFrame, mode: str, folder: Path) -> list[int]:
    """The rows of all state that Spark has after each batch."""
    query = (
        frame.writeStream.format("noop")
        .outputMode(mode)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return [
        sum(int(each["numRowsTotal"]) for each in progress["stateOperators"])
        for progress in query.recentProgress
    ]


# Pipelines --------------------------------------------------------------------------------------


def _paid(at: Inputs) -> DataFrame:
    return at.orders.join(at.payments, at.orders.id == at.payments.order_id)


def _bounded_join(at: Inputs) -> DataFrame:
    joined = at.orders.join(at.payments, at.orders.amount == at.payments.paid)
    return joined.where((joined.amount > 10) & (joined.paid < 20)).select("amount")


def _timed(at: Inputs, kind: str) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes").alias("o")
    payments = at.payments.withWatermark("ts", "20 minutes").alias("p")
    meet = "o.id = p.order_id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR"
    return orders.join(payments, f.expr(meet), kind).select("o.id", "p.paid")


def _asked_behind(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes").alias("o")
    payments = at.payments.withWatermark("ts", "20 minutes").alias("p")
    joined = orders.join(payments, f.expr("o.id = p.order_id"))
    return joined.where("p.ts >= o.ts AND p.ts <= o.ts + INTERVAL 1 HOUR").select("o.id")


def _by_time(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes").alias("o")
    payments = at.payments.withWatermark("ts", "10 minutes").alias("p")
    return orders.join(payments, f.expr("o.id = p.order_id AND o.ts = p.ts")).select("o.id")


def _watermarks_alone(at: Inputs, more: str = "TRUE") -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes").alias("o")
    payments = at.payments.withWatermark("ts", "10 minutes").alias("p")
    return orders.join(payments, f.expr(f"o.id = p.order_id AND {more}")).select("o.room")


def _left_alone(at: Inputs) -> DataFrame:
    return at.orders.join(at.payments, at.orders.id == at.payments.order_id, "left")


def _inequality(at: Inputs) -> DataFrame:
    return at.orders.join(at.payments, at.orders.amount < at.payments.paid).select("kind")


def _windowed(at: Inputs, *, watermark: bool) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes") if watermark else at.orders
    return orders.groupBy(f.window("ts", "5 minutes"), "kind").count()


def _hop(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes")
    return orders.groupBy(f.window("ts", "10 minutes", "5 minutes")).agg(f.sum("amount"))


def _sessions(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    orders = at.orders.withWatermark("ts", "10 minutes")
    return orders.groupBy(f.session_window("ts", "5 minutes"), "customer").count()


def _means(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    return at.orders.groupBy("customer").agg(f.avg("amount").alias("mean"), f.count("*"))


def _approximately(at: Inputs, group: str) -> DataFrame:
    from pyspark.sql import functions as f

    return at.orders.groupBy(group).agg(f.approx_count_distinct("id").alias("ids"))


def _parsed(at: Inputs, *more: str) -> DataFrame:
    from pyspark.sql import functions as f

    texts = at.texts.select(f.from_json(f.col("value").cast("string"), ORDERS).alias("v"), *more)
    return texts.select("v.*", *more)


def _windows_of(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.groupBy(f.window("ts", "5 minutes")).count()


def _user_code(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    shout = f.udf(lambda text: text.upper(), "string", useArrow=False)
    return at.orders.select(shout("kind").alias("loud")).distinct()


def _explode(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    return at.orders.select("id", f.explode(f.split("kind", "")).alias("letter"))


def _self_join(at: Inputs) -> DataFrame:
    from pyspark.sql import functions as f

    one, other = at.orders.alias("x"), at.orders.alias("y")
    return one.join(other, f.expr("x.id = y.customer")).select("x.id")


def _sql(at: Inputs, text: str) -> DataFrame:
    return at.spark.sql(text)


PIPELINES: dict[str, Pipeline] = {
    "filter": Pipeline(
        lambda at: at.orders.where("amount > 100").select("id"), "none", grows=False
    ),
    "explode": Pipeline(_explode, "none", grows=False),
    "static join": Pipeline(lambda at: at.orders.join(at.rooms, "room"), "none", grows=False),
    "left static join": Pipeline(
        lambda at: at.orders.join(at.rooms, "room", "left"), "none", grows=False
    ),
    "groups beside a table": Pipeline(
        lambda at: at.orders.join(at.rooms, "room").groupBy("customer").count(),
        "linear",
        ("orders.customer",),
        'orders.where("customer >= 0 AND customer <= 999")',
        says="given: rows of the tables",
        grows=True,
        mode="update",
    ),
    "groups of few values beside a table": Pipeline(
        lambda at: at.orders.join(at.rooms, "room").groupBy("room").count(),
        "constant",
        units=256,
        grows=False,
        mode="update",
    ),
    "groups by a column of a table": Pipeline(
        lambda at: at.orders.join(at.rooms, "room").groupBy("floor").count(),
        "outside",
        says="the tables that are joined may bound it",
    ),
    "left groups beside a table": Pipeline(
        lambda at: at.orders.join(at.rooms, "room", "left").select("id", "floor").distinct(),
        "linear",
        ("orders.id",),
        grows=True,
    ),
    "groups of a filtered table": Pipeline(
        lambda at: at.orders.join(at.rooms, "room").where("floor = 9").groupBy("customer").count(),
        "outside",
        says="what it holds is not known",
    ),
    "join": Pipeline(
        lambda at: _paid(at).select("kind"),
        "linear",
        ("orders.id", "orders.kind", "payments.order_id"),
        grows=True,
    ),
    "join of few values": Pipeline(
        lambda at: _paid(at).select("room"),
        "linear",
        ("orders.id", "payments.order_id"),
        'orders.withWatermark("ts", "10 minutes").alias("orders").join('
        'payments.withWatermark("ts", "10 minutes").alias("payments"), '
        '... & expr("payments.ts BETWEEN orders.ts AND orders.ts + INTERVAL 1 HOUR"))',
        says="return at.orders.join(at.payments, at.orders.id == at.payments.order_id)\n",
        grows=True,
    ),
    "bounded join": Pipeline(_bounded_join, "constant", units=18, grows=True),
    "inequality join": Pipeline(
        _inequality, "linear", ("orders.kind", "orders.amount", "payments.paid")
    ),
    "join in time": Pipeline(
        lambda at: _timed(at, "inner"),
        "window",
        says="rate of o x 80 minutes",
        grows=False,
    ),
    "join in time, asked behind it": Pipeline(
        _asked_behind, "window", says="rate of o x 80 minutes", grows=False
    ),
    "join with a watermark on a key": Pipeline(_by_time, "window", grows=False),
    "join by a filter on event time": Pipeline(
        lambda at: _watermarks_alone(at, "o.ts > TIMESTAMP '2020-01-01 00:00:00'"),
        "outside",
        says="`ts` has a watermark",
    ),
    "left join in time": Pipeline(lambda at: _timed(at, "left"), "window", grows=False),
    "watermarks alone": Pipeline(_watermarks_alone, "linear", ("o.id", "p.order_id"), grows=True),
    "left join": Pipeline(_left_alone, "outside", says="an outer join takes answers back"),
    "self-join": Pipeline(_self_join, "linear", ("x.id", "y.customer"), grows=True),
    "dropDuplicates": Pipeline(
        lambda at: at.orders.dropDuplicates(["id"]),
        "linear",
        ("orders.id",),
        'orders.withWatermark("ts", "10 minutes").dropDuplicatesWithinWatermark(["id"])',
        grows=True,
    ),
    "dropDuplicates of few values": Pipeline(
        lambda at: at.orders.dropDuplicates(["room"]), "constant", units=257, grows=False
    ),
    "dropDuplicates with a watermark": Pipeline(
        lambda at: at.orders.withWatermark("ts", "10 minutes").dropDuplicates(["id", "ts"]),
        "window",
        says="rate of orders x 10 minutes",
        grows=False,
    ),
    "dropDuplicates by a key beside the watermark": Pipeline(
        lambda at: at.orders.withWatermark("ts", "10 minutes").dropDuplicates(["id"]),
        "linear",
        ("orders.id",),
        grows=True,
    ),
    "dropDuplicatesWithinWatermark": Pipeline(
        lambda at: at.orders.withWatermark("ts", "10 minutes").dropDuplicatesWithinWatermark(
            ["id"]
        ),
        "window",
        says="rate of orders x 20 minutes",
        grows=False,
    ),
    "distinct": Pipeline(
        lambda at: at.orders.select("customer").distinct(),
        "linear",
        ("orders.customer",),
        'orders.where("customer >= 0 AND customer <= 999")',
        grows=True,
    ),
    "union": Pipeline(
        lambda at: at.orders.select("id").union(at.payments.select("order_id")).distinct(),
        "linear",
        ("orders.id", "payments.order_id"),
        grows=True,
    ),
    "windows": Pipeline(
        lambda at: _windowed(at, watermark=True),
        "window",
        says="rate of orders x 15 minutes",
        grows=False,
    ),
    "windows without a watermark": Pipeline(
        lambda at: _windowed(at, watermark=False),
        "linear",
        ("orders.window", "orders.kind"),
        'orders.withWatermark("ts", "10 minutes")',
        grows=True,
        mode="update",
    ),
    "windows of some columns": Pipeline(
        lambda at: _windows_of(at.orders.select("ts", "kind").where("kind = 'web'")),
        "linear",
        ("orders.window",),
        grows=True,
        mode="update",
    ),
    "sliding windows": Pipeline(
        _hop, "window", says="rate of orders x 20 minutes x 2 windows", grows=False
    ),
    "sessions": Pipeline(_sessions, "window", says="rate of orders x 15 minutes", grows=False),
    "groups": Pipeline(
        _means,
        "linear",
        ("orders.customer",),
        'orders.where("customer >= 0 AND customer <= 999")',
        grows=True,
        mode="update",
    ),
    "groups of few values": Pipeline(
        lambda at: at.orders.groupBy("room").count(),
        "constant",
        units=257,
        grows=False,
        mode="update",
    ),
    "groups with another aggregate": Pipeline(
        lambda at: _approximately(at, "customer"),
        "linear",
        ("orders.customer",),
        repairs=0,
        grows=True,
        mode="update",
    ),
    "groups of few values with another aggregate": Pipeline(
        lambda at: _approximately(at, "room"),
        "outside",
        says="the aggregate `approx_count_distinct` is not known",
    ),
    "JSON in a text column": Pipeline(
        lambda at: _parsed(at).dropDuplicates(["id"]),
        "linear",
        ("texts.id",),
        'parsed.where("id >= 0 AND id <= 999")',
        grows=True,
    ),
    "JSON with few values": Pipeline(
        lambda at: _parsed(at).where("amount > 10").groupBy("room").count(),
        "constant",
        units=257,
        grows=False,
        mode="update",
    ),
    "JSON read twice": Pipeline(
        lambda at: _parsed(at).select("room").union(_parsed(at).select("room")).distinct(),
        "constant",
        grows=False,
    ),
    "JSON in windows without a watermark": Pipeline(
        lambda at: _windows_of(_parsed(at)),
        "linear",
        ("texts.window",),
        grows=True,
        mode="update",
    ),
    "JSON in windows": Pipeline(
        lambda at: _windows_of(_parsed(at).withWatermark("ts", "10 minutes")),
        "window",
        grows=False,
    ),
    "JSON beside its text": Pipeline(
        lambda at: _parsed(at, "value").select("id", "value").distinct(),
        "outside",
        says="where `value` comes from is not known",
    ),
    "one row": Pipeline(
        lambda at: at.orders.groupBy().max("amount"),
        "constant",
        units=1,
        grows=False,
        mode="update",
    ),
    "a SQL view": Pipeline(
        lambda at: _sql(
            at,
            "SELECT o.room FROM orders_view o JOIN payments_view p ON o.id = p.order_id",
        ),
        "linear",
        ("o.id", "p.order_id"),
        says="o.id = p.order_id",
        grows=True,
    ),
    "SQL with HAVING": Pipeline(
        lambda at: _sql(
            at,
            "WITH few AS (SELECT room, amount FROM orders_view WHERE amount < 15) "
            "SELECT room, count(*) AS n FROM few GROUP BY room HAVING count(*) > 2",
        ),
        "constant",
        units=257,
        grows=False,
        mode="update",
    ),
    "user code": Pipeline(_user_code, "outside", says="user code, `<lambda>`"),
}
