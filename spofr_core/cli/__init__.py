"""`spofr ...`: the operations of the package, from a shell; `commands` has a file for each.

Exit code 0: done. 1: the audited thing fails (`--fail-on-violation`, `verify`). 2: bad input, in one sentence.
70: a defect of this package, a worker that failed, or no memory left: no pipeline takes a crash for a verdict.
130: stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.errors import SpofrError, WorkFailed, first_line
from spofr_core.files import why_nothing_is_kept
from spofr_core.lazy import lazy_names

if TYPE_CHECKING:
    from spofr_core.cli.application import app
    from spofr_core.cli.proof_commands import check_line, proof_lines

TRACEBACK = "SPOFR_TRACEBACK"

BAD_INPUT, CRASHED, STOPPED = 2, 70, 130


def main() -> None:
    """Entry point: whatever goes wrong is one sentence on stderr, and an exit code that says what kind it is."""
    try:
        # Options list what plug-ins bring, and a plug-in that cannot be imported is bad input too.
        from spofr_core.cli.application import app

        app()
    except WorkFailed as error:
        _end(str(error), CRASHED)
    except SpofrError as error:
        _end(in_shell_words(str(error)), BAD_INPUT)
    except OSError as error:
        _end(_about_the_system(error), BAD_INPUT)
    except MemoryError:
        _end("There is not enough memory for this; give less data, or more memory.", CRASHED)
    except KeyboardInterrupt:
        _end("Stopped.", STOPPED)
    except Exception as error:  # noqa: BLE001 - the last resort: a traceback is nothing that a user can mend
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        _end(
            f"This is a defect of spofr, not of your input: {type(error).__name__} ({first_line(error)}) in "
            f"{_place_of(error)}. Please report it; {TRACEBACK}=1 before the command shows all of it.",
            CRASHED,
        )


def _end(sentence: str, code: int) -> NoReturn:
    typer.echo(f"spofr: {sentence}", err=True)
    raise SystemExit(code) from None


def _about_the_system(error: OSError) -> str:
    """What the system refused, and for which file."""
    why = why_nothing_is_kept(error)
    if why is not None:
        remedy = "Free some space, and try again." if why == "full" else "Make it writable, or name another place."
        return f"The disk is {why}: {error.filename or 'a file'} could not be written. {remedy}"
    return f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")


def _place_of(error: BaseException) -> str:
    """File and line of this package where an error came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "spofr_core" in Path(frame.filename).parts]
    last = (own or frames)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"


__all__ = ["COMMANDS", "Command", "app", "check_line", "main", "proof_lines"]

__getattr__ = lazy_names(__name__, {"application": ("app",), "proof_commands": ("check_line", "proof_lines")})
