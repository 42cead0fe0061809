// wgmma: issue, completion as the launch's policy says, groups and waits.
#include "backend/warpsim/core/access/ProductReads.h"
#include "backend/warpsim/core/matrix/MatrixOperations.h"
#include "backend/warpsim/core/matrix/WarpgroupForm.h"
#include "backend/warpsim/core/matrix/WarpgroupMultiply.h"
#include "backend/warpsim/core/matrix/WarpgroupOperations.h"
#include "backend/warpsim/core/state/Origins.h"
#include <algorithm>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// Under random completion one of so many instructions computes something.
constexpr uint64_t kInstructionsPerProduct = 4;

static void reportProduct(Cta &cta, Warp &warp, Kind kind, int32_t pc, const std::string &message,
                          int32_t other = -1) {
  unsigned lane = unsigned(__builtin_ctz(warp.present()));
  cta.report(kind, warp, lane, pc, [&](Finding &finding) { finding.message = message; }, other);
}

/// Reads an operand that all lanes of the warp must hold alike.
static uint64_t readUniform(Cta &cta, Warp &warp, const Operand &operand, int32_t pc,
                            LaneMask active, const char *what) {
  reportUnset(cta, warp, operand, pc, active, what);
  uint64_t first = readLane(operand, warp.registers(), unsigned(__builtin_ctz(active)));
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (readLane(operand, warp.registers(), lane) == first)
      continue;
    cta.report(Kind::MatrixMisuse, warp, lane, pc, [&](Finding &finding) {
      finding.message = std::string(what) + " is another one than that of other threads";
    });
    break;
  }
  return first;
}

/// Checks the fields of a descriptor.
static void checkDescriptor(Cta &cta, Warp &warp, int32_t pc, uint64_t bits, const char *name) {
  MatrixDescriptor descriptor(bits);
  std::string of = std::string("the descriptor of ") + name;
  if (descriptor.setsReservedBits)
    reportProduct(cta, warp, Kind::MatrixMisuse, pc, of + " sets bits that belong to no field");
  if (descriptor.baseOffset)
    reportProduct(cta, warp, Kind::Unsupported, pc,
                  of + " has a base offset: the simulator knows only 0");
  uint32_t rowBytes = kMatrixPieceBytes * descriptor.span, patternBytes = 128 * descriptor.span;
  bool isInFirstRow = descriptor.start % patternBytes < rowBytes;
  if (descriptor.span > 1 && !descriptor.baseOffset && !isInFirstRow)
    reportProduct(cta, warp, Kind::Misaligned, pc,
                  of + " begins at shared address " + std::to_string(descriptor.start) +
                      ", which is not in the first row of a swizzled pattern of " +
                      std::to_string(patternBytes) + " bytes");
}

/// Drops the products of a warpgroup that all threads of the CTA know to be over.
static void dropOldProducts(Warpgroup &group, uint32_t epoch) {
  while (!group.products.empty() && group.products.front().finished == 0xf &&
         std::ranges::max(group.products.front().epochs) < epoch) {
    group.products.pop_front();
    ++group.numDropped;
  }
}

/// Reports a warp whose product differs from that of the other warps, once.
static void checkAgreement(Cta &cta, Warp &warp, Warpgroup &group, const GroupProduct &shared,
                           const ProductInFlight &product) {
  bool isSamePlace = shared.pc == product.pc;
  if (group.isBroken || (isSamePlace && shared.a == product.a && shared.b == product.b))
    return;
  group.isBroken = true;
  reportProduct(
      cta, warp, Kind::WarpgroupMisuse, product.pc,
      "warp " + std::to_string(warp.index) +
          (isSamePlace ? " gives other descriptors than" : " executes another product than") +
          " the other warps of its warpgroup: the four have to agree",
      shared.pc);
}

