// The kernel's function as the driver and LLVM's code generator want it.
#include "backend/amd/LowerAmd.h"
#include "backend/amd/codegen/Passes.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::amd;

/// The hidden inputs that the driver would pass beside the user's arguments and that no kernel
/// reads, by their names in LLVM's attributes ("amdgpu-no-" + name).
static constexpr StringLiteral kUnusedInputs[] = {
    "dispatch-ptr",  "queue-ptr",          "dispatch-id",       "workitem-id-y",
    "workitem-id-z", "heap-ptr",           "hostcall-ptr",      "lds-kernel-id",
    "default-queue", "multigrid-sync-arg", "completion-action", "flat-scratch-init"};

static bool calls(LLVM::LLVMFuncOp kernel, StringRef intrinsic) {
  WalkResult found = kernel.walk([&](LLVM::CallIntrinsicOp call) {
    return call.getIntrin() == intrinsic ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// Lists the numbers of registers with which a processor holds more programs than with more of
/// them, in ascending order: as many as its shared memory lets it, or fewer.
static std::string registerStepsOf(LLVM::LLVMFuncOp kernel, unsigned numWarps,
                                   const AmdArch &arch) {
  auto bytes = kernel->getParentOp()->getAttrOfType<IntegerAttr>(simt::kSharedBytes);
  auto programsWith = [&](unsigned registers) {
    return arch.processor().programsThatFit(numWarps, registers, bytes ? bytes.getInt() : 0);
  };
  std::string steps;
  const unsigned most = arch.allRegisters();
  for (unsigned registers = arch.registerGranule; registers < most;
       registers += arch.registerGranule)
    if (programsWith(registers) > programsWith(registers + 1))
      steps += std::to_string(registers) + ",";
  return steps + std::to_string(most);
}

/// Makes the function a kernel of `numWarps` waves.
void tw::amd::declareKernel(LLVM::LLVMFuncOp kernel, unsigned numWarps, const AmdArch &arch,
                            const AmdLimits &limits) {
  Builder b(kernel.getContext());
  kernel.setCConv(LLVM::cconv::CConv::AMDGPU_KERNEL);
  SmallVector<Attribute> attributes;
  auto add = [&](StringRef name, const std::string &value) {
    attributes.push_back(b.getStrArrayAttr({name, value}));
  };
  std::string threads = std::to_string(numWarps * arch.warpSize);
  add("amdgpu-flat-work-group-size", threads + "," + threads);
  add("uniform-work-group-size", "true");
  add("denormal-fp-math-f32", "ieee");
  // In IEEE mode minimum and maximum of numbers would quiet signalling NaN first, by an instruction
  // each. RDNA 4 has no such mode.
  if (arch.generation < 12)
    add("amdgpu-ieee", "false");
  for (StringRef input : kUnusedInputs)
    add(("amdgpu-no-" + input).str(), "");
  for (const char *axis : {"y", "z"})
    if (!calls(kernel, std::string("llvm.amdgcn.workgroup.id.") + axis))
      add(std::string("amdgpu-no-workgroup-id-") + axis, "");
  if (!calls(kernel, "llvm.amdgcn.implicitarg.ptr"))
    add("amdgpu-no-implicitarg-ptr", "");
  for (const auto &[name, value] : limits.attributes)
    add(name, value);
  add(kRegisterSteps, registerStepsOf(kernel, numWarps, arch));
  kernel.setPassthroughAttr(b.getArrayAttr(attributes));
  gpu::dropArgumentFacts(kernel);
}
