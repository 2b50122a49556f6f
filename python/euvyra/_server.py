"""The one question that init() may ask a server, for resume="must"."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from . import _errors

WAIT_S = 10.0


def _key() -> str | None:
    path = os.environ.get("EUVYRA_API_KEY_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise _errors.InvalidError(f"EUVYRA_API_KEY_FILE: {error}") from None
    return os.environ.get("EUVYRA_API_KEY")


def _get(path: str) -> Any:
    server = os.environ.get("EUVYRA_SERVER", "")
    if not server.startswith(("http://", "https://")):
        raise _errors.NotFoundError(
            'resume="must": the run is not here and EUVYRA_SERVER is not set'
        )
    request = urllib.request.Request(server.rstrip("/") + path)
    key = _key()
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    authority = os.environ.get("EUVYRA_CA") or None
    context = ssl.create_default_context(cafile=authority) if server.startswith("https") else None
    with urllib.request.urlopen(request, timeout=WAIT_S, context=context) as answer:
        return json.load(answer)


def last_step(run: str) -> int:
    """The last step that the server has of `run`, -1 for none. Raises NotFoundError when it has no such
    run or does not answer in time."""
    try:
        _get(f"/api/v1/runs/{run}")
        page = _get(f"/api/v1/runs/{run}/metrics?limit=100")
    except urllib.error.HTTPError as error:
        raise _errors.NotFoundError(f'resume="must": run {run}: HTTP {error.code}') from None
    except (OSError, ValueError) as error:
        raise _errors.NotFoundError(f'resume="must": run {run}: {error}') from None
    steps = [item.get("last_step") for item in page.get("items", [])]
    return max((step for step in steps if isinstance(step, int)), default=-1)
