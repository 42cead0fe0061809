// Which instructions are seen by other threads, and by whom.
#include "backend/warpsim/core/order/Interaction.h"
#include <algorithm>
#include <set>

using namespace tw::warpsim;

namespace {
/// The registers of a function that some instruction reads.
class Uses {
public:
  Uses(const Program &program, const Function &function);
  bool isRead(const Instruction &instruction) const {
    return std::any_of(instruction.results.begin(), instruction.results.end(),
                       [this](const Operand &result) {
                         return result.kind == Operand::Kind::Register &&
                                read.count({result.reg.file, result.reg.number});
                       });
  }

private:
  void add(const Operand &operand) {
    if (operand.kind == Operand::Kind::Register)
      read.insert({operand.reg.file, operand.reg.number});
  }
  std::set<std::pair<RegisterFile, uint32_t>> read;
};
} // namespace

Uses::Uses(const Program &program, const Function &function) {
  for (Register reg : function.results)
    read.insert({reg.file, reg.number});
  for (int32_t pc = function.begin; pc < function.end; ++pc) {
    const Instruction &instruction = program.code[pc];
    add(instruction.guard);
    add(instruction.address.base);
    add(instruction.sourceAddress.base);
    for (const Operand &source : instruction.sources)
      add(source);
  }
}

static bool isAtomic(const Instruction &instruction) {
  return instruction.op == Op::Atom || instruction.op == Op::Red;
}

static bool isStrong(const Instruction &instruction) {
  bool isAccess = instruction.op == Op::Ld || instruction.op == Op::St;
  return isAtomic(instruction) || (isAccess && instruction.order != Order::Weak);
}

static bool isInteger(Type type) {
  switch (type) {
  case Type::B32:
  case Type::B64:
  case Type::U32:
  case Type::U64:
  case Type::S32:
  case Type::S64:
    return true;
  default:
    return false;
  }
}

static bool commutes(const Instruction &instruction) {
  switch (instruction.atomOp) {
  case AtomOp::And:
  case AtomOp::Or:
  case AtomOp::Xor:
  case AtomOp::Add:
  case AtomOp::Min:
  case AtomOp::Max:
    return isInteger(instruction.type);
  default:
    return false;
  }
}

static SyncStep stepOf(const Instruction &instruction, const Uses &uses) {
  if (!isStrong(instruction))
    return SyncStep::None;
  bool isObserved =
      instruction.op == Op::Ld || (instruction.op == Op::Atom && uses.isRead(instruction));
  return isObserved ? SyncStep::Observe : SyncStep::Publish;
}

/// Who may see in which order this happens.
static Interaction interactionOf(const Instruction &instruction, SyncStep step) {
  bool isOrdering = instruction.order != Order::Relaxed;
  if (step == SyncStep::None || instruction.space == Space::Local ||
      instruction.space == Space::Param || instruction.space == Space::Const)
    return Interaction::None;
  if (isAtomic(instruction) && step == SyncStep::Publish && !isOrdering && commutes(instruction))
    return Interaction::None;
  return instruction.space == Space::Shared ? Interaction::Warps : Interaction::Ctas;
}

static void lookAt(const Program &program, const Function &function, Synchronization &found) {
  Uses uses(program, function);
  for (int32_t pc = function.begin; pc < function.end; ++pc) {
    const Instruction &instruction = program.code[pc];
    SyncStep step = stepOf(instruction, uses);
    found.steps[pc] = step;
    found.interaction = std::max(found.interaction, interactionOf(instruction, step));
    bool isOfCta = instruction.scope == Scope::Cta || instruction.scope == Scope::Cluster;
    found.hasCtaScope |= isOfCta && (step != SyncStep::None || instruction.op == Op::Membar);
    bool isOfShared = instruction.space == Space::Shared || instruction.space == Space::Generic;
    found.ordersWithinCta |= found.hasCtaScope || (isOfShared && step != SyncStep::None);
    found.hasRelaxedStores |=
        instruction.op == Op::St && step != SyncStep::None && instruction.order != Order::Release;
  }
}

Synchronization tw::warpsim::findSynchronization(const Program &program, const Function &kernel) {
  Synchronization found;
  found.steps.assign(program.code.size() + 1, SyncStep::None);
  for (const Function &function : program.functions)
    if (&function == &kernel || !function.isKernel)
      lookAt(program, function, found);
  if (found.interaction == Interaction::None)
    found.steps.assign(found.steps.size(), SyncStep::None);
  else if (found.interaction == Interaction::Warps)
    for (size_t pc = 0; pc < program.code.size(); ++pc)
      if (program.code[pc].space != Space::Shared)
        found.steps[pc] = SyncStep::None;
  return found;
}
