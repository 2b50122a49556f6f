"""Renders operations as the C route table: see src/http/http_route.h for what it means."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from api_spec import Operation, Param, SpecError

BANNER = "/* Made by tools/gen_api.py from api/openapi.yaml. Do not edit. */\n"


@dataclass
class TreeNode:
    """One segment of a path. `param` children match anything and come last."""

    segment: str
    children: dict[str, TreeNode] = field(default_factory=dict)
    operations: list[int] = field(default_factory=list)


def c_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("??", '?""?')


def enum_name(operation: Operation) -> str:
    return f"HTTP_OP_{operation.name.upper()}"


def render_routes_h(operations: list[Operation]) -> str:
    names = "".join(f"    {enum_name(operation)},\n" for operation in operations)
    handlers = "".join(
        f"enum err_code http_{operation.name}(struct http_call *call, struct err *err);\n"
        + (
            f"enum err_code http_{operation.name}_prepare(struct http_call *call, struct err *err);\n"
            if operation.prepare
            else ""
        )
        for operation in operations
    )
    return (
        f"{BANNER}/* thread: any (constant) */\n#pragma once\n\n"
        f'#include "http/http_route.h"\n\n'
        f"enum http_op {{\n{names}    HTTP_OP_COUNT\n}};\n\n"
        "extern const struct http_route http_routes[HTTP_OP_COUNT];\n"
        "extern const struct http_path_node http_path_nodes[];\n\n"
        f"{handlers}"
    )


def _param_c(operation: Operation, index: int, param: Param) -> str:
    enum_ref = f"{operation.name}_{index}_values" if param.enum_values else "NULL"
    pattern = c_text(param.pattern_name) if param.pattern_name else "NULL"
    required = "true" if param.required else "false"
    return (
        f"    {{.name = {c_text(param.name)}, .kind = HTTP_PARAM_{param.kind.upper()}, "
        f".required = {required},\n"
        f"     .type = HTTP_PARAM_{param.type.upper()}, .min = {param.minimum}, .max = {param.maximum},\n"
        f"     .bytes_max = {param.bytes_max}, .pattern_name = {pattern}, .enum_values = {enum_ref}}},\n"
    )


def _params_c(operation: Operation) -> str:
    out = ""
    for index, param in enumerate(operation.params):
        if param.enum_values:
            values = ", ".join(c_text(value) for value in param.enum_values)
            out += f"static const char *const {operation.name}_{index}_values[] = {{{values}, NULL}};\n"
    if operation.params:
        rows = "".join(_param_c(operation, i, param) for i, param in enumerate(operation.params))
        out += f"static const struct http_param {operation.name}_params[] = {{\n{rows}}};\n"
    return out


def _route_c(operation: Operation) -> str:
    bits = " | ".join(f"HTTP_PRINCIPAL_{name.upper()}" for name in operation.principals) or "0"
    scope_param = c_text(operation.scope_param) if operation.scope_param else "NULL"
    params = f"{operation.name}_params" if operation.params else "NULL"
    prepare = f"http_{operation.name}_prepare" if operation.prepare else "NULL"
    return (
        f"    [{enum_name(operation)}] = {{\n"
        f"        .op = {enum_name(operation)}, .operation = {c_text(operation.name)},\n"
        f"        .method = {c_text(operation.method)}, .path = {c_text(operation.path)},\n"
        f"        .role = HTTP_ROLE_{operation.role.upper()},\n"
        f"        .scope = HTTP_SCOPE_{operation.scope.upper()},\n"
        f"        .scope_param = {scope_param}, .principals = {bits},\n"
        f"        .audit = {'true' if operation.audit else 'false'}, "
        f".body_bytes_max = {operation.body_bytes_max}, "
        f".body_to_file = {'true' if operation.body_to_file else 'false'},\n"
        f"        .body_is_json = {'true' if operation.body_is_json else 'false'}, "
        f".fenced = {'true' if operation.fenced else 'false'},\n"
        f"        .lane = HTTP_LANE_{operation.lane.upper()}, .params = {params}, "
        f".param_count = {len(operation.params)},\n"
        f"        .handler = http_{operation.name}, .prepare = {prepare},\n"
        f"    }},\n"
    )


def _tree(operations: list[Operation]) -> TreeNode:
    root = TreeNode("")
    for index, operation in enumerate(operations):
        at = root
        for segment in operation.segments:
            key = "{}" if segment.startswith("{") else segment
            at = at.children.setdefault(key, TreeNode(key))
        for other in at.operations:
            if operations[other].method == operation.method:
                raise SpecError(
                    f"{operation.name}: same method and path as {operations[other].name}"
                )
        at.operations.append(index)
    return root


def _children(node: TreeNode) -> list[TreeNode]:
    """Literals sorted by bytes for the binary search, the parameter last."""
    return sorted(node.children.values(), key=lambda c: (c.segment == "{}", c.segment.encode()))


def _allow(node: TreeNode, operations: list[Operation]) -> str:
    methods = {operations[index].method for index in node.operations}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def _nodes_c(operations: list[Operation]) -> str:
    """Breadth first, so that the children of a node lie side by side."""
    order = [_tree(operations)]
    tables, rows = "", ""
    at = 0
    while at < len(order):
        node = order[at]
        children = _children(node)
        first = len(order) if children else 0
        order += children
        routes = "NULL"
        if node.operations:
            routes = f"node_{at}_routes"
            items = ", ".join(f"&http_routes[{enum_name(operations[i])}]" for i in node.operations)
            tables += f"static const struct http_route *const {routes}[] = {{{items}, NULL}};\n"
        literals = sum(1 for child in children if child.segment != "{}")
        rows += (
            f"    {{.segment = {c_text(node.segment)}, .segment_len = {len(node.segment.encode())}, "
            f".first_child = {first},\n     .literal_count = {literals}, "
            f".has_param = {'true' if literals < len(children) else 'false'}, .routes = {routes},\n"
            f"     .allow = {c_text(_allow(node, operations))}}},\n"
        )
        at += 1
    return f"{tables}\nconst struct http_path_node http_path_nodes[] = {{\n{rows}}};\n"


def render_routes_c(operations: list[Operation], header: str) -> str:
    params = "".join(_params_c(operation) for operation in operations)
    routes = "".join(_route_c(operation) for operation in operations)
    return (
        f'{BANNER}#include "gen/{header}"\n\n{params}\n'
        f"const struct http_route http_routes[HTTP_OP_COUNT] = {{\n{routes}}};\n\n{_nodes_c(operations)}"
    )
