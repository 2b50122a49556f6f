"""Reads api/openapi.yaml into operations and refuses whatever the server could not enforce."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

METHODS = ("get", "put", "post", "patch", "delete")
ROLES_ALONE = ("public", "user", "admin", "agent")
ROLES_SCOPED = ("viewer", "editor", "owner")
SCOPES = ("project", "run", "job", "key")
PRINCIPALS = ("session", "user", "job", "agent", "service", "setup")
PRINCIPALS_DEFAULT = ("session", "user", "service")
LANES = ("command", "read", "stream")
BODY_BYTES_DEFAULT = 1 << 20
PATH_PARAMS_MAX = 6
TEXT_BYTES_DEFAULT = 256
INTEGER_MAX = (1 << 53) - 1

Node = dict[str, Any]


class SpecError(Exception):
    """One line that names the operation at fault."""


@dataclass
class Param:
    name: str
    kind: str  # path or query
    required: bool
    type: str  # text, integer, boolean
    minimum: int = 0
    maximum: int = 0
    bytes_max: int = 0
    pattern_name: str | None = None
    enum_values: list[str] = field(default_factory=list)
    description: str = ""


@dataclass
class Operation:
    name: str
    method: str
    path: str
    segments: list[str]
    role: str
    scope: str
    scope_param: str | None
    principals: list[str]
    audit: bool
    body_bytes_max: int
    body_to_file: bool
    body_is_json: bool
    fenced: bool
    lane: str
    prepare: bool
    params: list[Param]
    node: Node
    tag: str

    @property
    def permission(self) -> str:
        return self.role if self.scope == "none" else f"{self.role}:{self.scope}"


@dataclass
class Spec:
    root: Node
    operations: list[Operation]

    def resolve(self, node: Node) -> Node:
        return resolve(self.root, node)


class _Loader(yaml.SafeLoader):
    """A key that is there twice is an error, not a silent loss."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Node:
    seen: set[str] = set()
    for key_node, _ in node.value:
        key = str(loader.construct_object(key_node))
        if key in seen:
            raise SpecError(f"line {key_node.start_mark.line + 1}: key {key!r} is there twice")
        seen.add(key)
    return {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def resolve(root: Node, node: Node) -> Node:
    """Follows $ref inside the document."""
    for _ in range(16):
        if "$ref" not in node:
            return node
        ref = str(node["$ref"])
        if not ref.startswith("#/"):
            raise SpecError(f"$ref {ref!r} leaves the document")
        at: Any = root
        for part in ref[2:].split("/"):
            if not isinstance(at, dict) or part not in at:
                raise SpecError(f"$ref {ref!r} leads nowhere")
            at = at[part]
        node = at
    raise SpecError("a $ref chain is longer than 16")


# The patterns C checks by hand, without a regex engine; src/http/http_route.c knows their names.
LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
PATTERN_NAMES = {
    LABEL_PATTERN: "label",
    "^[a-z0-9]([-a-z0-9._]{0,61}[a-z0-9])?$": "login",
    "^[0-9a-f]{64}$": "digest",
    "^[A-Za-z_][A-Za-z0-9_]{0,62}$": "variable",
}
PATTERN_BYTES = {"label": 63, "login": 63, "digest": 64, "id": 13, "variable": 63}


def _pattern_name(where: str, pattern: str) -> str:
    """`id:r` for public ids of kind r; see PATTERN_NAMES for the others."""
    letter = re.fullmatch(r"\^([a-z])\[a-z2-7\]\{12\}\$", pattern)
    if letter:
        return f"id:{letter.group(1)}"
    if pattern not in PATTERN_NAMES:
        raise SpecError(f"{where}: the server has no check for pattern {pattern!r}")
    return PATTERN_NAMES[pattern]


def _param(root: Node, operation: str, raw: Node) -> Param | None:
    node = resolve(root, raw)
    name, kind = str(node.get("name")), str(node.get("in"))
    where = f"{operation}: parameter {name!r}"
    if kind not in ("path", "query"):
        return None  # headers are the protocol's business, not the route table's
    schema = resolve(root, node.get("schema", {}))
    kind_of = schema.get("type")
    param = Param(name, kind, bool(node.get("required", False)), "text")
    param.description = str(node.get("description", ""))
    if kind == "path" and not param.required:
        raise SpecError(f"{where}: a path parameter says required: true")
    if kind_of == "integer":
        param.type = "integer"
        param.minimum = int(schema.get("minimum", -INTEGER_MAX))
        param.maximum = int(schema.get("maximum", INTEGER_MAX))
    elif kind_of == "boolean":
        param.type = "boolean"
    elif kind_of == "string":
        param.enum_values = [str(value) for value in schema.get("enum", [])]
        param.minimum = int(schema.get("minLength", 1))
        param.bytes_max = int(schema.get("maxLength", TEXT_BYTES_DEFAULT))
        if "pattern" in schema:
            param.pattern_name = _pattern_name(where, str(schema["pattern"]))
            param.bytes_max = PATTERN_BYTES[param.pattern_name.partition(":")[0]]
    else:
        raise SpecError(f"{where}: type {kind_of!r} is not string, integer or boolean")
    return param


def _permission(name: str, node: Node, params: list[Param]) -> tuple[str, str, str | None]:
    text = str(node.get("x-permission", ""))
    if not text:
        raise SpecError(f"{name}: has no x-permission")
    role, _, scope = text.partition(":")
    if not scope and role in ROLES_ALONE:
        return role, "none", None
    if role not in ROLES_SCOPED or scope not in SCOPES:
        raise SpecError(f"{name}: x-permission {text!r} is not known")
    if any(param.name == scope for param in params):
        return role, scope, scope
    if node.get("x-scope-from") == "body":
        return role, scope, None
    raise SpecError(
        f"{name}: x-permission {text!r} needs a parameter named {scope!r} or x-scope-from: body"
    )


def _principals(name: str, node: Node, role: str) -> list[str]:
    default: tuple[str, ...] = PRINCIPALS_DEFAULT
    if role == "public":
        default = PRINCIPALS
    elif role == "agent":
        default = ("agent",)
    principals = [str(value) for value in node.get("x-principals", default)]
    for value in principals:
        if value not in PRINCIPALS:
            raise SpecError(f"{name}: x-principals names {value!r}, which is not known")
    return principals


def _body(name: str, node: Node) -> tuple[int, bool]:
    to_file = bool(node.get("x-body-file", False))
    if "requestBody" not in node:
        if to_file or "x-body-limit" in node:
            raise SpecError(f"{name}: x-body-file and x-body-limit need a requestBody")
        return 0, False
    limit = int(node.get("x-body-limit", BODY_BYTES_DEFAULT))
    if limit < 1:
        raise SpecError(f"{name}: x-body-limit {limit} is below 1")
    return limit, to_file


def _segments(name: str, path: str, params: list[Param]) -> list[str]:
    if not path.startswith("/") or (path != "/" and path.endswith("/")):
        raise SpecError(f"{name}: path {path!r} must start with '/' and not end with it")
    segments = path[1:].split("/")
    named = []
    for segment in segments:
        whole = re.fullmatch(r"\{([a-z][a-z0-9_]*)\}", segment)
        if whole:
            named.append(whole.group(1))
        elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", segment):
            raise SpecError(f"{name}: path segment {segment!r} is neither plain nor one parameter")
    declared = [param.name for param in params if param.kind == "path"]
    if sorted(named) != sorted(declared):
        raise SpecError(f"{name}: path names {named}, its parameters are {declared}")
    if len(named) > PATH_PARAMS_MAX:
        raise SpecError(f"{name}: more than {PATH_PARAMS_MAX} path parameters")
    params.sort(key=lambda p: (p.kind != "path", named.index(p.name) if p.kind == "path" else 0))
    return segments


def _operation(root: Node, path: str, method: str, shared: list[Node], node: Node) -> Operation:
    name = str(node.get("operationId", ""))
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise SpecError(f"{method.upper()} {path}: operationId {name!r} is not snake_case")
    raw = {(p.get("in"), p.get("name")): p for p in (resolve(root, p) for p in shared)}
    raw |= {
        (p.get("in"), p.get("name")): p
        for p in (resolve(root, p) for p in node.get("parameters", []))
    }
    params = [p for p in (_param(root, name, value) for value in raw.values()) if p]
    segments = _segments(name, path, params)
    role, scope, scope_param = _permission(name, node, params)
    if method != "get" and "x-audit" not in node:
        raise SpecError(f"{name}: changes something and has no x-audit")
    lane = str(node.get("x-run-on", "read" if method == "get" else "command"))
    if lane not in LANES:
        raise SpecError(f"{name}: x-run-on {lane!r} is not known")
    body_bytes_max, body_to_file = _body(name, node)
    if not node.get("summary"):
        raise SpecError(f"{name}: has no summary")
    return Operation(
        name=name,
        method=method.upper(),
        path=path,
        segments=segments,
        role=role,
        scope=scope,
        scope_param=scope_param,
        principals=_principals(name, node, role),
        audit=bool(node.get("x-audit", False)),
        body_bytes_max=body_bytes_max,
        body_to_file=body_to_file,
        body_is_json="application/json" in node.get("requestBody", {}).get("content", {}),
        fenced=bool(node.get("x-fenced", False)),
        lane=lane,
        prepare=bool(node.get("x-prepare", False)),
        params=params,
        node=node,
        tag=str((node.get("tags") or ["other"])[0]),
    )


def spec_load(path: Path) -> Spec:
    """Operations in the order of the document. Fails with SpecError."""
    try:
        root: Node = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(root, dict) or not str(root.get("openapi", "")).startswith("3.1"):
        raise SpecError(f"{path}: is not OpenAPI 3.1")
    operations: list[Operation] = []
    names: dict[str, str] = {}
    for route, item in (root.get("paths") or {}).items():
        for method, node in item.items():
            if method in ("parameters", "summary", "description"):
                continue
            if method not in METHODS:
                raise SpecError(f"{route}: method {method!r} is not known")
            operation = _operation(root, route, method, item.get("parameters", []), node)
            if operation.name in names:
                raise SpecError(f"{operation.name}: is there twice")
            names[operation.name] = route
            operations.append(operation)
    if not operations:
        raise SpecError(f"{path}: has no operation")
    return Spec(root, operations)


HANDLER = re.compile(
    r"^enum err_code http_([a-z0-9_]+)\(struct http_call \*call, struct err \*err\)\s*\{",
    re.MULTILINE,
)


def handlers_check(operations: list[Operation], sources: list[Path]) -> None:
    """One handler an operation and the reverse; `http_call_*`, `http_dispatch_*` are the frame."""
    wanted = {operation.name: operation.name for operation in operations}
    wanted |= {f"{op.name}_prepare": op.name for op in operations if op.prepare}
    found: dict[str, Path] = {}
    for source in sources:
        for match in HANDLER.finditer(source.read_text(encoding="utf-8")):
            if not match.group(1).startswith(("call_", "dispatch_")):
                found[match.group(1)] = source
    lines = [f"{wanted[name]}: no handler http_{name}()" for name in wanted if name not in found]
    lines += [
        f"{found[name].name}: http_{name}() has no operation"
        for name in found
        if name not in wanted
    ]
    if lines:
        raise SpecError("\nerror: ".join(lines))
