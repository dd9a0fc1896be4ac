"""The typed program that every engine runs: operators as data, their tick steps, their state."""

from millpond.program.delta import Batch, Columns, Delta, IntArray
from millpond.program.interpret import Step, grow, interpreted, run_step
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
from millpond.program.partial import Merger, Partial, Undo
from millpond.program.program import InputStream, Program
from millpond.program.python import python_of
from millpond.program.store import LARGEST, KeyedArray, State, Store, decode, encode, strides

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
    "KeyedArray",
    "LeastOf",
    "Link",
    "Merger",
    "Operator",
    "OutputColumn",
    "Partial",
    "Program",
    "Reduction",
    "Select",
    "State",
    "Step",
    "Store",
    "SynopsisJoin",
    "Undo",
    "decode",
    "encode",
    "grow",
    "interpreted",
    "partial_kernel",
    "python_of",
    "row_kernel",
    "run_step",
    "strides",
]
