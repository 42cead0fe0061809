// What surrounds LLVM's passes for SPIR-V, as data.
#include "backend/codegen/ModulePasses.h"
#include "backend/gpu/GpuCode.h"
#include "backend/spirv/codegen/Passes.h"
#include "llvm/ADT/ArrayRef.h"

using namespace tw;
using namespace tw::spirv;

static constexpr ModulePass kNameAtomics = {
    "name-atomics", "atomics are calls with scope and semantics", nameAtomics};
static constexpr ModulePass kRoundQuotients = {
    "round-quotients", "quotients of float32 are rounded correctly", roundQuotients};
static constexpr ModulePass kNegateBits = {
    "negate-bits", "negatives of floats in kernels with barriers flip a bit", negateBits};
static constexpr ModulePass kExpandIntrinsics = {
    "expand-intrinsics", "what SPIR-V has no word for becomes arithmetic", expandIntrinsics};
static constexpr ModulePass kWidenIntegers = {
    "widen-integers", "integers of other widths become wider ones", widenIntegers};
static constexpr ModulePass kCheckIntegers = {
    "check-integers", "integers have 1, 8, 16, 32 or 64 bits", checkIntegers};
static constexpr ModulePass kPlain[] = {kNameAtomics, kExpandIntrinsics, kWidenIntegers,
                                        kCheckIntegers};
static constexpr ModulePass kGeneric[] = {kNameAtomics, kExpandIntrinsics, kRoundQuotients,
                                          kNegateBits,  kWidenIntegers,    kCheckIntegers};
static constexpr PlacedPass kInCodeGenerator[] = {{"number-blocks",
                                                   "labels are those of one module",
                                                   "SPIRV Assembly Printer", createNumberBlocks}};
static constexpr ModulePass kBeforeLlvm[] = {kSinkOffsets};
static constexpr CodeVariant kDriver[] = {{"default", kPlain, {}, {}}};
static constexpr CodeVariant kGenericDriver[] = {{"default", kGeneric, {}, {}}};
static constexpr CodeVariant kSimulator[] = {{"default", {}, {}, {}}};

bool tw::spirv::isBuiltin(llvm::StringRef function) { return function.starts_with("_Z"); }

void tw::spirv::addPasses(LlvmMachine &machine, const SpirvArch &arch, bool isSimulated) {
  machine.simplifications = gpu::kSimplifications;
  machine.prepare = kBeforeLlvm;
  machine.ownPasses = kInCodeGenerator;
  machine.variants = kDriver;
  if (isSimulated)
    machine.variants = kSimulator;
  else if (!arch.dividesCorrectly)
    machine.variants = kGenericDriver;
}
