"""Builds euvyra._core: the extension together with the C client library, as one stable-ABI object.

The C sources lie beside this folder, in src/ and include/ of the same tree.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

here = Path(__file__).resolve().parent
tree = here.parent
client = ["client.c", "folder.c", "names.c", "rank.c", "start.c"]
runlog = [
    "crc.c", "encode.c", "format.c", "json.c", "record.c", "redact.c", "segments.c", "writer.c",
]  # fmt: skip


class BuildBeside(build_ext):
    """Compiles sources from outside this folder into a build folder inside it."""

    def build_extension(self, ext: Extension) -> None:
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        compiled = self.compiler.compile(
            [str(tree / source) for source in ext.sources],
            output_dir=str(Path(self.build_temp).resolve()),
            macros=ext.define_macros,
            include_dirs=[*ext.include_dirs, *self.compiler.include_dirs],
            extra_postargs=ext.extra_compile_args,
        )
        self.compiler.link_shared_object(compiled, str(target), extra_postargs=ext.extra_link_args)


setup(
    ext_modules=[
        Extension(
            "euvyra._core",
            sources=[
                "python/euvyra/_core.c",
                "python/euvyra/_watch.c",
                *(f"src/client/{name}" for name in client),
                *(f"src/runlog/{name}" for name in runlog),
            ],
            include_dirs=[str(tree), str(tree / "include"), str(tree / "src")],
            define_macros=[("Py_LIMITED_API", "0x030A0000"), ("_GNU_SOURCE", None)],
            extra_compile_args=["-std=gnu17", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
            extra_link_args=["-pthread"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildBeside},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
