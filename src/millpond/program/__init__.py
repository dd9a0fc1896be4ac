"""The typed program that every engine runs: operators as data, their tick steps, their state."""

from millpond.program.delta import Batch, Columns, Delta, IntArray
from millpond.program.kernel import partial_kernel, row_kernel
from millpond.program.operator import (
    Best,
    BestOf,
    Case,
    Constant,
    EmittedSet,
    GreatestOf,
    Held,
    Keep,
    Key,
    KeyOf,
    LeastOf,
    Link,
    Operator,
    OutputColumn,
    Reduction,
    Select,
    SynopsisJoin,
)
from millpond.program.program import InputStream, Program
from millpond.program.python import python_of
from millpond.program.store import LARGEST, State, Store, decode, encode, strides

__all__ = [
    "LARGEST",
    "Batch",
    "Best",
    "BestOf",
    "Case",
    "Columns",
    "Constant",
    "Delta",
    "EmittedSet",
    "GreatestOf",
    "Held",
    "InputStream",
    "IntArray",
    "Keep",
    "Key",
    "KeyOf",
    "LeastOf",
    "Link",
    "Operator",
    "OutputColumn",
    "Program",
    "Reduction",
    "Select",
    "State",
    "Store",
    "SynopsisJoin",
    "decode",
    "encode",
    "partial_kernel",
    "python_of",
    "row_kernel",
    "strides",
]
