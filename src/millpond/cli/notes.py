"""What was passed over in a file, or taken for something else, on standard error."""

from __future__ import annotations

import sys

from millpond.plan import Script
from millpond.report import Style, render_note


def say_notes(script: Script) -> None:
    """A line for each note on a file."""
    style = Style.of(sys.stderr)
    for note in script.notes:
        print(render_note(note, style), file=sys.stderr)
