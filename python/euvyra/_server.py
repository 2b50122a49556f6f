"""The one question that init() may ask a server, for resume="must"."""

from __future__ import annotations

import json
import os
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from . import _errors

WAIT_S = 10.0
PAGES_MAX = 1000


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to wherever it leads."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _key() -> str | None:
    path = os.environ.get("EUVYRA_API_KEY_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise _errors.InvalidError(f"EUVYRA_API_KEY_FILE: {error}") from None
    return os.environ.get("EUVYRA_API_KEY")


class _Question:
    """Asked in a thread of its own: name look-ups and answers that trickle have no time limit."""

    def __init__(self, server: str, run: str) -> None:
        self.server = server.rstrip("/")
        self.run = run
        self.end = time.monotonic() + WAIT_S
        self.key = _key()
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if server.startswith("https://"):
            authority = os.environ.get("EUVYRA_CA") or None
            try:
                context = ssl.create_default_context(cafile=authority)
            except OSError as error:
                raise _errors.InvalidError(f"EUVYRA_CA={authority!r}: {error}") from None
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self.opener = urllib.request.build_opener(*handlers)
        self.last_step: int | None = None
        self.problem: Exception | None = None

    def _get(self, path: str) -> Any:
        request = urllib.request.Request(f"{self.server}/api/v1/runs/{self.run}{path}")
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        left = max(self.end - time.monotonic(), 0.01)
        with self.opener.open(request, timeout=left) as answer:
            return json.load(answer)

    def _ask(self) -> int:
        self._get("")
        last, cursor = -1, ""
        for _ in range(PAGES_MAX):
            page = self._get(f"/metrics?limit=1000{cursor}")
            for item in page["items"]:
                if item["kind"] != "system" and isinstance(item["last_step"], int):
                    last = max(last, item["last_step"])
            if not page["next_cursor"]:
                return last
            cursor = f"&cursor={urllib.parse.quote(page['next_cursor'], safe='')}"
        raise ValueError("its list of metrics has no end")

    def ask(self) -> None:
        try:
            self.last_step = self._ask()
        except Exception as error:
            self.problem = error


def _error_of(server: str, run: str, problem: Exception | None) -> _errors.NotFoundError:
    begin = f'resume="must": run {run} is not here, and {server}'
    if isinstance(problem, urllib.error.HTTPError):
        if problem.code == 404:
            return _errors.NotFoundError(f"{begin} does not know it or may not show it")
        if problem.code in (401, 403):
            return _errors.NotFoundError(f"{begin} refuses the key", "unauthenticated")
        return _errors.NotFoundError(f"{begin} answered with status {problem.code}", "unavailable")
    if problem is None or isinstance(problem, TimeoutError):
        return _errors.NotFoundError(f"{begin} did not answer in {WAIT_S:g} s", "unavailable")
    if isinstance(problem, urllib.error.URLError):
        return _errors.NotFoundError(f"{begin} does not answer: {problem.reason}", "unavailable")
    return _errors.NotFoundError(f"{begin} answered nonsense: {problem!r}", "unavailable")


def last_step(run: str) -> int:
    """The last step that the server has of `run`, -1 for none. Raises NotFoundError when it has no such
    run or does not answer in time; its `kind` tells which."""
    server = os.environ.get("EUVYRA_SERVER", "")
    if not server:
        raise _errors.NotFoundError(
            f'resume="must": run {run} is not here, and no EUVYRA_SERVER is set to ask'
        )
    if not server.startswith(("http://", "https://")):
        raise _errors.InvalidError(f"EUVYRA_SERVER={server!r} is no http:// or https:// address")
    question = _Question(server, run)
    thread = threading.Thread(target=question.ask, name="euvyra-resume", daemon=True)
    thread.start()
    thread.join(WAIT_S)
    if question.last_step is None:
        raise _error_of(server, run, question.problem)
    return question.last_step
