// A made-up GPU as a device: its code is the text of the stage lowered, which it evaluates.
#include "test/toy64/Toy64Device.h"
#include "backend/compile/Compiler.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "runtime/codes/Codes.h"
#include "test/toy64/WarpEvaluator.h"

using namespace tw;
using namespace tw::test;

static constexpr unsigned kWarpSize = 64;

namespace {
struct Toy64Kernel final : LoadedKernel {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp entry;
  unsigned numWarps = 1;
};

class Toy64Device final : public Device {
public:
  std::string name() const override { return "toy64"; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
};
} // namespace

std::shared_ptr<LoadedKernel> Toy64Device::load(const Artifact &artifact, RuntimeError &error) {
  auto kernel = std::make_shared<Toy64Kernel>();
  kernel->context->loadAllAvailableDialects();
  kernel->module = mlir::parseSourceString<mlir::ModuleOp>(artifact.binary, kernel->context.get());
  if (kernel->module)
    kernel->entry = kernel->module->lookupSymbol<mlir::LLVM::LLVMFuncOp>(artifact.symbol);
  if (!kernel->entry) {
    error = {RuntimeError::Kind::Internal, Code::UnloadableKernel,
             "toy64 cannot load " + artifact.symbol, ""};
    return nullptr;
  }
  if (auto numWarps = (*kernel->module)->getAttrOfType<mlir::IntegerAttr>(simt::kNumWarps))
    kernel->numWarps = unsigned(numWarps.getInt());
  return kernel;
}

/// What a program does that no machine may; empty when it does nothing of the kind.
static std::string runProgram(Toy64Kernel &kernel, const LaunchGrid &grid,
                              std::array<uint32_t, 3> program,
                              std::span<const LaunchArgument> arguments) {
  WarpEvaluator machine(kWarpSize * kernel.numWarps, kWarpSize);
  machine.program = program;
  for (unsigned axis = 0; axis < 3; ++axis)
    machine.numPrograms[axis] = uint32_t(grid.programs[axis]);
  for (auto [parameter, argument] : llvm::zip_equal(kernel.entry.getArguments(), arguments)) {
    machine.set(parameter, argument.bits);
    auto *memory = reinterpret_cast<uint8_t *>(argument.allocationBase);
    if (argument.bytes > 0)
      machine.buffers.emplace_back(memory, argument.bytes);
  }
  machine.run(kernel.entry.getBody().front());
  return machine.error;
}

std::optional<RuntimeError> Toy64Device::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                                std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<Toy64Kernel &>(loaded);
  auto [x, y, z] = grid.programs;
  for (int32_t program = 0; program < x * y * z; ++program) {
    std::array<uint32_t, 3> place = {uint32_t(program % x), uint32_t(program / x % y),
                                     uint32_t(program / x / y)};
    std::string fault = runProgram(kernel, grid, place, arguments);
    if (!fault.empty())
      return RuntimeError{RuntimeError::Kind::Device, Code::SimulatorFinding, fault, ""};
  }
  return std::nullopt;
}

std::shared_ptr<Device> tw::test::makeToy64Device() { return std::make_shared<Toy64Device>(); }
