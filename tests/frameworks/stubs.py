"""Lets the torch of PyPI, which is built for CUDA, run on its CPU code alone, without 2.4 GB of libraries.

For each CUDA library that torch's own files name and that is not installed, a small library is made beside
them with the symbols that are asked for; each returns an error. Called by the Python that has torch; needs
cc and binutils.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
import tempfile
from pathlib import Path

SITE = Path(sysconfig.get_paths()["platlib"])
LIB = SITE / "torch" / "lib"
NOT_CUDA = re.compile(r"GLIBC|GCC|CXXABI|GOMP|OMP|VERS|GFORTRAN")
HOMES = {
    "cudnn": "libcudnn",
    "nccl": "libnccl",
    "nvshmem": "libnvshmem_host",
    "NVSHMEM": "libnvshmem_host",
    "cusparseLt": "libcusparseLt",
    "cuFile": "libcufile",
    "cupti": "libcupti",
    "cublasLt": "libcublasLt",
    "cublas": "libcublas",
    "cusparse": "libcusparse",
    "cufft": "libcufft",
    "cusolver": "libcusolver",
    "nvrtc": "libnvrtc",
    "nvml": "libnvidia-ml",
}


def output(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def symbols(files: list[Path]) -> tuple[set[str], dict[str, str]]:
    """What they define, and what they ask for with the name of its version."""
    defined: set[str] = set()
    wanted: dict[str, str] = {}
    for file in files:
        for line in output("nm", "-D", file).splitlines():
            parts = line.split()
            name, _, version = parts[-1].replace("@@", "@").partition("@")
            if parts[-2] == "U":
                wanted[name] = version
            else:
                defined.add(name)
    return defined, wanted


def home(name: str, version: str, missing: set[str]) -> str | None:
    """The library that a symbol belongs to."""
    if version in missing:
        return version
    if NOT_CUDA.match(version):
        return None
    for prefix, library in HOMES.items():
        if name.startswith(prefix):
            return next((one for one in missing if one.startswith(library + ".")), None)
    return None


def make(library: str, names: dict[str, str], folder: Path) -> None:
    source, script = folder / "stub.c", folder / "stub.map"
    functions = "".join(f"int {name}(void) {{ return 100; }}\n" for name in names)
    source.write_text(functions or "int stub;\n")
    versions = sorted({version for version in names.values() if version})
    script.write_text(
        "".join(
            f"{version} {{ global: {' '.join(n + ';' for n in names if names[n] == version)} }};\n"
            for version in versions
        )
    )
    words: list[str | Path] = ["cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-o", LIB / library]
    words += [source, f"-Wl,-soname,{library}"]
    words += [f"-Wl,--version-script,{script}"] if versions else []
    subprocess.run(words, check=True)


def main() -> None:
    files = sorted([*LIB.glob("*.so*"), *(SITE / "torch").glob("_C*.so")])
    there = {path.name for path in [*LIB.iterdir(), *SITE.glob("nvidia/**/*.so*")]}
    needed = {
        name
        for file in files
        for name in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", file))
    }
    missing = {name for name in needed if re.match(r"lib(cu|nv|nccl)", name)} - there
    defined, wanted = symbols(files)
    by_library: dict[str, dict[str, str]] = {name: {} for name in missing}
    for name, version in wanted.items():
        library = home(name, version, missing)
        if library and name not in defined:
            by_library[library][name] = version
    with tempfile.TemporaryDirectory() as folder:
        for library, names in sorted(by_library.items()):
            make(library, names, Path(folder))


if __name__ == "__main__":
    main()
