// Intrinsics of AMD's GPUs: where a lane is, exchanges, barriers, machine mathematics (LLVM,
// IntrinsicsAMDGPU.td and AMDGPUUsage).
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

Instruction &FunctionImporter::emitWave(WaveOp op, Operands results, Operands sources) {
  Instruction &instruction = emit(Op::Wave, Type::B32, std::move(results), std::move(sources));
  instruction.wave = op;
  return instruction;
}

Operand FunctionImporter::special(Special which) {
  Operand to = fresh(RegisterFile::Word);
  emit(Op::MovSpecial, Type::U32, {to}, {}).special = which;
  return to;
}

static std::optional<Special> specialNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Special>>(name)
      .Case("workitem.id.x", Special::TidX)
      .Case("workitem.id.y", Special::TidY)
      .Case("workitem.id.z", Special::TidZ)
      .Case("workgroup.id.x", Special::CtaidX)
      .Case("workgroup.id.y", Special::CtaidY)
      .Case("workgroup.id.z", Special::CtaidZ)
      .Cases({"s.memtime", "s.memrealtime"}, Special::Clock64)
      .Default(std::nullopt);
}

/// Returns a value that is the same for all threads of a launch.
static std::optional<uint64_t> constantNamed(llvm::StringRef name, const Program &program) {
  return llvm::StringSwitch<std::optional<uint64_t>>(name)
      .Case("implicitarg.ptr", (uint64_t(0x05) << 56) + program.implicitParameters)
      .Case("wavefrontsize", program.waveSize)
      .Case("groupstaticsize", program.staticSharedBytes)
      .Default(std::nullopt);
}

bool FunctionImporter::importIdentity(llvm::IntrinsicInst &call, llvm::StringRef name) {
  if (std::optional<Special> which = specialNamed(name)) {
    Operand value = special(*which);
    define(call, {call.getType()->isIntegerTy(64) ? convert(Type::U64, Type::U32, value) : value});
    return true;
  }
  if (std::optional<uint64_t> constant = constantNamed(name, program)) {
    define(call, {immediate(*constant)});
    return true;
  }
  if (name != "mbcnt.lo" && name != "mbcnt.hi")
    return false;
  Operand to = fresh(RegisterFile::Word);
  emit(Op::WaveLane, Type::U32, {to},
       {readOne(call.getArgOperand(0)), readOne(call.getArgOperand(1))})
      .isHigh = name == "mbcnt.hi";
  define(call, {to});
  return true;
}

/// One exchange for each 32 bits of the value.
Operands FunctionImporter::exchangeWords(llvm::Type *type, const Operands &exchanged, WaveOp op,
                                         Operands before, Operands after) {
  if (type->getScalarType()->isIntegerTy(1)) { // predicates go as words that are 1 or 0
    auto asWords = [&](const Operands &operands) {
      Operands words;
      for (const Operand &operand : operands) {
        bool isBit =
            operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Predicate;
        words.push_back(isBit ? select(operand, immediate(1), immediate(0), RegisterFile::Word)
                              : operand);
      }
      return words;
    };
    llvm::Type *word = type->getWithNewType(llvm::Type::getInt32Ty(type->getContext()));
    Operands bits;
    for (const Operand &moved : exchangeWords(word, asWords(exchanged), op, asWords(before), after))
      bits.push_back(compare(Compare::Ne, Type::U32, moved, immediate(0)));
    return bits;
  }
  unsigned bits = type->getScalarType()->isPointerTy()
                      ? unsigned(layout.getTypeSizeInBits(type->getScalarType()))
                      : scalarBits(layout, type->getScalarType());
  bool isOne = exchanged.size() == 1 && bits <= 32;
  Operands words = isOne ? exchanged : repack(exchanged, bits, 32), results;
  Operands old = before.size() != exchanged.size() || isOne ? before : repack(before, bits, 32);
  for (size_t i = 0; i < words.size(); ++i) {
    Operands sources;
    if (op == WaveOp::Dpp || op == WaveOp::Permlane16 || op == WaveOp::Permlanex16)
      sources.push_back(old[i]);
    else
      sources = before;
    sources.push_back(words[i]);
    sources.insert(sources.end(), after.begin(), after.end());
    if (op == WaveOp::WriteLane)
      sources.push_back(old[i]);
    results.push_back(fresh(RegisterFile::Word));
    emitWave(op, {results.back()}, sources);
  }
  return isOne ? results : repack(results, 32, bits);
}

