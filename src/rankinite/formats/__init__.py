"""Formats: how the bytes of files become datasets, and datasets become files."""

from rankinite.formats.reading import read
from rankinite.formats.svmlight_writer import write_svmlight

__all__ = ["read", "write_svmlight"]
