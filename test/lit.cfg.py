# How lit runs the IR tests: every .mlir, .ll and .test file under ir/, passes/, backend/ and toy64/.
import os

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ll", ".test"]
config.excludes = ["Inputs", "unit", "python", "golden", "benchmark", "lint"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.build_root, "backend", "tools"), config.llvm_tools, os.environ["PATH"]]
)
for feature in ("avx512f", "avx512bf16", "avx2"):
    with open("/proc/cpuinfo", encoding="ascii") as cpuinfo:
        if feature.replace("avx512bf16", "avx512_bf16") in cpuinfo.read():
            config.available_features.add(feature)
