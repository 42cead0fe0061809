// Blocks in an order in which what is earlier runs earlier, branches with the moves of phis on
// their edges, and a kernel's arguments.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

/// A reverse postorder in which the blocks of a loop lie together: of a block's successors, those
/// farther out of loops are visited first, and so placed last.
std::vector<llvm::BasicBlock *> FunctionImporter::orderBlocks() {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  std::vector<llvm::BasicBlock *> order;
  llvm::DenseSet<llvm::BasicBlock *> seen;
  struct Visit {
    llvm::BasicBlock *block;
    std::vector<llvm::BasicBlock *> successors;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  auto enter = [&](llvm::BasicBlock *block) {
    if (!seen.insert(block).second)
      return;
    std::vector<llvm::BasicBlock *> successors(llvm::succ_begin(block), llvm::succ_end(block));
    auto isFartherOut = [&](llvm::BasicBlock *a, llvm::BasicBlock *b) {
      return loops.getLoopDepth(a) < loops.getLoopDepth(b);
    };
    for (size_t i = 1; i < successors.size(); ++i) // few, and in a stable order
      for (size_t k = i; k && isFartherOut(successors[k], successors[k - 1]); --k)
        std::swap(successors[k], successors[k - 1]);
    stack.push_back({block, std::move(successors)});
  };
  enter(&function.getEntryBlock());
  while (!stack.empty()) {
    Visit &visit = stack.back();
    if (visit.next < visit.successors.size()) {
      enter(visit.successors[visit.next++]);
      continue;
    }
    order.push_back(visit.block);
    stack.pop_back();
  }
  std::ranges::reverse(order);
  return order;
}

void FunctionImporter::importArguments() {
  uint32_t offset = 0;
  program.texts.push_back({"argument", "argument"});
  for (llvm::Argument &argument : function.args()) {
    llvm::Type *type = argument.getType();
    uint32_t alignment = uint32_t(layout.getABITypeAlign(type).value());
    uint32_t bytes = uint32_t(layout.getTypeStoreSize(type).getFixedValue());
    offset = (offset + alignment - 1) / alignment * alignment;
    bool isPointer = type->isPointerTy();
    made.parameters.push_back({argument.getName().str(), isPointer ? Type::B64 : Type::B32, offset,
                               bytes, alignment, isPointer});
    PointerParts at = {immediate(0), offset};
    bool isNarrow = type->isIntegerTy() && !type->isIntegerTy(1) && type->getIntegerBitWidth() < 8;
    if (isNarrow || type->isAggregateType() || bytes > 16)
      refuse("an argument of this type");
    unsigned bits = type->isIntegerTy(1) ? 8 : scalarBits(layout, type->getScalarType());
    Operands loaded = loadParts(at, Space::Param, bits, numRegistersOf(type), alignment);
    if (type->isIntegerTy(1))
      loaded = {compare(Compare::Ne, Type::U32, word(Op::And, Type::B32, {loaded[0], immediate(1)}),
                        immediate(0))};
    define(argument, loaded);
    offset += bytes;
  }
  program.implicitParameters = (offset + 7) / 8 * 8;
}

void FunctionImporter::allocatePhis() {
  for (llvm::BasicBlock &block : function)
    for (llvm::PHINode &phi : block.phis())
      define(phi, result(phi.getType()));
}

/// The halves of a wave end an iteration together: where one of them skipped the end of a loop's
/// body, the places at which they wait would not tell that it is an iteration ahead.
bool FunctionImporter::endsIteration(llvm::BasicBlock &to) {
  return program.waveSize == 64 && starts.contains(&to);
}

bool FunctionImporter::needsMoves(llvm::BasicBlock &to) {
  return !to.phis().empty() || endsIteration(to);
}

static bool isSame(const Operand &a, const Operand &b) {
  return a.kind == Operand::Kind::Register && b.kind == Operand::Kind::Register &&
         a.reg.file == b.reg.file && a.reg.number == b.reg.number;
}

static Type typeOfMove(const Operand &to) {
  return to.reg.file == RegisterFile::Predicate ? Type::Pred
         : to.reg.file == RegisterFile::Word    ? Type::B32
                                                : Type::B64;
}

/// All phis of a block take their values at once: what another one is about to replace is kept
/// first. What goes back meets the other half of its wave, too.
void FunctionImporter::movePhis(llvm::BasicBlock &from, llvm::BasicBlock &to) {
  std::vector<std::pair<Operand, Operand>> moves;
  llvm::DenseSet<uint64_t> replaced;
  auto keyOf = [](const Operand &operand) {
    return uint64_t(operand.reg.file) << 32 | operand.reg.number;
  };
  for (llvm::PHINode &phi : to.phis()) {
    Operands targets = read(&phi), sources = read(phi.getIncomingValueForBlock(&from));
    for (size_t i = 0; i < targets.size(); ++i)
      if (!isSame(targets[i], sources[i])) {
        moves.emplace_back(targets[i], sources[i]);
        replaced.insert(keyOf(targets[i]));
      }
  }
  for (auto &[target, source] : moves)
    if (source.kind == Operand::Kind::Register && replaced.count(keyOf(source)))
      source = emitTo(source.reg.file, Op::Mov, typeOfMove(source), {source});
  for (const auto &[target, source] : moves)
    emit(Op::Mov, typeOfMove(target), {target}, {source});
  if (endsIteration(to))
    emitWave(WaveOp::Barrier, {}, {});
}

void FunctionImporter::emitBranch(llvm::BasicBlock *to, const Operand *condition, bool isNegated) {
  Instruction &branch = emit(Op::Bra, Type::None, {}, {});
  if (condition) {
    branch.guard = *condition;
    branch.guard.isNegated ^= isNegated;
  } else {
    branch.isUniform = true;
  }
  fixups.emplace_back(int32_t(program.code.size()) - 1, to);
}

void FunctionImporter::importBranch(llvm::BranchInst &branch, llvm::BasicBlock *next) {
  llvm::BasicBlock &from = *branch.getParent();
  auto goTo = [&](llvm::BasicBlock *to, bool mayFall) {
    movePhis(from, *to);
    if (!mayFall || to != next)
      emitBranch(to);
  };
  if (branch.isUnconditional() || branch.getSuccessor(0) == branch.getSuccessor(1))
    return goTo(branch.getSuccessor(0), true);
  Operand condition = readOne(branch.getCondition());
  llvm::BasicBlock *whenTrue = branch.getSuccessor(0), *whenFalse = branch.getSuccessor(1);
  if (condition.kind == Operand::Kind::Immediate)
    return goTo(condition.bits & 1 ? whenTrue : whenFalse, true);
  if (!needsMoves(*whenTrue)) {
    emitBranch(whenTrue, &condition);
    return goTo(whenFalse, true);
  }
  if (!needsMoves(*whenFalse)) {
    emitBranch(whenFalse, &condition, true);
    return goTo(whenTrue, true);
  }
  // Lanes that stay in a loop go on before those that leave it: what is earlier runs earlier.
  bool isTrueFirst = endsIteration(*whenTrue);
  size_t over = program.code.size();
  emit(Op::Bra, Type::None, {}, {}).guard = condition;
  program.code[over].guard.isNegated ^= isTrueFirst;
  goTo(isTrueFirst ? whenTrue : whenFalse, false);
  program.code[over].target = int32_t(program.code.size());
  goTo(isTrueFirst ? whenFalse : whenTrue, true);
}

void FunctionImporter::importSwitch(llvm::SwitchInst &instruction) {
  llvm::BasicBlock &from = *instruction.getParent();
  Operand value = readOne(instruction.getCondition());
  Type type = integerType(instruction.getCondition()->getType()->getIntegerBitWidth(), false);
  for (const auto &choice : instruction.cases()) {
    Operand isEqual = compare(Compare::Eq, type, value,
                              immediate(choice.getCaseValue()->getValue().getZExtValue()));
    size_t over = program.code.size();
    emit(Op::Bra, Type::None, {}, {}).guard = isEqual;
    program.code[over].guard.isNegated = true;
    movePhis(from, *choice.getCaseSuccessor());
    emitBranch(choice.getCaseSuccessor());
    program.code[over].target = int32_t(program.code.size());
  }
  movePhis(from, *instruction.getDefaultDest());
  emitBranch(instruction.getDefaultDest());
}

void FunctionImporter::importTerminator(llvm::Instruction &instruction, llvm::BasicBlock *next) {
  place(instruction);
  if (auto *branch = llvm::dyn_cast<llvm::BranchInst>(&instruction))
    importBranch(*branch, next);
  else if (auto *choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction))
    importSwitch(*choice);
  else if (llvm::isa<llvm::ReturnInst>(instruction))
    emit(Op::Ret, Type::None, {}, {});
  else if (llvm::isa<llvm::UnreachableInst>(instruction))
    emit(Op::Trap, Type::None, {}, {});
  else
    unsupported(instruction);
}

