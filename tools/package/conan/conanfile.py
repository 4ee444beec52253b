# SPDX-License-Identifier: MIT
"""The library, the archive and the headers for Conan 2: `conan create tools/package/conan`.

Programs find them by the files for CMake and pkg-config that the library itself installs.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import build_jobs
from conan.tools.files import copy, load

SOURCES = ("Makefile", "sizeclass/*", "preload/*", "tools/*", "tests/*.mk", "docs/LICENSE")


class Pktmalloc(ConanFile):
    name = "pktmalloc"
    description = "malloc for programs that live on objects of a few fixed sizes"
    license = "MIT"
    topics = "malloc", "allocator"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    @property
    def root(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self.root, "preload", "contract", "pktmalloc.h"))
        self.version = re.search(r'#define PKTMALLOC_VERSION "(.*)"', header).group(1)

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self.root, self.export_sources_folder)

    def package_id(self):  # a C interface, always optimised
        del self.info.settings.compiler
        del self.info.settings.build_type

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("pktmalloc is for Linux on x86-64 and 64-bit ARM")
        if self.settings_build.arch != self.settings.arch:
            raise ConanInvalidConfiguration("this recipe builds for the processor that it runs on")

    def make(self, what):
        self.run(f"make {what} ARCH= VARIANT=release WERROR=")

    def build(self):
        self.make(f"library -j{build_jobs(self)}")

    def package(self):
        folder = self.package_folder
        self.make(f"install-library DESTDIR= PREFIX={folder} LIBDIR={folder}/lib "
                  "PKG_CONFIG_PREFIX='$${pcfiledir}/../..'")
        copy(self, "LICENSE", os.path.join(self.build_folder, "docs"),
             os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "pktmalloc")]
        self.cpp_info.libs = ["pktmalloc"]
