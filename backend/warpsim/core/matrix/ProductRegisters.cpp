// Registers that products share with other instructions: touched while a product is in flight, or
// without a wgmma.fence before it.
#include "backend/warpsim/core/matrix/WarpgroupOperations.h"
#include "backend/warpsim/ptx/Parse.h"

using namespace tw::warpsim;

namespace {
/// A register at an instruction.
struct Touch {
  Cta &cta;
  Warp &warp;
  int32_t pc;
  unsigned lane;
};
} // namespace

static std::string nameOf(const Touch &touch, const Operand &operand) {
  return "`" + registerName(touch.warp.frames.back()->function, operand.reg) + "`";
}

static void reportInFlight(const Touch &touch, const Operand &operand, const RegisterUse &use,
                           const char *verb) {
  auto describe = [&](Finding &finding) {
    finding.message = nameOf(touch, operand) + " is " + verb +
                      " while a product in flight has it " +
                      (use.position == RegisterUse::kOperandA ? "as operand A" : "as accumulator") +
                      ": no wgmma.wait_group has covered that";
  };
  touch.cta.report(Kind::RegisterRace, touch.warp, touch.lane, touch.pc, describe, use.productPc);
}

static void reportNoFence(const Touch &touch, const Operand &operand, const char *what,
                          int32_t other) {
  auto describe = [&](Finding &finding) {
    finding.message = nameOf(touch, operand) + what + " comes between that and the product";
  };
  touch.cta.report(Kind::MissingFence, touch.warp, touch.lane, touch.pc, describe, other);
}

static bool isWord(const Operand &operand) {
  return operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Word;
}

void tw::warpsim::checkTouch(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                             LaneMask active) {
  WarpProducts &products = cta.products.ofWarp[warp.index];
  Touch touch = {cta, warp, pc, unsigned(__builtin_ctz(active))};
  auto check = [&](const Operand &operand, bool isWrite) {
    if (!isWord(operand))
      return;
    RegisterUse &use = products.registers[operand.reg.number];
    if (use.product > products.numFinished)
      reportInFlight(touch, operand, use, isWrite ? "written" : "read");
    use.touchPc = pc;
    use.fencesOfTouch = products.numFences;
    if (!isWrite)
      return;
    use.writePc = pc;
    use.fencesOfWrite = products.numFences;
  };
  for (const Operand &source : instruction.sources)
    check(source, false);
  check(instruction.address.base, false);
  check(instruction.sourceAddress.base, false);
  for (const Operand &result : instruction.results)
    check(result, true);
}

/// Returns true if a register had the same place in the accumulator of a product of the same shape:
/// such products are in order by themselves.
static bool isSameAccumulator(const Cta &cta, const RegisterUse &use,
                              const Instruction &instruction, uint32_t position) {
  const Instruction &before = cta.launch.program.code[use.productPc];
  return use.position == position && before.columns == instruction.columns &&
         before.depth == instruction.depth && before.type == instruction.type;
}

static void useRegister(const Touch &touch, const Instruction &instruction, const Operand &operand,
                        uint32_t position) {
  WarpProducts &products = touch.cta.products.ofWarp[touch.warp.index];
  RegisterUse &use = products.registers[operand.reg.number];
  bool isAccumulator = position != RegisterUse::kOperandA;
  bool isInOrder =
      use.product && (isAccumulator ? isSameAccumulator(touch.cta, use, instruction, position)
                                    : use.position == RegisterUse::kOperandA);
  if (use.product > products.numFinished && !isInOrder)
    reportInFlight(touch, operand, use,
                   isAccumulator ? "taken as the accumulator of another product"
                                 : "taken as operand A of another product");
  else if (use.product && !isInOrder && use.fencesOfProduct == products.numFences)
    reportNoFence(touch, operand,
                  isAccumulator ? " is used by another product of another shape or as operand A, "
                                  "and no wgmma.fence"
                                : " is the accumulator of another product, and no wgmma.fence",
                  use.productPc);
  int32_t toucher = isAccumulator ? use.touchPc : use.writePc;
  uint32_t fences = isAccumulator ? use.fencesOfTouch : use.fencesOfWrite;
  if (toucher >= 0 && fences == products.numFences)
    reportNoFence(touch, operand,
                  toucher == use.writePc ? " is written, and no wgmma.fence"
                                         : " is read, and no wgmma.fence",
                  toucher);
}

static void noteRegister(const Touch &touch, const Operand &operand, uint32_t position,
                         uint32_t number) {
  WarpProducts &products = touch.cta.products.ofWarp[touch.warp.index];
  RegisterUse &use = products.registers[operand.reg.number];
  use.product = number + 1;
  use.productPc = touch.pc;
  use.position = position;
  use.fencesOfProduct = products.numFences;
}

void tw::warpsim::useRegisters(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                               uint32_t number) {
  Touch touch = {cta, warp, pc, unsigned(__builtin_ctz(warp.present()))};
  if (cta.products.ofWarp[warp.index].numFences == 0)
    cta.report(Kind::MissingFence, warp, touch.lane, pc, [&](Finding &finding) {
      finding.message = "no wgmma.fence comes before the first product";
    });
  // All are checked before any is recorded: one register may have several places.
  auto forEach = [&](auto visit) {
    for (unsigned i = 0; i < 4 && hasMatrixInRegisters(instruction); ++i)
      visit(instruction.sources[i], RegisterUse::kOperandA);
    for (uint32_t i = 0; i < instruction.results.size(); ++i)
      visit(instruction.results[i], i);
  };
  forEach([&](const Operand &operand, uint32_t position) {
    useRegister(touch, instruction, operand, position);
  });
  forEach([&](const Operand &operand, uint32_t position) {
    noteRegister(touch, operand, position, number);
  });
}