void FunctionImporter::importBlock(llvm::BasicBlock &block, llvm::BasicBlock *next) {
  starts[&block] = int32_t(program.code.size());
  for (llvm::Instruction &instruction : block) {
    if (llvm::isa<llvm::PHINode>(instruction) || hasFailed)
      continue;
    if (instruction.isTerminator()) {
      importTerminator(instruction, next);
      continue;
    }
    place(instruction);
    importInstruction(instruction);
  }
}

bool FunctionImporter::run() {
  made.name = function.getName().str();
  made.isKernel = true;
  made.begin = int32_t(program.code.size());
  made.numRegisters = {1, 1, 1}; // the registers that are never written
  size_t number = 0;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      numbers[&instruction] = number++;
  auto [least, most] =
      function.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString().split(',');
  if (unsigned threads = 0; least == most && !least.getAsInteger(10, threads))
    made.reqNtid = {threads, 1, 1};
  importArguments();
  allocatePhis();
  std::vector<llvm::BasicBlock *> blocks = orderBlocks();
  for (size_t i = 0; i < blocks.size(); ++i)
    importBlock(*blocks[i], i + 1 < blocks.size() ? blocks[i + 1] : nullptr);
  for (auto [branch, block] : fixups)
    program.code[size_t(branch)].target = starts[block];
  made.end = int32_t(program.code.size());
  made.localBytes = (made.localBytes + 15) / 16 * 16;
  program.functions.push_back(std::move(made));
  return !hasFailed;
}
