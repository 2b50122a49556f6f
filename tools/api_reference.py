"""Renders docs/reference/api.md from the API description."""

from __future__ import annotations

from typing import Any

from api_spec import Node, Operation, Spec

TAG_TITLES = {
    "server": "Server",
    "identity": "Identity",
    "projects": "Projects",
    "runs": "Runs",
    "metrics": "Metrics",
    "blobs": "Files",
    "jobs": "Jobs",
    "agents": "Targets and agents",
    "events": "Live events",
}


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def ref_name(node: Node) -> str:
    return str(node["$ref"]).rsplit("/", 1)[-1]


def anchor(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def type_text(node: Node) -> str:
    """One schema in words, named schemas as links."""
    if "$ref" in node:
        return anchor(ref_name(node))
    if "oneOf" in node:
        return " or ".join(type_text(part) for part in node["oneOf"])
    if "enum" in node:
        return "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    kind: Any = node.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(str(part) for part in kind)
    if kind == "array":
        return f"list of {type_text(node.get('items', {}))}"
    if kind == "string" and node.get("format") == "binary":
        return "bytes"
    return str(kind)


def limits_text(node: Node) -> str:
    words = []
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ):
        if low in node and high in node:
            words.append(f"{node[low]} to {node[high]}{unit}")
        elif high in node:
            words.append(f"at most {node[high]}{unit}")
        elif low in node:
            words.append(f"at least {node[low]}{unit}")
    if "pattern" in node:
        words.append(f"`{node['pattern']}`")
    return ", ".join(words)


def size_text(count: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} bytes"


def params_table(spec: Spec, operation: Operation, path_node: Node) -> list[str]:
    rows = []
    for raw in [*path_node.get("parameters", []), *operation.node.get("parameters", [])]:
        node = spec.resolve(raw)
        schema = node.get("schema", {})
        what = ". ".join(
            part for part in (node.get("description", ""), limits_text(schema)) if part
        )
        must = "yes" if node.get("required") else "no"
        rows.append(
            f"| `{node['name']}` | {node['in']} | {type_text(schema)} | {must} | {cell(what)} |"
        )
    if not rows:
        return []
    return ["| parameter | in | type | required | |", "|---|---|---|---|---|", *rows, ""]


def permission_text(operation: Operation) -> str:
    if operation.role == "public":
        return "anybody"
    if operation.scope != "none":
        who = f"at least {operation.role} in the {operation.scope}'s project"
        if operation.scope == "project":
            who = f"at least {operation.role} in the project"
    else:
        who = {"user": "any signed-in caller", "admin": "administrators", "agent": "agents"}[
            operation.role
        ]
    return f"{who} ({', '.join(operation.principals)})"


def content_text(content: Node) -> str:
    return " or ".join(
        f"{type_text(media.get('schema', {}))} (`{kind}`)" for kind, media in content.items()
    )


def operation_text(spec: Spec, operation: Operation) -> list[str]:
    path_node = spec.root["paths"][operation.path]
    out = [f"### {operation.name}", "", f"`{operation.method} {operation.path}`", ""]
    out += [str(operation.node["summary"]).rstrip(".") + ".", ""]
    if operation.node.get("description"):
        out += [" ".join(str(operation.node["description"]).split()), ""]
    facts = [f"Who may call: {permission_text(operation)}."]
    if operation.audit:
        facts.append("Audited.")
    out += [" ".join(facts), ""]
    out += params_table(spec, operation, path_node)
    body = operation.node.get("requestBody")
    if body:
        limit = size_text(operation.body_bytes_max)
        out += [f"Body: {content_text(spec.resolve(body)['content'])}, at most {limit}.", ""]
    out += ["| status | answer |", "|---|---|"]
    for status, raw in operation.node.get("responses", {}).items():
        node = spec.resolve(raw)
        what = (
            content_text(node["content"]) if "content" in node else str(node.get("description", ""))
        )
        heads = ", ".join(f"`{name}`" for name in node.get("headers", {}))
        out.append(f"| {status} | {cell(what)}{f'; headers {heads}' if heads else ''} |")
    return [*out, ""]


def schema_text(spec: Spec, name: str, node: Node) -> list[str]:
    out = [f"### {name}", ""]
    if node.get("description"):
        out += [" ".join(str(node["description"]).split()) + ".", ""]
    parts = node.get("allOf", [node])
    rows = []
    for part in parts:
        if "$ref" in part:
            out += [f"Everything of {anchor(ref_name(part))}, and:", ""]
        required = set(part.get("required", []))
        for key, value in part.get("properties", {}).items():
            what = ". ".join(p for p in (value.get("description", ""), limits_text(value)) if p)
            must = "yes" if key in required else "no"
            rows.append(f"| `{key}` | {cell(type_text(value))} | {must} | {cell(what)} |")
    if rows:
        return [*out, "| field | type | always there | |", "|---|---|---|---|", *rows, ""]
    limits = limits_text(node)
    return [*out, f"{type_text(node)}{f', {limits}' if limits else ''}.", ""]


def render_reference(spec: Spec) -> str:
    info = spec.root["info"]
    out = [
        "# HTTP API",
        "",
        "<!-- Made by tools/gen_api.py from api/openapi.yaml. Do not edit. -->",
        "",
        " ".join(str(info.get("description", "")).split()),
        "",
    ]
    tags = list(dict.fromkeys(operation.tag for operation in spec.operations))
    for tag in tags:
        out += [f"## {TAG_TITLES.get(tag, tag.capitalize())}", ""]
        for operation in spec.operations:
            if operation.tag == tag:
                out += operation_text(spec, operation)
    out += ["## Documents", ""]
    for name, node in spec.root.get("components", {}).get("schemas", {}).items():
        out += schema_text(spec, name, node)
    return "\n".join(out).rstrip() + "\n"
