"""Numbers for people: three digits and a word, where more would not be read."""

from __future__ import annotations

_WORDS = ("", " thousand", " million", " billion", " trillion")
_SIZES = (" bytes", " kB", " MB", " GB", " TB", " PB")


def counted(number: int | None, what: str) -> str:
    """
    >>> counted(1, "unit"), counted(2, "unit")
    ('1 unit', '2 units')
    """
    return f"{number} {what}" + ("" if number == 1 else "s")


def rounded(number: int) -> str:
    """
    >>> rounded(999), rounded(7_200_000), rounded(14_440_000)
    ('999', '7.2 million', '14.4 million')
    """
    return str(number) if number < 10_000 else _scaled(number, _WORDS)


def size_text(bytes_: int) -> str:
    """
    >>> size_text(1), size_text(288), size_text(115_200_000)
    ('1 byte', '288 bytes', '115 MB')
    """
    return "1 byte" if bytes_ == 1 else _scaled(bytes_, _SIZES)


def _scaled(number: int, words: tuple[str, ...]) -> str:
    value, place = float(number), 0
    while value >= 999.5 and place + 1 < len(words):
        value /= 1000
        place += 1
    return f"{value:.3g}{words[place]}" if value < 1000 else f"{value:.0f}{words[place]}"