/// Returns what the warps of the warpgroup share of this product; the first of them makes it.
static GroupProduct &joinGroup(Cta &cta, Warp &warp, const ProductInFlight &product) {
  Warpgroup &group = cta.products.groups[warp.index / kWarpsOfGroup];
  uint32_t index = product.number - group.numDropped;
  if (index == group.products.size()) {
    dropOldProducts(group, cta.clocks.epoch());
    GroupProduct &made = group.products.emplace_back();
    made.pc = product.pc;
    made.a = product.a;
    made.b = product.b;
  }
  GroupProduct &shared = cta.products.productOf(warp.index, product.number);
  checkAgreement(cta, warp, group, shared, product);
  shared.issued |= uint8_t(1 << warp.index % kWarpsOfGroup);
  return shared;
}

/// Checks the shared memory that the product reads: the warp's rows of A, and all of B.
static void checkOperands(Cta &cta, Warp &warp, const Instruction &instruction,
                          const ProductInFlight &product, GroupProduct &shared) {
  WarpgroupForm form(instruction);
  MemoryStep step = {cta, warp, instruction, product.pc, false, kMatrixPieceBytes};
  step.isProbe = true;
  MatrixPieces pieces;
  if (!form.isAInRegisters) {
    unsigned rows = 16;
    MatrixPart part = {warp.index % kWarpsOfGroup * rows, rows, form.isAKMajor};
    findPieces(MatrixDescriptor(product.a), part, pieces);
    checkOperand(step, {pieces.at.data(), pieces.count}, product.number, true);
  }
  bool isSame = shared.pc == product.pc && shared.b == product.b;
  if (isSame && shared.isOrderedForAll)
    return;
  bool isFirst = !isSame || !(shared.issued & (shared.issued - 1));
  findPieces(MatrixDescriptor(product.b), {0, instruction.columns, form.isBKMajor}, pieces);
  shared.isOrderedForAll =
      checkOperand(step, {pieces.at.data(), pieces.count}, product.number, isFirst) && isSame;
}

static void compute(Cta &cta, Warp &warp, ProductInFlight &product) {
  if (product.isComputed)
    return;
  product.isComputed = true;
  --cta.products.numUncomputed;
  computeProduct(cta, warp, product);
}

/// Reads the operands that are the same for all lanes.
static ProductInFlight readProduct(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                   LaneMask active) {
  WarpgroupForm form(instruction);
  ProductInFlight product;
  product.pc = pc;
  product.lanes = active;
  product.group = cta.products.ofWarp[warp.index].numCommitted;
  product.number = cta.products.ofWarp[warp.index].numIssued++;
  if (!form.isAInRegisters) {
    product.a = readUniform(cta, warp, *form.a, pc, active, "the descriptor of A");
    checkDescriptor(cta, warp, pc, product.a, "A");
  }
  product.b = readUniform(cta, warp, *form.b, pc, active, "the descriptor of B");
  checkDescriptor(cta, warp, pc, product.b, "B");
  product.readsAccumulator =
      readUniform(cta, warp, *form.readsAccumulator, pc, active, "scale-d of a product") != 0;
  return product;
}

/// Lets warps go on that wait for a product which now all have issued.
static void wakeGroup(Cta &cta, unsigned first) {
  for (unsigned i = first; i < first + kWarpsOfGroup && i < cta.warps.size(); ++i)
    if (cta.warps[i].awaitsWarpgroup) {
      cta.warps[i].awaitsWarpgroup = false;
      cta.warps[i].state = WarpState::Ready;
    }
}

static void issue(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                  LaneMask active) {
  if (warp.frames.size() > 1)
    return reportProduct(cta, warp, Kind::Unsupported, pc,
                         "the simulator cannot execute wgmma in a function that is called");
  if (warp.index / kWarpsOfGroup * kWarpsOfGroup + kWarpsOfGroup > cta.warps.size())
    reportProduct(cta, warp, Kind::WarpgroupMisuse, pc,
                  "the last of " + std::to_string(cta.warps.size()) +
                      " warps execute wgmma, which takes four warps each");
  cta.products.isUsed = true;
  ProductInFlight product = readProduct(cta, warp, instruction, pc, active);
  useRegisters(cta, warp, instruction, pc, product.number);
  GroupProduct &shared = joinGroup(cta, warp, product);
  checkOperands(cta, warp, instruction, product, shared);
  if (shared.issued == 0xf)
    wakeGroup(cta, warp.index / kWarpsOfGroup * kWarpsOfGroup);
  ++cta.products.numUncomputed;
  ProductInFlight &issued = cta.products.ofWarp[warp.index].inFlight.emplace_back(product);
  if (cta.launch.launch.options.completion == Completion::Early)
    compute(cta, warp, issued);
}

