// Follows a register without a value back to where it should have got one. Values are not traced
// while the kernel runs; the registers still tell which sources have none.
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/ptx/Parse.h"
#include <algorithm>
#include <set>

using namespace tw::warpsim;

namespace {
class Search {
public:
  Search(const Cta &cta, const Warp &warp, unsigned lane)
      : cta(cta), program(cta.launch.program), function(*warp.frames.back()->function),
        registers(warp.frames.back()->registers), lane(lane) {}
  /// The way back from a use at `pc`; fills in `place` and `reason`.
  void follow(Operand operand, int32_t pc);
  int32_t place = -1; // an instruction, or -1
  std::string reason;

private:
  std::vector<int32_t> definitionsOf(Register reg) const;
  int32_t nearest(const std::vector<int32_t> &definitions, int32_t pc) const;
  const Operand *unsetSource(const Instruction &instruction) const;
  bool isUnset(const Operand &operand) const {
    return operand.kind == Operand::Kind::Register && !(wholeLanes(operand, registers) >> lane & 1);
  }
  std::string lineOf(int32_t pc) const { return "line " + std::to_string(program.code[pc].line); }

  const Cta &cta;
  const Program &program;
  const Function &function;
  const WarpRegisters &registers;
  unsigned lane;
};
} // namespace

std::vector<int32_t> Search::definitionsOf(Register reg) const {
  std::vector<int32_t> found;
  for (int32_t pc = function.begin; pc < function.end; ++pc)
    for (const Operand &result : program.code[pc].results)
      if (result.kind == Operand::Kind::Register && result.reg.file == reg.file &&
          result.reg.number == reg.number)
        found.push_back(pc);
  return found;
}

/// Returns the last of those that have run before `pc`; in a loop perhaps one behind it; -1 if none
/// has run.
int32_t Search::nearest(const std::vector<int32_t> &definitions, int32_t pc) const {
  int32_t before = -1, behind = -1;
  for (int32_t definition : definitions)
    if (cta.executed[definition])
      (definition < pc ? before : behind) = definition;
  return before >= 0 ? before : behind;
}

const Operand *Search::unsetSource(const Instruction &instruction) const {
  for (const Operand &source : instruction.sources)
    if (isUnset(source))
      return &source;
  return nullptr;
}

void Search::follow(Operand operand, int32_t pc) {
  std::set<int32_t> seen;
  while (true) {
    std::string name = "`" + registerName(&function, operand.reg) + "`";
    std::vector<int32_t> definitions = definitionsOf(operand.reg);
    if (definitions.empty()) {
      reason = "nothing writes " + name + ", which " + lineOf(pc) + " reads";
      return;
    }
    int32_t definition = nearest(definitions, pc);
    if (definition < 0) {
      place = definitions.front();
      reason = name + " is written at " + lineOf(place) + ", which has not run";
      return;
    }
    place = definition;
    const Instruction &instruction = program.code[definition];
    const Operand *source = unsetSource(instruction);
    bool isSkipped = instruction.guard.kind == Operand::Kind::Register &&
                     !isUnset(instruction.guard) &&
                     !(readPredicate(instruction.guard, registers) >> lane & 1);
    bool isRegisterOnly = instruction.op < Op::FirstOfCore;
    if (isSkipped || !source || !isRegisterOnly || !seen.insert(definition).second) {
      std::string verb =
          isSkipped ? " is left without a value at " : " comes without a value from ";
      reason = name + verb + lineOf(definition) + ", `" + printInstruction(program, instruction) +
               "`" + (isSkipped ? ", whose guard is false" : "");
      return;
    }
    operand = *source;
    pc = definition;
  }
}

void tw::warpsim::describeOrigin(const Cta &cta, const Warp &warp, const Operand &operand,
                                 unsigned lane, int32_t pc, Finding &finding) {
  if (operand.kind != Operand::Kind::Register)
    return;
  Search search(cta, warp, lane);
  search.follow(operand, pc);
  finding.message += ": " + search.reason;
  if (finding.otherInstruction < 0 && search.place != pc)
    finding.otherInstruction = search.place;
}

void tw::warpsim::reportUnset(Cta &cta, Warp &warp, const Operand &operand, int32_t pc,
                              LaneMask active, const char *what) {
  if (LaneMask unset = active & ~wholeLanes(operand, warp.registers()))
    cta.report(Kind::UninitRegister, warp, unsigned(__builtin_ctz(unset)), pc,
               [&](Finding &finding) {
                 finding.message = std::string(what) + " has no value";
                 describeOrigin(cta, warp, operand, unsigned(__builtin_ctz(unset)), pc, finding);
               });
}
