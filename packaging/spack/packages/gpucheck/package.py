# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Gpucheck(MakefilePackage):
    """Say which GPU, NIC, link or node of a cluster is broken."""

    # From a clone: spack develop -p PATH gpucheck@main
    version("main", branch="main", git="file:///usr/src/gpucheck")

    license("BSD-3-Clause")

    variant("cuda", default=True, description="transports that need cuda.h")
    variant("nccl", default=True, description="NCCL, by its header")
    variant("verbs", default=True, description="RDMA, by the header of verbs")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("libuv")
    depends_on("jansson")
    depends_on("inih")
    depends_on("popt")
    depends_on("libsodium")
    depends_on("zlib-api")
    # headers: the libraries are loaded where they are
    depends_on("cuda", type="build", when="+cuda")
    depends_on("nccl", type="build", when="+nccl")
    depends_on("rdma-core", type="build", when="+verbs")
    depends_on("gnuplot", type="run")

    def flags(self):
        cuda = self.spec["cuda"].prefix if "+cuda" in self.spec else "/none"
        have = [
            f"HAVE_{name.upper()}={int(f'+{name}' in self.spec)}"
            for name in ("cuda", "nccl", "verbs")
        ]
        return have + [f"CUDA_HOME={cuda}", f"PREFIX={self.prefix}"]

    def build(self, spec, prefix):
        make(*self.flags(), "gpucheck")

    def install(self, spec, prefix):
        make(*self.flags(), "install")