bool FunctionImporter::importExchangeOfLanes(llvm::IntrinsicInst &call, llvm::StringRef name) {
  auto argument = [&](unsigned i) -> Operands { return read(call.getArgOperand(i)); };
  auto rest = [&](unsigned first) {
    Operands operands;
    for (unsigned i = first; i < call.arg_size(); ++i)
      operands.push_back(argument(i)[0]);
    return operands;
  };
  llvm::Type *type = call.getType();
  if (name == "update.dpp") {
    define(call, exchangeWords(type, argument(1), WaveOp::Dpp, argument(0), rest(2)));
  } else if (name == "mov.dpp") {
    Operands old(argument(0).size(), unset(RegisterFile::Word));
    define(call, exchangeWords(type, argument(0), WaveOp::Dpp, old, rest(1)));
  } else if (name == "ds.bpermute" || name == "ds.permute") {
    WaveOp op = name == "ds.permute" ? WaveOp::Permute : WaveOp::Bpermute;
    Operand to = fresh(RegisterFile::Word);
    emitWave(op, {to}, {argument(0)[0], argument(1)[0]});
    define(call, {to});
  } else if (name == "ds.swizzle") {
    define(call, exchangeWords(type, argument(0), WaveOp::Swizzle, {}, {argument(1)[0]}));
  } else if (name == "permlanex16" || name == "permlane16") {
    WaveOp op = name == "permlane16" ? WaveOp::Permlane16 : WaveOp::Permlanex16;
    define(call, exchangeWords(type, argument(1), op, argument(0), rest(2)));
  } else if (name == "permlane64") {
    define(call, exchangeWords(type, argument(0), WaveOp::Permlane64, {}, {}));
  } else if (name == "permlane16.swap" || name == "permlane32.swap") {
    Operands to = result(type);
    emitWave(name == "permlane16.swap" ? WaveOp::Permlane16Swap : WaveOp::Permlane32Swap, to,
             {argument(0)[0], argument(1)[0]});
    define(call, to);
  } else if (name == "readfirstlane") {
    define(call, exchangeWords(type, argument(0), WaveOp::ReadFirstLane, {}, {}));
  } else if (name == "readlane") {
    define(call, exchangeWords(type, argument(0), WaveOp::ReadLane, {}, {argument(1)[0]}));
  } else if (name == "writelane") {
    Operand to = fresh(RegisterFile::Word);
    emitWave(WaveOp::WriteLane, {to}, {argument(0)[0], argument(1)[0], argument(2)[0]});
    define(call, {to});
  } else if (name == "ballot") {
    Operands to = result(type);
    emitWave(WaveOp::Ballot, to, {argument(0)[0]});
    define(call, to);
  } else {
    return false;
  }
  return true;
}

/// Global loads that `s_waitcnt` lets be in flight: gfx9 has the count in two pieces.
static unsigned loadsInFlight(uint64_t count) {
  return unsigned((count & 15) | (count >> 14 & 3) << 4);
}

bool FunctionImporter::importSynchronization(llvm::IntrinsicInst &call, llvm::StringRef name) {
  bool isHint = name == "s.setprio" || name.starts_with("sched.") || name == "iglp.opt" ||
                name == "s.sleep" || name == "wave.barrier" || name == "s.nop" ||
                name.starts_with("s.wait.") || name == "s.sethalt" || name == "s.ttracedata";
  if (name == "s.waitcnt" || name == "s.wait.loadcnt") {
    if (program.waveSize == 64) {
      uint64_t count = readOne(call.getArgOperand(0)).bits;
      Instruction &wait = emit(Op::AsyncWaitGroup, Type::None, {}, {});
      wait.sources = {immediate(name == "s.waitcnt" ? loadsInFlight(count) : count)};
    }
    return true;
  }
  if (name == "s.wait.asynccnt") {
    emit(Op::AsyncWaitGroup, Type::None, {}, {immediate(readOne(call.getArgOperand(0)).bits)});
    return true;
  }
  if (name == "s.wait.tensorcnt") {
    emit(Op::TensorWait, Type::None, {}, {immediate(readOne(call.getArgOperand(0)).bits)});
    return true;
  }
  if (name == "wave.barrier") {
    emitWave(WaveOp::Barrier, {}, {});
    return true;
  }
  if (isHint)
    return true;
  if (name == "s.barrier.signal") {
    emit(Op::WaveSignal, Type::None, {}, {});
    return true;
  }
  if (name == "endpgm") {
    emit(Op::Exit, Type::None, {}, {});
    return true;
  }
  if (name != "s.barrier" && name != "s.barrier.wait")
    return false;
  Instruction &barrier = emit(Op::BarSync, Type::None, {}, {});
  barrier.isAligned = true;
  if (name == "s.barrier.wait")
    barrier.order = Order::Acquire;
  return true;
}

