// Functions of OpenCL and SPIR-V by their mangled names, which code for OpenCL devices calls.
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

/// A barrier, with the fences on both sides that its semantics are (SPIR-V, "Memory Semantics").
void FunctionImporter::importControlBarrier(llvm::CallInst &call) {
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
  fence(Order::Release, scopeNumbered(constantOf(call, 1)));
  if (isOfWave)
    emitWave(WaveOp::Barrier, {}, {});
  else
    emit(Op::BarSync, Type::None, {}, {}).isAligned = true;
  fence(Order::Acquire, scopeNumbered(constantOf(call, 0)));
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
  if (importOpenClNumber(call, name))
    return true;
  if (name == "_Z22__spirv_ControlBarrieriii") {
    importControlBarrier(call);
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
