"""Continuous queries over streams, with a proved bound on their memory before they start."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("millpond")
except PackageNotFoundError:  # read from a source tree that is not installed
    __version__ = "0"
