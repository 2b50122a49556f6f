"""A forbidden include is found, with the reason; an allowed one is not."""

from __future__ import annotations

from pathlib import Path

import layers
import pytest
import tomllib

RULES = tomllib.loads((Path(layers.__file__).parent / "layers.toml").read_text())


def problems(tmp_path: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "src").mkdir(exist_ok=True)
    return layers.run(tmp_path, RULES)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("base/x.c", "model/run.h"),
        ("runlog/x.c", "base/str.h"),
        ("model/x.c", "sys/clock.h"),
        ("wire/x.c", "store/run.h"),
        ("domain/jobs/jobs_act.c", "sys/clock.h"),
        ("domain/jobs/jobs_act.c", "http/http_route.h"),
        ("http/x.c", "store/run.h"),
        ("drivers/blob/fs/fs.c", "drivers/blob/s3/s3.h"),
        ("drivers/blob/fs/fs.c", "store/run.h"),
        ("agent/x.c", "drivers/cloud/aws/aws.h"),
        ("agent/x.c", "store/run.h"),
        ("sim/x.c", "domain/jobs/jobs_act.h"),
        ("server/x.c", "cli/x.h"),
        ("client/x.c", "base/str.h"),
    ],
)
def test_forbidden_include_is_found(tmp_path: Path, source: str, target: str) -> None:
    found = problems(tmp_path, {f"src/{source}": f'#include "{target}"\n'})
    assert len(found) == 1
    assert found[0].startswith(f"src/{source}: may not include {target} (")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("model/x.c", "base/str.h"),
        ("store/x.c", "gen/sql_statements.h"),
        ("agent/x.c", "drivers/executor/process/process.h"),
        ("drivers/blob/fs/fs.c", "drivers/common/retry.h"),
        ("sim/x.c", "domain/jobs/jobs_state.h"),
        ("domain/jobs/jobs_act.c", "domain/runs/runs.h"),
        ("server/x.c", "drivers/blob/s3/s3.h"),
    ],
)
def test_allowed_include_passes(tmp_path: Path, source: str, target: str) -> None:
    assert problems(tmp_path, {f"src/{source}": f'#include "{target}"\n'}) == []


def test_domain_may_not_include_what_ranks_above(tmp_path: Path) -> None:
    found = problems(tmp_path, {"src/domain/runs/runs.c": '#include "domain/jobs/jobs.h"\n'})
    assert found == [
        "src/domain/runs/runs.c: may not include domain/jobs/jobs.h (jobs ranks above runs)"
    ]


def test_folder_without_rule_is_found(tmp_path: Path) -> None:
    found = problems(tmp_path, {"src/misc/x.c": "int x;\n"})
    assert found == ["src/misc/x.c: folder 'misc' has no rule in tools/layers.toml"]


def test_header_cycle_is_found(tmp_path: Path) -> None:
    files = {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'}
    assert problems(tmp_path, files) == ["headers: cycle base/a.h -> base/b.h -> base/a.h"]


def test_extension_sees_the_public_header_only(tmp_path: Path) -> None:
    files = {"python/euvyra/_core.c": '#include "euvyra/euvyra.h"\n#include "runlog/writer.h"\n'}
    found = problems(tmp_path, files)
    assert len(found) == 1
    assert "may not include runlog/writer.h" in found[0]


def test_heavy_import_at_start_is_found(tmp_path: Path) -> None:
    text = "import os\nimport numpy as np\n\ndef f():\n    import torch\n"
    found = problems(tmp_path, {"python/euvyra/_run.py": text})
    assert len(found) == 1
    assert found[0].startswith("python/euvyra/_run.py: may not include numpy")


def test_python_cycle_is_found_but_type_checking_is_free(tmp_path: Path) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._b import B\n"
    assert (
        problems(
            tmp_path, {"python/euvyra/_a.py": typed, "python/euvyra/_b.py": "from ._a import A\n"}
        )
        == []
    )
    found = problems(tmp_path, {"python/euvyra/_a.py": "from ._b import B\n"})
    assert found == ["python/euvyra: cycle _a -> _b -> _a"]


@pytest.mark.parametrize(
    ("source", "text", "what"),
    [
        ("base/x.ts", "import { a } from '../api/client'\n", "api/client"),
        ("widgets/x.tsx", "import type { A } from '../features/runs/page'\n", "features/runs/page"),
        (
            "features/runs/x.tsx",
            "import {\n  a,\n  b,\n} from '../jobs/page'\n",
            "features/jobs/page",
        ),
        (
            "features/runs/x.tsx",
            "import { Menu } from '@base-ui/react/menu'\n",
            "@base-ui/react/menu",
        ),
        ("charts/core/x.ts", "import { useState } from 'react'\n", "react"),
        ("features/runs/x.tsx", "const u = await import('uplot')\n", "uplot"),
    ],
)
def test_forbidden_typescript_import_is_found(
    tmp_path: Path, source: str, text: str, what: str
) -> None:
    found = problems(tmp_path, {f"console/src/{source}": text})
    assert len(found) == 1
    assert found[0].startswith(f"console/src/{source}: may not include {what} (")


def test_allowed_typescript_import_passes(tmp_path: Path) -> None:
    text = "import { a } from '../../widgets/button'\nimport { b } from './row'\n"
    assert problems(tmp_path, {"console/src/features/runs/x.tsx": text}) == []


def test_exception_that_is_not_needed_is_a_problem(tmp_path: Path) -> None:
    rules = RULES | {"exceptions": {"list": ["src/base/x.c -> model/run.h"]}}
    (tmp_path / "src/base").mkdir(parents=True)
    (tmp_path / "src/base/x.c").write_text('#include "model/run.h"\n')
    assert layers.run(tmp_path, rules) == []
    (tmp_path / "src/base/x.c").write_text("int x;\n")
    assert layers.run(tmp_path, rules) == ["exception 'src/base/x.c -> model/run.h' is not needed"]