/// The function of single and that of double precision; null where there is none.
using FunctionNames = std::pair<const char *, const char *>;

static FunctionNames mathNamed(llvm::StringRef name) {
  return llvm::StringSwitch<FunctionNames>(name)
      .Case("exp2", {"machine.exp2", nullptr})
      .Case("log", {"machine.log", nullptr})
      .Case("rcp", {"machine.rcp", "machine.rcp.f64"})
      .Case("rsq", {"machine.rsq", "machine.rsq.f64"})
      .Case("sqrt", {"machine.sqrt", "sqrt.f64"})
      .Case("sin", {"machine.sin", nullptr})
      .Case("cos", {"machine.cos", nullptr})
      .Case("fract", {"machine.fract", "machine.fract.f64"})
      .Case("tanh", {"tanh.f32", nullptr})
      .Case("frexp.mant", {"frexp.mant.f32", "frexp.mant.f64"})
      .Default({nullptr, nullptr});
}

/// Functions that are instructions: of f32, of f64 where there is a second name; of halves as of
/// f32, rounded.
bool FunctionImporter::importMachineMath(llvm::IntrinsicInst &call, llvm::StringRef name) {
  FunctionNames found = mathNamed(name);
  llvm::Type *type = call.getType();
  if (found.first && !type->isVectorTy()) {
    const char *chosen = type->isDoubleTy() ? found.second : found.first;
    if (!chosen)
      return false;
    define(call, {floatFunction(type, readOne(call.getArgOperand(0)), [&](const Operand &x) {
             return this->call(
                 chosen,
                 fileOf(x.kind == Operand::Kind::Register && x.reg.file == RegisterFile::Double
                            ? llvm::Type::getDoubleTy(type->getContext())
                            : llvm::Type::getFloatTy(type->getContext())),
                 {x});
           })});
    return true;
  }
  return importMachineTests(call, name) || importMachineIntegers(call, name);
}

/// Functions of floats with other results or several operands.
bool FunctionImporter::importMachineTests(llvm::IntrinsicInst &call, llvm::StringRef name) {
  llvm::Type *type = call.getType();
  Operands sources;
  for (llvm::Value *argument : call.args())
    sources.push_back(readOne(argument));
  if (name == "fmed3") {
    llvm::Type *single = llvm::Type::getFloatTy(type->getContext());
    for (Operand &source : sources)
      source = convertFloat(single, type, source);
    define(call, {convertFloat(type, single, this->call("med3.f32", RegisterFile::Word, sources))});
    return true;
  }
  if (name == "frexp.exp") {
    llvm::Type *from = call.getArgOperand(0)->getType();
    bool isDouble = from->isDoubleTy();
    llvm::Type *single = llvm::Type::getFloatTy(type->getContext());
    Operand source = isDouble ? sources[0] : convertFloat(single, from, sources[0]);
    define(call, {masked(this->call(isDouble ? "frexp.exp.f64" : "frexp.exp.f32",
                                    RegisterFile::Word, {source}),
                         scalarBits(layout, type))});
    return true;
  }
  if (name == "class") {
    llvm::Type *from = call.getArgOperand(0)->getType();
    llvm::Type *single = llvm::Type::getFloatTy(type->getContext());
    bool isDouble = from->isDoubleTy();
    Operand source = isDouble ? sources[0] : convertFloat(single, from, sources[0]);
    define(call, {this->call(isDouble ? "class.f64" : "class.f32", RegisterFile::Predicate,
                             {source, sources[1]})});
    return true;
  }
  return false;
}

