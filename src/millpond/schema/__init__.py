"""Columns, their types and domains, and the streams that have them."""

from millpond.schema.catalog import Catalog
from millpond.schema.stream import Column, Stream
from millpond.schema.types import BIGINT, INTEGER_TYPES, IntegerType, Interval

__all__ = [
    "BIGINT",
    "INTEGER_TYPES",
    "Catalog",
    "Column",
    "IntegerType",
    "Interval",
    "Stream",
]
