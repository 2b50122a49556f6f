"""The API description becomes a table, or one line that says which operation is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import tool_run

Node = dict[str, Any]
RUN = {
    "name": "run",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^r[a-z2-7]{12}$"},
}


def operation(name: str, **more: Any) -> Node:
    return {"operationId": name, "summary": name, "x-permission": "user", "responses": {}, **more}


def spec(paths: Node) -> Node:
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}


def small() -> Node:
    limit = {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 50},
    }
    kind = {
        "name": "kind",
        "in": "query",
        "schema": {"type": "string", "enum": ["metric", "system"]},
    }
    return spec(
        {
            "/health": {"get": operation("health", **{"x-permission": "public"})},
            "/runs": {"get": operation("run_list", parameters=[limit, kind])},
            "/runs/{run}": {
                "parameters": [RUN],
                "get": operation("run_show", **{"x-permission": "viewer:run"}),
                "put": operation(
                    "run_create",
                    **{
                        "x-permission": "editor:run",
                        "x-audit": True,
                        "x-prepare": True,
                        "requestBody": {
                            "content": {"application/json": {"schema": {"type": "object"}}}
                        },
                    },
                ),
            },
        }
    )


def handlers(folder: Path, *names: str) -> Path:
    folder.mkdir()
    text = "".join(
        f"enum err_code http_{name}(struct http_call *call, struct err *err)\n"
        "{\n    (void)call, (void)err;\n    return OK;\n}\n"
        for name in names
    )
    (folder / "all.c").write_text('#include "gen/http_routes.h"\n' + text)
    return folder


ALL = ("health", "run_list", "run_show", "run_create", "run_create_prepare")


def routes(tmp_path: Path, document: Node, *names: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "api.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "gen").mkdir()
    out = tmp_path / "gen"
    return tool_run(
        "gen_api.py", "routes", tmp_path / "api.yaml", "--out-h", out / "http_routes.h",
        "--out-c", out / "http_routes.c", "--handlers", handlers(tmp_path / "http", *names),
    )  # fmt: skip


def test_each_operation_with_its_handler_passes(tmp_path: Path) -> None:
    done = routes(tmp_path, small(), *ALL)
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_handler_is_named(tmp_path: Path) -> None:
    done = routes(tmp_path, small(), *(name for name in ALL if name != "run_show"))
    assert done.returncode == 1
    assert "error: run_show: no handler http_run_show()" in done.stderr


def test_handler_without_operation_is_named(tmp_path: Path) -> None:
    done = routes(tmp_path, small(), *ALL, "run_burn")
    assert done.returncode == 1
    assert "error: all.c: http_run_burn() has no operation" in done.stderr


@pytest.mark.parametrize(
    ("path", "method", "change", "message"),
    [
        ("/runs/{run}", "get", {"x-permission": None}, "run_show: has no x-permission"),
        (
            "/runs/{run}",
            "get",
            {"x-permission": "king:run"},
            "run_show: x-permission 'king:run' is not known",
        ),
        (
            "/runs",
            "get",
            {"x-permission": "viewer:job"},
            "run_list: x-permission 'viewer:job' needs",
        ),
        (
            "/runs/{run}",
            "put",
            {"x-audit": None},
            "run_create: changes something and has no x-audit",
        ),
        ("/runs/{run}", "put", {"x-run-on": "moon"}, "run_create: x-run-on 'moon' is not known"),
        ("/runs/{run}", "put", {"x-body-limit": 0}, "run_create: x-body-limit 0 is below 1"),
        ("/runs/{run}", "get", {"x-body-limit": 5}, "run_show: x-body-file and x-body-limit need"),
        ("/runs", "get", {"x-principals": ["elf"]}, "run_list: x-principals names 'elf'"),
        (
            "/runs",
            "get",
            {"operationId": "runList"},
            "GET /runs: operationId 'runList' is not snake_case",
        ),
        ("/runs", "get", {"operationId": "health"}, "health: is there twice"),
    ],
)
def test_wrong_operation_is_one_line(
    tmp_path: Path, path: str, method: str, change: Node, message: str
) -> None:
    document = small()
    node = document["paths"][path][method]
    for key, value in change.items():
        if value is None:
            del node[key]
        else:
            node[key] = value
    done = routes(tmp_path, document, *ALL)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_unknown_pattern_is_refused(tmp_path: Path) -> None:
    document = small()
    document["paths"]["/runs/{run}"]["parameters"] = [
        {**RUN, "schema": {"type": "string", "pattern": "^x+$"}}
    ]
    done = routes(tmp_path, document, *ALL)
    assert "has no check for pattern '^x+$'" in done.stderr


def test_double_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text("openapi: 3.1.0\nopenapi: 3.1.0\n")
    done = tool_run("gen_api.py", "check", tmp_path / "api.yaml")
    assert "line 2: key 'openapi' is there twice" in done.stderr


PROBE = r"""
#include "gen/http_routes.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    struct http_route_match match;
    (void)argc;
    http_route_find(http_path_nodes, str_from(argv[1]), str_from(argv[2]), &match);
    printf("%s %s", match.route ? match.route->operation : "-", match.allow ? match.allow : "-");
    for (size_t i = 0; i < match.param_count; i++)
        printf(" %.*s", STR_ARG(match.params[i]));
    for (int i = 3; match.route && i < argc; i++) {
        struct err err = {0};
        printf(" %d", http_param_check(&match.route->params[i - 3], str_from(argv[i]), &err));
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that asks the generated table of the small description."""
    root = Path(__file__).resolve().parents[2]
    folder = tmp_path_factory.mktemp("probe")
    assert routes(folder, small(), *ALL).returncode == 0
    (folder / "main.c").write_text(PROBE)
    sources = [folder / "main.c", folder / "gen/http_routes.c", folder / "http/all.c"]
    sources += [root / "src/http/http_route.c", *(root / "src/base").glob("*.c")]
    subprocess.run(
        ["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", f"-I{root / 'src'}",
         f"-I{folder}", *map(str, sources), "-ljansson", "-lpcre2-8", "-lm", "-o", str(folder / "probe")],
        check=True,
    )  # fmt: skip
    return folder / "probe"


ID = "rabcdefghijkl"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (["GET", "/health"], "health GET, HEAD"),
        (["HEAD", "/health"], "health GET, HEAD"),
        (["POST", "/health"], "- GET, HEAD"),
        (["GET", "/nothing"], "- -"),
        (["GET", "/runs"], "run_list GET, HEAD"),
        (["GET", "/runs/"], "- -"),
        (["GET", "//runs"], "- -"),
        (["GET", "/"], "- -"),
        (["GET", ""], "- -"),
        (["PUT", f"/runs/{ID}"], f"run_create GET, HEAD, PUT {ID}"),
        (["GET", f"/runs/{ID}/x"], "- -"),
        (["GET", "/runs", "50"], "run_list GET, HEAD 0"),
        (["GET", "/runs", "51"], "run_list GET, HEAD 1"),
        (["GET", "/runs", "1", "system"], "run_list GET, HEAD 0 0"),
        (["GET", "/runs", "1", "other"], "run_list GET, HEAD 0 1"),
        (["GET", f"/runs/{ID}", ID], f"run_show GET, HEAD, PUT {ID} 0"),
        (["GET", "/runs/x", "x"], "run_show GET, HEAD, PUT x 7"),
        (["GET", "/runs/x", "jabcdefghijkl"], "run_show GET, HEAD, PUT x 7"),
        (["GET", "/runs/x", "rabcdefghijk1"], "run_show GET, HEAD, PUT x 7"),
    ],
)
def test_path_finds_its_route(probe: Path, question: list[str], answer: str) -> None:
    done = subprocess.run([str(probe), *question], capture_output=True, text=True, check=True)
    assert done.stdout == answer


def test_reference_is_current_only_when_equal(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(yaml.safe_dump(small()))
    page = tmp_path / "api.md"
    assert (
        tool_run("gen_api.py", "reference", tmp_path / "api.yaml", "--check", page).returncode == 1
    )
    assert tool_run("gen_api.py", "reference", tmp_path / "api.yaml", "--out", page).returncode == 0
    assert (
        tool_run("gen_api.py", "reference", tmp_path / "api.yaml", "--check", page).returncode == 0
    )
    assert "`PUT /runs/{run}`" in page.read_text()
