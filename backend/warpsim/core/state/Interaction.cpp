// Which instructions are seen by other threads, and by whom.
#include "backend/warpsim/core/state/Interaction.h"
#include <algorithm>
#include <map>

using namespace tw::warpsim;

namespace {
/// The registers of a function that some instruction reads.
class Uses {
public:
  Uses(const Program &program, const Function &function);
  /// An instruction that writes its result over its own source does not read it.
  bool isRead(const Instruction &instruction, int32_t pc) const {
    return std::any_of(instruction.results.begin(), instruction.results.end(),
                       [this, pc](const Operand &result) {
                         if (result.kind != Operand::Kind::Register)
                           return false;
                         auto found = readers.find({result.reg.file, result.reg.number});
                         return found != readers.end() && found->second != pc;
                       });
  }

private:
  void add(const Operand &operand, int32_t pc) {
    if (operand.kind == Operand::Kind::Register)
      add(operand.reg, pc);
  }
  void add(Register reg, int32_t pc) {
    auto [place, isFirst] = readers.emplace(std::pair(reg.file, reg.number), pc);
    if (!isFirst && place->second != pc)
      place->second = kMany;
  }
  static constexpr int32_t kMany = -1;
  std::map<std::pair<RegisterFile, uint32_t>, int32_t> readers; // the only one, or kMany
};
} // namespace

Uses::Uses(const Program &program, const Function &function) {
  for (Register reg : function.results)
    add(reg, kMany);
  for (int32_t pc = function.begin; pc < function.end; ++pc) {
    const Instruction &instruction = program.code[pc];
    add(instruction.guard, pc);
    add(instruction.address.base, pc);
    add(instruction.sourceAddress.base, pc);
    add(instruction.barrier.base, pc);
    for (const Operand &source : instruction.sources)
      add(source, pc);
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

static SyncStep stepOf(const Instruction &instruction, int32_t pc, const Uses &uses) {
  if (!isStrong(instruction))
    return SyncStep::None;
  bool isObserved =
      instruction.op == Op::Ld || (instruction.op == Op::Atom && uses.isRead(instruction, pc));
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
    SyncStep step = stepOf(instruction, pc, uses);
    found.steps[pc] = step;
    found.interaction = std::max(found.interaction, interactionOf(instruction, step));
    bool isOfCta = instruction.scope == Scope::Cta || instruction.scope == Scope::Cluster;
    found.hasCtaScope |= isOfCta && (step != SyncStep::None || instruction.op == Op::Membar);
    bool isOfShared = instruction.space == Space::Shared || instruction.space == Space::Generic;
    found.ordersWithinCta |= found.hasCtaScope || (isOfShared && step != SyncStep::None);
    found.hasUnreadAcquires |= isAtomic(instruction) && step == SyncStep::Publish &&
                               instruction.order != Order::Relaxed &&
                               instruction.order != Order::Release;
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
