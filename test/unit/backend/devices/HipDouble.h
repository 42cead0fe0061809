// Drives the double of libamdhip64 (test/unit/hip_double) in tests of what uses the HIP runtime.
#ifndef TEST_UNIT_BACKEND_HIPDOUBLE_H
#define TEST_UNIT_BACKEND_HIPDOUBLE_H
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/device/HipDriver.h"
#include "backend/amd/device/HipGpu.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/device/GpuDevice.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Tile.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"
#include "test/unit/backend/devices/DriverDouble.h"

namespace tw::test {

inline std::string hipDoublePath() { return doublePath("libamdhip64_double.so"); }

/// A kernel of a pointer, an i32 and a half, which writes the number of each of its threads.
inline Artifact hipArtifact(const std::string &arch = "gfx942", int64_t numWarps = 4,
                            AmdCode code = AmdCode::Hsaco) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect>(); // of the target's attributes
  std::string text = "module attributes {simt.num_warps = " + std::to_string(numWarps) +
                     " : i32, simt.shared_bytes = 0 : i64} {\n"
                     "llvm.func @number(%p: !llvm.ptr<1>, %n: i32, %s: f16) attributes "
                     "{simt.kernel} {\n%t = simt.thread_id\n"
                     "%q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                     "%v = llvm.add %t, %n : i32\nllvm.store %v, %q : i32, !llvm.ptr<1>\n"
                     "llvm.return\n}\n}";
  Artifact artifact;
  artifact.symbol = "number";
  artifact.parameters = {{"out", "*i32", true, false, 0},
                         {"n", "i32", false, false, 1},
                         {"s", "fp16", false, false, 2}};
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "k.py");
  const AmdArch *row = findAmdArch(arch);
  EXPECT_TRUE(module && row) << text;
  (*module)->setAttr(kTargetAttribute, describeAmd(*context, *row));
  mlir::PassManager passes(context.get());
  passes.addPass(createLowerAmd(*row));
  passes.addPass(createLowerToLlvm());
  std::string error;
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  EXPECT_TRUE(makeAmdTarget(arch, code)->compile(*module, artifact, error)) << error;
  return artifact;
}

class HipTest : public DriverTest {
protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(openDouble(hipDoublePath(), "hip"));
    chooseDevice = find<int(int)>("hipSetDevice");
    currentDevice = find<int(int *)>("hipGetDevice");
    takeLastFailure = find<int()>("hipGetLastError");
    ASSERT_TRUE(chooseDevice && currentDevice && takeLastFailure);
    takeLastFailure();
  }

  /// The GPU with a number, or null with `error`.
  std::optional<HipGpu> openGpu(int index = 0) {
    auto driver = gpu::openDriver(amd::hipDriver(), hipDoublePath(), error);
    return driver ? findHipGpu(driver, index, error) : std::nullopt;
  }
  std::shared_ptr<Device> openDevice(int index = 0) {
    std::optional<HipGpu> gpu = openGpu(index);
    return gpu ? gpu::makeGpuDevice(gpu->context) : nullptr;
  }
  std::optional<RuntimeError> runOnce(Device &device, const Artifact &artifact,
                                      const LaunchGrid &grid = {{4, 2, 1}, 0x77}) {
    return launchOnce(device, artifact, grid);
  }

  int (*chooseDevice)(int) = nullptr;
  int (*currentDevice)(int *) = nullptr;
  /// What the calling thread's calls left behind for whoever asks next.
  int (*takeLastFailure)() = nullptr;
};

} // namespace tw::test
#endif
