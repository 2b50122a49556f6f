"""Python values as the JSON of the run log, which keeps NaN, the infinities, large integers and -0."""

from __future__ import annotations

import enum
import json
import math
import os
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing, dataclasses or pathlib would make init() twice as slow
    from typing import Any

DEPTH_MAX = 60
TEXT_MAX = 100_000
ITEMS_MAX = 100_000
_EXACT = 1 << 53


def text(value: object) -> str:
    """Any value as text that the log takes."""
    return _text(str(value))


def _text(value: str) -> str:
    if len(value) > TEXT_MAX:
        value = value[:TEXT_MAX] + "..."
    # Lone surrogates are not UTF-8, and NUL is not allowed in the log.
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _number(value: float) -> Any:
    if math.isfinite(value):
        return value
    return {"$f": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def _mapping(value: Mapping[Any, Any], depth: int) -> Any:
    result = {_text(str(key)): tagged(item, depth + 1) for key, item in value.items()}
    if len(result) == 1 and next(iter(result)).startswith("$"):
        return {"$o": result}
    return result


def _dataclass_fields(value: Any) -> dict[str, Any] | None:
    """The fields of an instance of a dataclass, None for anything else."""
    names = getattr(type(value), "__dataclass_fields__", None)
    return None if names is None else {name: getattr(value, name) for name in names}


def _foreign(value: Any, depth: int) -> Any:
    """What other libraries make: arrays and scalars by duck typing, the rest by its text."""
    fields = _dataclass_fields(value)
    if fields is not None:
        return _mapping(fields, depth)
    if isinstance(value, os.PathLike):
        return _text(str(os.fspath(value)))
    to_list = getattr(value, "tolist", None)
    size = getattr(value, "size", 0)
    size = size() if callable(size) else size
    if callable(to_list) and isinstance(size, int) and size <= ITEMS_MAX:
        return tagged(to_list(), depth + 1)
    item = getattr(value, "item", None)
    if callable(item):
        return tagged(item(), depth + 1)
    names = getattr(value, "__dict__", None)
    if type(value).__name__ == "Namespace" and isinstance(names, dict):
        return _mapping(names, depth)
    return _text(repr(value)[:1000])


def tagged(value: Any, depth: int = 0) -> Any:
    """`value` as what json.dumps writes in the form of the run log. Never fails for odd values: they
    become their text."""
    if value is None or isinstance(value, bool):
        return value
    if depth > DEPTH_MAX:
        return _text(repr(value)[:1000])
    if isinstance(value, enum.Enum):
        return tagged(value.value, depth + 1)
    if isinstance(value, int):
        number = int(value)
        return number if -_EXACT <= number <= _EXACT else {"$i": str(number)}
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, str):
        return _text(str(value))
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, list | tuple | set | frozenset):
        return [tagged(item, depth + 1) for item in value]
    try:
        return _foreign(value, depth)
    except Exception:
        return f"<{type(value).__name__}>"


def dumps(value: Mapping[str, Any]) -> str:
    """A JSON object. A tagged single key at the top cannot occur: the log wants a plain object there."""
    plain = {_text(str(key)): tagged(item, 1) for key, item in value.items()}
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def flatten(metrics: Any) -> dict[str, Any]:
    """Nested mappings as one, with dots between the names. A loop, not a recursion."""
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any, int]] = [("", metrics, 0)]
    while waiting:
        prefix, mapping, depth = waiting.pop()
        for key, value in mapping.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping) and depth < DEPTH_MAX:
                waiting.append((f"{name}.", value, depth + 1))
            else:
                flat[name] = value
    return flat


def as_mapping(config: Any) -> dict[str, Any]:
    """The configuration that init() was given: a mapping, a dataclass, or an argparse namespace."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    fields = _dataclass_fields(config)
    return dict(vars(config)) if fields is None else fields