/// A product of a warpgroup is over for all its warps: those that have yet to wait for it do not
/// read its operands any more.
static void computeForGroup(Cta &cta, unsigned first, uint32_t number) {
  for (unsigned i = first; i < first + kWarpsOfGroup && i < cta.warps.size(); ++i)
    for (ProductInFlight &product : cta.products.ofWarp[i].inFlight)
      if (product.number <= number)
        compute(cta, cta.warps[i], product);
}

/// The product is over: from now on its operands may be written, by whoever knows of it.
static void finish(Cta &cta, Warp &warp, ProductInFlight &product) {
  computeForGroup(cta, warp.index / kWarpsOfGroup * kWarpsOfGroup, product.number);
  GroupProduct &shared = cta.products.productOf(warp.index, product.number);
  unsigned member = warp.index % kWarpsOfGroup;
  shared.finished |= uint8_t(1 << member);
  shared.epochs[member] = cta.clocks.epoch();
  shared.clocks[member] = cta.clocks.clock(warp.index);
  cta.products.ofWarp[warp.index].numFinished = product.number + 1;
}

/// Returns true if other warps have yet to issue a product that the warp waits for: it cannot be
/// over. That matters where mbarriers hand its operands to others meanwhile.
static bool mustAwaitGroup(Cta &cta, const Warp &warp, uint32_t number) {
  const Warpgroup &group = cta.products.groups[warp.index / kWarpsOfGroup];
  return cta.bulk.isUsed && cta.bulk.numVainRounds == 0 && !group.isBroken &&
         cta.products.productOf(warp.index, number).issued != 0xf;
}

/// Completes all groups of the warp but the latest `numLeft`.
static void wait(Cta &cta, Warp &warp, uint64_t numLeft) {
  WarpProducts &products = cta.products.ofWarp[warp.index];
  auto isOver = [&](const ProductInFlight &product) {
    return product.group + numLeft < products.numCommitted;
  };
  auto end = std::ranges::find_if_not(products.inFlight, isOver);
  if (end != products.inFlight.begin() && mustAwaitGroup(cta, warp, std::prev(end)->number)) {
    --warp.stack.back().pc; // waits again
    warp.state = WarpState::Waiting;
    warp.awaitsWarpgroup = true;
    warp.waitPc = warp.stack.back().pc;
    return;
  }
  for (auto product = products.inFlight.begin(); product != end; ++product)
    finish(cta, warp, *product);
  products.inFlight.erase(products.inFlight.begin(), end);
}

void tw::warpsim::executeWarpgroup(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                   LaneMask active) {
  checkWholeWarp(cta, warp, pc, active);
  if (!cta.launch.hasProducts && instruction.op != Op::WarpgroupMma)
    return; // fences and waits for nothing
  switch (instruction.op) {
  case Op::WarpgroupFence:
    ++cta.products.ofWarp[warp.index].numFences;
    return;
  case Op::WarpgroupCommit:
    ++cta.products.ofWarp[warp.index].numCommitted;
    return;
  case Op::WarpgroupWait:
    return wait(cta, warp, instruction.sources[0].bits);
  default:
    return issue(cta, warp, instruction, pc, active);
  }
}

/// The products of a warp are computed in the order of their issue.
void tw::warpsim::computeSomeProducts(Cta &cta) {
  AsyncProducts &products = cta.products;
  if (products.random() % kInstructionsPerProduct != 0)
    return;
  unsigned warp = unsigned(products.random() % products.ofWarp.size());
  std::vector<ProductInFlight> &inFlight = products.ofWarp[warp].inFlight;
  uint64_t count = products.random() % (inFlight.size() + 1);
  for (uint64_t i = 0; i < count; ++i)
    compute(cta, cta.warps[warp], inFlight[i]);
}
