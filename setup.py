"""Packages, and editable installs that type checkers see; all else is in pyproject.toml."""

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

PRESETS = "kerastrans.saved_models"  # lie at the top level of a checkout, where nothing finds them


class EditableWheel(editable_wheel):
    """Editable installs as a folder on `sys.path`, instead of a finder that only Python runs."""

    def finalize_options(self):
        """Leave out the presets, which are found in the checkout: the rest is in one folder."""
        self.distribution.packages.remove(PRESETS)
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


setup(
    packages=[*find_packages(include=["kerastrans*"]), PRESETS],
    cmdclass={"editable_wheel": EditableWheel},
)