bool FunctionImporter::importMachineIntegers(llvm::IntrinsicInst &call, llvm::StringRef name) {
  llvm::Type *type = call.getType();
  Operands sources;
  for (llvm::Value *argument : call.args())
    sources.push_back(readOne(argument));
  auto integer = llvm::StringSwitch<std::pair<const char *, unsigned>>(name)
                     .Case("perm", {"machine.perm", 3})
                     .Case("ubfe", {"machine.ubfe", 3})
                     .Case("sbfe", {"machine.sbfe", 3})
                     .Case("udot4", {"machine.udot4", 3})
                     .Case("sdot4", {"machine.sdot4", 3})
                     .Case("mul.i24", {"machine.mul.i24", 2})
                     .Case("mul.u24", {"machine.mul.u24", 2})
                     .Default({nullptr, 0});
  if (name == "sudot4" || name == "fdot2") {
    bool isFloat = name == "fdot2", isASigned = sources[0].bits & 1,
         isBSigned = sources[2].bits & 1;
    Operands chosen = isFloat ? Operands{repack(read(call.getArgOperand(0)), 16, 32)[0],
                                         repack(read(call.getArgOperand(1)), 16, 32)[0], sources[2]}
                              : Operands{sources[1], sources[3], sources[4]};
    const char *dot = isASigned ? (isBSigned ? "machine.sdot4" : "machine.dot4.su")
                                : (isBSigned ? "machine.dot4.us" : "machine.udot4");
    define(call, {this->call(isFloat ? "machine.fdot2" : dot, RegisterFile::Word, chosen)});
    return true;
  }
  if (!integer.first || !type->isIntegerTy(32))
    return false;
  sources.resize(integer.second);
  define(call, {this->call(integer.first, RegisterFile::Word, sources)});
  return true;
}

/// Conversions of pairs of floats.
bool FunctionImporter::importConversion(llvm::IntrinsicInst &call, llvm::StringRef name) {
  auto argument = [&](unsigned i) { return readOne(call.getArgOperand(i)); };
  llvm::Type *single = llvm::Type::getFloatTy(call.getContext());
  if (name == "cvt.pkrtz") {
    llvm::Type *half = llvm::Type::getHalfTy(call.getContext());
    define(call, {convertFloat(half, single, argument(0), Rounding::Rz),
                  convertFloat(half, single, argument(1), Rounding::Rz)});
    return true;
  }
  bool isFnuz = program.target == "gfx942";
  std::string suffix = isFnuz ? ".fnuz" : "";
  if (name == "cvt.pk.fp8.f32" || name == "cvt.pk.bf8.f32") {
    std::string function = (name == "cvt.pk.fp8.f32" ? "encode.e4m3" : "encode.e5m2") + suffix;
    Operand low = this->call(function.c_str(), RegisterFile::Word, {argument(0)});
    Operand high = this->call(function.c_str(), RegisterFile::Word, {argument(1)});
    Operand pair = word(Op::Mov, Type::B16, {low, high});
    Operands halves = repack({argument(2)}, 32, 16);
    halves[argument(3).bits & 1] = pair;
    define(call, repack(halves, 16, 32));
    return true;
  }
  if (name == "cvt.pk.f32.fp8" || name == "cvt.pk.f32.bf8" || name == "cvt.f32.fp8" ||
      name == "cvt.f32.bf8") {
    std::string function = (name.ends_with("fp8") ? "decode.e4m3" : "decode.e5m2") + suffix;
    bool isPair = name.starts_with("cvt.pk");
    Operands bytes = repack({argument(0)}, 32, 8), results;
    unsigned first = unsigned(argument(1).bits) * (isPair ? 2 : 1);
    for (unsigned i = 0; i < (isPair ? 2 : 1); ++i)
      results.push_back(this->call(function.c_str(), RegisterFile::Word, {bytes[(first + i) & 3]}));
    define(call, results);
    return true;
  }
  return false;
}

bool FunctionImporter::importAmdgcn(llvm::IntrinsicInst &call, llvm::StringRef name) {
  return importIdentity(call, name) || importExchangeOfLanes(call, name) ||
         importSynchronization(call, name) || importMachineMath(call, name) ||
         importConversion(call, name) || importBuffer(call, name) || importDirectCopy(call, name) ||
         importTransposedRead(call, name) || importMatrix(call);
}
