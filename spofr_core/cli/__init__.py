"""`spofr ...`: the operations of the package, from a shell."""

from spofr_core.cli.shell import app, main

__all__ = ["app", "main"]
