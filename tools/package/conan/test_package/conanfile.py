# SPDX-License-Identifier: MIT
"""A program with the shared library and one with the archive, found by CMake."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain


class Example(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.build = os.path.join("..", "..", "..", "..", "build", "conan", "example")
        self.folders.generators = self.folders.build
    user_presets_path = False

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # writes nothing beside the source
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for way in "pktmalloc", "static":
                self.run(os.path.join(self.build_folder, way), env="conanrun")
