// Flow-insensitive analyses of registers: a pointer argument or a shared variable, and what is
// computed from it.
#include "backend/warpsim/core/memory/Provenance.h"
#include <algorithm>

using namespace tw::warpsim;

namespace {
// A value that comes from no argument (an offset), or from several or an unknown place.
constexpr int32_t kNone = -1, kAny = -2;

class Analysis {
public:
  Analysis(const Program &program, const Function &kernel, const Launch &launch)
      : program(program), kernel(kernel), launch(launch),
        origins(kernel.numRegisters[size_t(RegisterFile::Double)], kNone) {}
  std::vector<int32_t> run();

private:
  bool visit(const Instruction &instruction);
  int32_t originOf(const Instruction &instruction) const;
  int32_t originOfParameter(int64_t offset) const;
  int32_t origin(const Operand &operand) const {
    bool isPointerSized =
        operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Double;
    return isPointerSized ? origins[operand.reg.number] : kNone;
  }

  const Program &program;
  const Function &kernel;
  const Launch &launch;
  std::vector<int32_t> origins; // by 64-bit register
};
} // namespace

static int32_t join(int32_t a, int32_t b) {
  if (a == kNone || a == b)
    return b;
  return b == kNone ? a : kAny;
}

int32_t Analysis::originOfParameter(int64_t offset) const {
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].offset == offset && i < launch.allocationOfParameter.size())
      return std::max(kNone, launch.allocationOfParameter[i]);
  return kNone;
}

int32_t Analysis::originOf(const Instruction &instruction) const {
  if (instruction.op == Op::Ld && instruction.space == Space::Param &&
      instruction.address.base.kind != Operand::Kind::Register)
    return originOfParameter(instruction.address.offset);
  // Pointers may be kept in memory, and come back from calls and from other lanes.
  if (instruction.op >= Op::FirstOfCore && instruction.op != Op::MovSpecial)
    return kAny;
  int32_t result = kNone;
  for (const Operand &source : instruction.sources)
    result = join(result, origin(source));
  return result;
}

/// Copies to and from shared memory have two addresses.
static const Address &globalAddressOf(const Instruction &instruction) {
  bool isCopy = instruction.op == Op::AsyncCopy || instruction.op == Op::BulkLoad ||
                instruction.op == Op::BulkStore || instruction.op == Op::BulkReduce;
  return isCopy ? instruction.sourceAddress : instruction.address;
}

/// True when something new is known.
bool Analysis::visit(const Instruction &instruction) {
  bool hasChanged = false;
  for (const Operand &result : instruction.results) {
    if (result.kind != Operand::Kind::Register || result.reg.file != RegisterFile::Double)
      continue;
    int32_t &known = origins[result.reg.number], joined = join(known, originOf(instruction));
    hasChanged |= joined != known;
    known = joined;
  }
  return hasChanged;
}

std::vector<int32_t> Analysis::run() {
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (int32_t pc = kernel.begin; pc < kernel.end; ++pc)
      hasChanged |= visit(program.code[pc]);
  }
  std::vector<int32_t> allocations(program.code.size(), -1);
  for (int32_t pc = kernel.begin; pc < kernel.end; ++pc)
    allocations[pc] = std::max(kNone, origin(globalAddressOf(program.code[pc]).base));
  return allocations;
}

std::vector<int32_t> tw::warpsim::findProvenance(const Program &program, const Function &kernel,
                                                 const Launch &launch) {
  return Analysis(program, kernel, launch).run();
}

namespace {
class SharedAnalysis {
public:
  SharedAnalysis(const Program &program, const Function &kernel)
      : program(program), kernel(kernel),
        words(kernel.numRegisters[size_t(RegisterFile::Word)], kNone),
        doubles(kernel.numRegisters[size_t(RegisterFile::Double)], kNone) {}
  std::vector<int32_t> run();

private:
  int32_t *known(const Operand &operand) {
    if (operand.kind != Operand::Kind::Register || operand.reg.file == RegisterFile::Predicate)
      return nullptr;
    bool isWord = operand.reg.file == RegisterFile::Word;
    return &(isWord ? words : doubles)[operand.reg.number];
  }
  int32_t origin(const Operand &operand) {
    const int32_t *origin = known(operand);
    return origin ? *origin : operand.variable;
  }
  int32_t originOf(const Instruction &instruction);
  bool visit(const Instruction &instruction);

  const Program &program;
  const Function &kernel;
  std::vector<int32_t> words, doubles; // by register
};
} // namespace

int32_t SharedAnalysis::originOf(const Instruction &instruction) {
  if (instruction.op == Op::Call)
    return kAny;
  // A shuffle gives an address of the same variable; other such operations give numbers.
  if (instruction.op >= Op::FirstOfCore && instruction.op != Op::Shfl)
    return kNone;
  int32_t result = kNone;
  for (const Operand &source : instruction.sources)
    result = join(result, origin(source));
  return result;
}

bool SharedAnalysis::visit(const Instruction &instruction) {
  bool hasChanged = false;
  for (const Operand &result : instruction.results) {
    int32_t *origin = known(result);
    if (!origin)
      continue;
    int32_t joined = join(*origin, originOf(instruction));
    hasChanged |= joined != *origin;
    *origin = joined;
  }
  return hasChanged;
}

std::vector<int32_t> SharedAnalysis::run() {
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (int32_t pc = kernel.begin; pc < kernel.end; ++pc)
      hasChanged |= visit(program.code[pc]);
  }
  std::vector<int32_t> variables(program.code.size(), -1);
  for (int32_t pc = kernel.begin; pc < kernel.end; ++pc)
    variables[pc] = std::max(kNone, origin(program.code[pc].address.base));
  return variables;
}

std::vector<int32_t> tw::warpsim::findSharedProvenance(const Program &program,
                                                       const Function &kernel) {
  return SharedAnalysis(program, kernel).run();
}
