"""The shape of the synopsis: that there is one, that it is enough, and that its size is right."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from millpond.language import read_script
from millpond.memory import Attribute, Combination, Shape, normal_form, shape_of, verdict_of
from millpond.memory.shape import Join
from tests.memory.by_definition import (
    NULL,
    Rows,
    Truths,
    answer,
    box,
    joined,
    own_output,
    responses,
)
from tests.memory.reduction import Reduced, attribute, bucket_values, reduce_rows
from tests.strategies.spj import SpjText, random_spj
