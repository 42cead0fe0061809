// A made-up GPU as a target of the compiler: warps of 64 lanes, its own matrix fragments, 16 banks
// of 8 bytes in phases of its own, narrow accesses, and asynchronous copies that it counts or none.
// Nobody sells it, so no pass can know it.
#include "test/toy64/Toy64Target.h"
#include "backend/compile/Stages.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "mlir/AsmParser/AsmParser.h"
#include "passes/Pipeline.h"

using namespace tw;

// Lanes count along rows and columns first, and only then along the depth. What it copies ends it.
static constexpr llvm::StringLiteral kToy64 =
    "#tile.target<warp_size = 64, shared_bytes = 65536, registers = 128, spare_registers = 32,"
    " max_warps = 16, vector_bits = 64, line_bytes = 256, sector_bytes = 64, banks = 16,"
    " bank_bytes = 8, phases = [read 8 over 16 banks by lanes [1, 2, 20, 40],"
    " write 8 over 16 banks by lanes [1, 4, 16, 32]], mma = ["
    "#tile.mma<16 x 16 x 16, f16 in \"k0 k1 | m0 m1 m2 m3 k2 k3\","
    " f16 in \"k0 k1 | n0 n1 n2 n3 k2 k3\" -> f32 in \"m0 m1 | n0 n1 n2 n3 m2 m3\">]";
static constexpr llvm::StringLiteral kCounting =
    ", copies = [#tile.copy<each_lane of [4, 8] by counts>]";

static std::string textOf(bool isCounting) {
  return (kToy64 + (isCounting ? kCounting : "") + ">").str();
}

namespace {
class Toy64Target final : public Target {
public:
  explicit Toy64Target(bool isCounting) : isCounting(isCounting) {}
  std::string name() const override { return isCounting ? "toy64:counting" : "toy64"; }
  std::string describe() const override { return textOf(isCounting); }
  llvm::ArrayRef<CodeStage> codeStages() const override { return {}; }
  void addPasses(StagedPasses &passes, const CompileOptions &options) const override {
    unsigned numWarps = gpu::numWarpsOf(options);
    auto describe = [text = textOf(isCounting)](mlir::MLIRContext &context) {
      return llvm::cast<tile::TargetAttr>(mlir::parseAttribute(text, &context));
    };
    addSimtPasses(passes, gpu::createDescribeTarget({name(), describe, nullptr, numWarps}),
                  numWarps, unsigned(std::max(options.numStages, 1)));
  }
  bool compile(mlir::ModuleOp lowered, Artifact &artifact, std::string &error) const override {
    artifact.binary = printModule(lowered, /*withLocations=*/false);
    return true;
  }
  bool print(mlir::ModuleOp, CodeForm, std::string &, std::string &error) const override {
    error = "toy64 has no code";
    return false;
  }

private:
  bool isCounting;
};
} // namespace

std::unique_ptr<Target> tw::test::makeToy64Target(bool isCounting) {
  return std::make_unique<Toy64Target>(isCounting);
}
