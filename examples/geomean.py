"""The geometric mean, as `growth_of_funds.sql` declares it."""


class GeoMean:
    """A state is how many numbers there were, and their product."""

    def init(self) -> tuple[int, float]:
        return 0, 1.0

    def step(self, state: tuple[int, float], value: float) -> tuple[int, float]:
        count, product = state
        return count + 1, product * value

    def merge(self, one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
        return one[0] + other[0], one[1] * other[1]

    def final(self, state: tuple[int, float]) -> float | None:
        count, product = state
        return product ** (1 / count) if count else None
