"""Reading and writing many places of a store at once, dense or keyed."""

from __future__ import annotations

import numpy as np

from millpond.program.accumulator import Accumulator
from millpond.program.delta import IntArray
from millpond.program.finish import Numbers
from millpond.program.number_arrays import narrow, wide
from millpond.program.store import Array, KeyedArray, Store


def gathered(array: Array, places: IntArray) -> IntArray:
    """What an array holds at some places."""
    if not isinstance(array, KeyedArray):
        return array[places]
    found = np.empty(len(places), dtype=object)
    found[:] = [array[place] for place in places.tolist()]
    return narrow(found)


def scatter(store: Store, number: int, places: IntArray, values: IntArray) -> None:
    """Puts values into an array of a store, each place once."""
    array = store.values[number]
    if isinstance(array, KeyedArray):
        array.update(zip(places.tolist(), values.tolist(), strict=True))
        return
    values = narrow(values)
    if values.dtype == object and array.dtype != object:
        array = store.values[number] = wide(array)
    array[places] = values


def mark(store: Store, places: IntArray) -> None:
    """Marks the buckets at some places as holding something."""
    if isinstance(store.present, KeyedArray):
        store.present.update(dict.fromkeys(places.tolist(), 1))
    else:
        store.present[places] = 1


def stored(store: Store, held: Accumulator, number: int, places: IntArray) -> Numbers:
    """A number of the buckets at some places; `number` is that of its array."""
    values = gathered(store.values[number], places)
    if held.counts:
        return Numbers(values)
    return Numbers(values, gathered(store.values[number + 1], places) == 0)
