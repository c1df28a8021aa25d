"""A recipe for Spack: put this folder into a repository as packages/libshmem.

It builds the source archive of a release, which has the Go modules in it, so a build needs no
network. Spack looks for the archive in the folder where it is called.
"""

# Recipes of Spack take all its names at once.
# ruff: noqa: F403, F405

import os

from spack.package import *


class Libshmem(MakefilePackage):
    """Symmetric memory and one-sided communication between processes, on CPUs and GPUs."""

    manual_download = True
    url = f"file://{os.getcwd()}/libshmem-0.1.0.tar.gz"

    license("Apache-2.0")

    # SHA256SUMS of the release has the sum: spack install --no-checksum without it.
    version("0.1.0")

    variant("kernels", default=False, description="Compile the library's own kernels for CUDA")
    variant("nvshmem", default=True, description="Install the files for NVSHMEM programs")

    depends_on("c", type="build")
    depends_on("gmake@4.3:", type="build")
    depends_on("go@1.26:", type="build")
    depends_on("python@3.10:", type="build")
    depends_on("libfabric@1.11:")
    depends_on("hwloc@2:")
    depends_on("cuda@13:", type="build", when="+kernels")

    conflicts("platform=darwin", msg="libshmem needs Linux with glibc")

    def build(self, spec, prefix):
        """Install builds what it installs."""

    def install(self, spec, prefix):
        """By make install."""
        chosen = {
            "PREFIX": prefix,
            "KERNELS": "yes" if "+kernels" in spec else "no",
            "NVSHMEM": "yes" if "+nvshmem" in spec else "no",
        }
        if "+kernels" in spec:
            chosen["NVCC"] = spec["cuda"].prefix.bin.nvcc
        make("install", *(f"{name}={value}" for name, value in chosen.items()))

    def setup_run_environment(self, env):
        """The library loads libfabric and hwloc when a program starts."""
        for needed in ("libfabric", "hwloc"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec[needed].prefix.lib)
