"""One Spark session for all tests that ask for it; one worker runs them (tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = {
    "spark.sql.shuffle.partitions": "1",
    # A JVM that lives for a minute gains nothing from the slower compiler.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from millpond.spark.session import session

    found = session(master="local[2]", conf=CONF)
    yield found
    found.stop()
