"""Editable installs that type checkers and editors see; all else is in pyproject.toml."""

from setuptools import setup
from setuptools.command.editable_wheel import editable_wheel


class EditableWheel(editable_wheel):
    """Editable installs as a folder on `sys.path`, instead of a finder that only Python runs."""

    def finalize_options(self):
        """Leave out the presets, which are found in the checkout: the rest is in one folder."""
        self.distribution.packages.remove("kerastrans.saved_models")
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


setup(cmdclass={"editable_wheel": EditableWheel})
