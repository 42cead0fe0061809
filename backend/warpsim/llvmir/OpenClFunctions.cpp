// Functions of OpenCL and SPIR-V by their mangled names, which code for OpenCL devices calls.
#include "backend/warpsim/core/wave/MatrixTable.h"
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw::warpsim;

static uint64_t constantOf(const llvm::CallInst &call, unsigned argument) {
  auto *number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(argument));
  return number ? number->getZExtValue() : ~uint64_t(0);
}

/// Numbers of threads and programs.
bool FunctionImporter::importOpenClNumber(llvm::CallInst &call, llvm::StringRef name) {
  if (name == "_Z22get_sub_group_local_idv") {
    Operand to = fresh(RegisterFile::Word);
    emit(Op::WaveLane, Type::U32, {to}, {});
    define(call, {to});
    return true;
  }
  if (name == "_Z16get_sub_group_idv") {
    define(call, {special(Special::Warpid)});
    return true;
  }
  bool isId = name == "_Z12get_group_idj";
  if ((!isId && name != "_Z14get_num_groupsj") || constantOf(call, 0) > 2)
    return false;
  auto which = Special(unsigned(isId ? Special::CtaidX : Special::NctaidX) + constantOf(call, 0));
  define(call, {convert(Type::U64, Type::U32, special(which))});
  return true;
}

/// Numbers of SPIR-V, "Scope <id>".
static Scope scopeNumbered(uint64_t number) {
  constexpr Scope scopes[] = {Scope::Sys, Scope::Gpu, Scope::Cta, Scope::None};
  return scopes[std::min<uint64_t>(number, 3)];
}

/// A barrier, with the fences on both sides that its semantics are (SPIR-V, "Memory Semantics"), or
/// one of the parts of SPV_INTEL_split_barrier.
void FunctionImporter::importControlBarrier(llvm::CallInst &call, bool arrives, bool waits) {
  constexpr uint64_t subgroup = 3, sharedMemory = 0x100, globalMemory = 0x200;
  bool isOfWave = constantOf(call, 0) == subgroup;
  uint64_t semantics = constantOf(call, 2);
  auto fence = [&](Order order, Scope scope) {
    Instruction &made = emitWave(WaveOp::Fence, {}, {});
    made.order = order;
    made.scope = scope;
    made.coversShared = semantics & sharedMemory;
    made.coversGlobal = semantics & globalMemory;
  };
  if (arrives)
    fence(Order::Release, scopeNumbered(constantOf(call, 1)));
  if (!waits) {
    emit(Op::WaveSignal, Type::None, {}, {});
    return;
  }
  if (isOfWave) {
    emitWave(WaveOp::Barrier, {}, {});
  } else {
    Instruction &barrier = emit(Op::BarSync, Type::None, {}, {});
    barrier.isAligned = true;
    if (!arrives)
      barrier.order = Order::Acquire;
  }
  fence(Order::Acquire, scopeNumbered(constantOf(call, 0)));
}

/// The elements that a product's flags say A and B have, without their signs ("Matrix Multiply
/// Accumulate Operands").
static std::optional<MatrixElement> elementOf(uint64_t operands) {
  switch (operands) {
  case 0x10 | 0x20:
    return MatrixElement::I8;
  case 0x100 | 0x200:
    return MatrixElement::XF32;
  case 0x400 | 0x800:
    return MatrixElement::F16;
  case 0x1000 | 0x2000:
    return MatrixElement::BF16;
  default:
    return std::nullopt;
  }
}

/// A product of a subgroup (SPV_INTEL_subgroup_matrix_multiply_accumulate): only those that Intel's
/// GPUs have, with vectors of the widths that they take.
void FunctionImporter::importMatrixProduct(llvm::CallInst &call) {
  constexpr uint64_t signs = 3;
  uint64_t operands = constantOf(call, 4);
  std::optional<MatrixElement> element = elementOf(operands & ~signs);
  Operands sources;
  for (unsigned argument : {1u, 2u, 3u})
    sources.push_back(immediate(read(call.getArgOperand(argument)).size()));
  unsigned rows = unsigned(sources[2].bits);
  int32_t form = -1;
  if (element && llvm::StringRef(program.target).starts_with("xe"))
    form = findSubgroupMatrix(*element, program.waveSize, rows);
  auto bitsOfLane = [&](unsigned argument) {
    return layout.getTypeSizeInBits(call.getArgOperand(argument)->getType()).getFixedValue();
  };
  auto bitsWanted = [&](const std::vector<uint16_t> &at) {
    return at.size() / program.waveSize * bitsOf(*element);
  };
  const MatrixLayout *wanted = form < 0 ? nullptr : &matrixLayout(form);
  if (!wanted || wanted->depth != constantOf(call, 0) || bitsOfLane(3) != 32 * rows ||
      bitsOfLane(1) != bitsWanted(wanted->aAt) || bitsOfLane(2) != bitsWanted(wanted->bAt)) {
    refuse("a product of matrices that the machine does not have");
    return;
  }
  sources.push_back(immediate(operands & signs));
  for (unsigned argument : {1u, 2u, 3u})
    for (const Operand &each : Operands(read(call.getArgOperand(argument))))
      sources.push_back(each);
  Operands to = result(call.getType());
  emitWave(WaveOp::Matrix, to, sources).form = form;
  define(call, to);
}

static const char *functionNamed(llvm::StringRef name) {
  return llvm::StringSwitch<const char *>(name)
      .Case("_Z4exp2f", "exp2.f32")
      .Case("_Z4log2f", "log2.f32")
      .Case("_Z4sqrtf", "sqrt.f32")
      .Case("_Z3sinf", "sin.f32")
      .Case("_Z3cosf", "cos.f32")
      .Case("_Z4tanhf", "tanh.f32")
      .Default(nullptr);
}

bool FunctionImporter::importOpenCl(llvm::CallInst &call, llvm::StringRef name) {
  if (importOpenClNumber(call, name) || importBlockLoad(call, name))
    return true;
  bool isBarrier = name == "_Z22__spirv_ControlBarrieriii";
  bool arrives = isBarrier || name == "_Z33__spirv_ControlBarrierArriveINTELiii";
  bool waits = isBarrier || name == "_Z31__spirv_ControlBarrierWaitINTELiii";
  if (arrives || waits) {
    importControlBarrier(call, arrives, waits);
    return true;
  }
  if (name.starts_with("_Z45__spirv_SubgroupMatrixMultiplyAccumulateINTEL")) {
    importMatrixProduct(call);
    return true;
  }
  auto argument = [&](unsigned number) { return readOne(call.getArgOperand(number)); };
  if (name == "_Z17sub_group_shufflejj") { // its machine counts bytes
    Operand to = fresh(RegisterFile::Word);
    Operand bytes = word(Op::Shl, Type::B32, {argument(1), immediate(2)});
    emitWave(WaveOp::Bpermute, {to}, {bytes, argument(0)});
    define(call, {to});
    return true;
  }
  if (name == "_Z5rsqrtf") {
    Operand root = this->call("sqrt.f32", RegisterFile::Word, {argument(0)});
    Operand one = immediate(0x3f800000);
    define(call, {floatBinary(llvm::Instruction::FDiv, call.getType(), one, root)});
    return true;
  }
  const char *function = functionNamed(name);
  if (function)
    define(call, {this->call(function, RegisterFile::Word, {argument(0)})});
  return function != nullptr;
}
