"""Of the wheel that carries the program: any Python 3, one platform. scripts/wheel.sh puts it beside python/pyproject.toml."""

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class Platform(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    distclass=Platform,
    cmdclass={"bdist_wheel": AnyPython},
    package_data={"lynxbench": ["bin/lynxbench", "bin/liblynxbench.so.0", "sbom.cdx.json"]},
    entry_points={"console_scripts": ["lynxbench = lynxbench._program:main"]},
)
