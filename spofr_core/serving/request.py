"""What a request may say, and what is said of one that cannot be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema, ValidationError
from pydantic_core import core_schema

_WORDS = {True: "true", False: "false", None: "null"}


def _label(*_: Any) -> core_schema.CoreSchema:
    """A text, a finite number, or true and false, which are labels as in a file with these words.

    A number beyond all floats would be the same "inf" as any other.
    """
    text, whole = core_schema.str_schema(strict=True), core_schema.int_schema(strict=True)
    number, truth = core_schema.float_schema(strict=True, allow_inf_nan=False), core_schema.bool_schema(strict=True)
    told = core_schema.no_info_after_validator_function
    either = core_schema.union_schema(
        [text, told(str, whole), told(_digits, number), told(_WORDS.__getitem__, truth)],
        mode="left_to_right",
        custom_error_type="string_type",
    )
    return core_schema.chain_schema([either, core_schema.str_schema(min_length=1, max_length=512)])


def _digits(number: float) -> str:
    """All digits, without an exponent: 100000 for 1e5, and 1 for 1.0."""
    return np.format_float_positional(number, trim="-")


Name = Annotated[str, GetPydanticSchema(_label), Field(json_schema_extra={"minLength": 1, "maxLength": 512})]


_GROUP = (
    "Required, unless the service takes each item on its own, or (with --missing keep) items without a group, which "
    "keep their places and have no bound."
)


class RankItem(BaseModel):
    """One item of the list."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: Name
    group: Annotated[Name | None, Field(description=_GROUP)] = None
    score: Annotated[float, Field(strict=True, ge=-1e300, le=1e300)]


class RankRequest(BaseModel):
    """A list to rank now."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    query: Annotated[
        Name | None, Field(description="Impressions of the same query are scheduled; without it, a draw.")
    ] = None
    items: Annotated[list[RankItem], Field(min_length=1)]
    delta: Annotated[
        float | None, Field(strict=True, ge=0, description="In the unit of the service; its own by default.")
    ] = None


_REMEDIES = {
    "missing": "it is missing; add it",
    "extra_forbidden": "nobody knows this field; leave it out",
    "float_type": "give a number",
    "string_type": "give a text",
    "string_too_short": "give at least one letter",
    "string_too_long": "give at most 512 letters",
    "too_short": "give at least one item",
    "finite_number": "give a finite number",
    "greater_than_equal": "give a larger number: it must be at least {ge:g}",
    "less_than_equal": "give a smaller number: it must be at most {le:g}",
    "json_invalid": "the body is no JSON: {error}",
    "model_type": "give an object",
    "list_type": "give a list",
}


def complaints(error: ValidationError) -> list[dict[str, Any]]:
    """The field, what was seen and the remedy, for the first ten things that are wrong."""
    return [_complaint(entry) for entry in error.errors(include_url=False)[:10]]


def _complaint(entry: Mapping[str, Any]) -> dict[str, Any]:
    field = ".".join(str(part) for part in entry["loc"]) or "body"
    remedy = _REMEDIES.get(entry["type"], entry["msg"]).format(
        **{"ge": 0, "le": 0, "error": "", **entry.get("ctx", {})}
    )
    seen = "" if entry["type"] in ("missing", "json_invalid", "extra_forbidden") else f" is {_short(entry['input'])}"
    return {"field": field, "message": f"'{field}'{seen}; {remedy}." if seen else f"'{field}': {remedy}."}


def _short(value: Any) -> str:
    told = _WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    return told if len(told) <= 60 else f"{told[:57]}..."
