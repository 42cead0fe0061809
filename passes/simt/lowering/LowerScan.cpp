// Lowers inclusive scans inside each warp. Bits of the axis are taken from the lowest to the
// highest: runs of bits in registers are chains, runs of bits in lanes are butterflies in which
// each lane keeps the total of its group and what comes before it.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/AxisSteps.h"
#include "passes/simt/lowering/thread/LayoutConversion.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
struct Scan {
  SimtFunction &f;
  const LinearLayout &layout;
  Region &region;
  bool isReverse;
  SmallVector<Registers> results; // scanned within the groups so far
  RegisterClasses totals;         // of each group, in all of its registers and lanes

  Registers resultsAt(uint32_t reg) const {
    Registers values;
    for (const Registers &tile : results)
      values.push_back(tile[reg]);
    return values;
  }
  void setResults(uint32_t reg, ArrayRef<Value> values) {
    for (auto [tile, value] : llvm::zip(results, values))
      tile[reg] = value;
  }
  Registers select(Value condition, ArrayRef<Value> left, ArrayRef<Value> right) {
    Registers values;
    for (auto [a, b] : llvm::zip(left, right))
      values.push_back(f.create<arith::SelectOp>(condition, a, b));
    return values;
  }
  /// The half of a step in the order of the scan: the later one is high.
  AxisHalf halfInOrder(const AxisStep &step, Value flips, uint32_t reg) {
    AxisHalf half = halfOf(layout, step, flips, reg);
    half.isHigh ^= isReverse;
    return half;
  }

  void scanRegisters(ArrayRef<AxisStep> steps, bool groupsAreElements);
  void scanLanes(ArrayRef<AxisStep> steps, bool needsTotals);
  void prependToGroup(const RegisterClasses &groups, uint32_t reg, ArrayRef<Value> before,
                      Value isWanted);
};
} // namespace

/// Every element of the group of `reg` has `before` in front of it, where `isWanted` (null:
/// always).
void Scan::prependToGroup(const RegisterClasses &groups, uint32_t reg, ArrayRef<Value> before,
                          Value isWanted) {
  for (uint32_t member = 0; member < results.front().size(); ++member) {
    if (groups.classOf(member) != groups.classOf(reg))
      continue;
    Registers own = resultsAt(member), combined = f.combine(region, before, own);
    setResults(member, isWanted ? select(isWanted, combined, own) : combined);
  }
}

void Scan::scanRegisters(ArrayRef<AxisStep> steps, bool groupsAreElements) {
  RegisterClasses groups = totals;
  for (const AxisStep &step : steps)
    totals.merge(step.reg);
  for (uint32_t reg : totals.representatives()) {
    uint32_t first = reg;
    for (const AxisStep &step : steps)
      if (halfInOrder(step, {}, reg).isHigh) // the same in all lanes: withRegistersInOrder
        first ^= step.reg;
    Registers prefix(groups.at(first));
    for (uint32_t position = 1; position < 1u << steps.size(); ++position) {
      uint32_t member = first;
      for (auto [bit, step] : llvm::enumerate(steps))
        if (position >> bit & 1)
          member ^= step.reg;
      Registers total = f.combine(region, prefix, groups.at(member));
      if (groupsAreElements)
        setResults(member, total);
      else
        prependToGroup(groups, member, prefix, {});
      prefix = total;
    }
    totals.set(reg, prefix);
  }
}

void Scan::scanLanes(ArrayRef<AxisStep> steps, bool needsTotals) {
  SmallVector<uint32_t> registers = totals.representatives();
  std::map<uint32_t, Registers> before; // what comes before each group in this run
  std::map<uint32_t, Value> hasBefore;
  for (const AxisStep &step : steps) {
    std::map<uint32_t, Registers> others;
    for (size_t tile = 0; tile < results.size(); ++tile) {
      Registers sent;
      for (uint32_t reg : registers)
        sent.push_back(totals.at(reg ^ step.reg)[tile]);
      for (auto [reg, value] : llvm::zip(registers, shuffleXor(f, sent, step.lane)))
        others[reg].push_back(value);
    }
    Value flips = axisFlips(f, layout, step);
    RegisterClasses next = totals;
    for (uint32_t reg : registers) {
      Value isHigh = isHighHalf(f, halfInOrder(step, flips, reg));
      const Registers &other = others[reg];
      Registers own(totals.at(reg));
      if (needsTotals || step.elementBit != steps.back().elementBit)
        next.set(reg, f.combine(region, select(isHigh, other, own), select(isHigh, own, other)));
      Value &has = hasBefore[reg];
      if (!has) {
        before[reg] = other; // where it is not wanted, any valid value
        has = isHigh;
        continue;
      }
      Registers longer = f.combine(region, other, before[reg]);
      longer = select(has, longer, other);
      before[reg] = select(isHigh, longer, before[reg]);
      has = f.create<arith::OrIOp>(has, isHigh);
    }
    totals = std::move(next);
  }
  for (uint32_t reg : registers)
    prependToGroup(totals, reg, before[reg], hasBefore[reg]);
}

/// The same layout with nothing added by lanes and warps along bits of the axis that registers
/// hold: the order of a thread's registers is the same in all threads.
static LinearLayout withRegistersInOrder(const LinearLayout &layout, ArrayRef<AxisStep> steps) {
  uint32_t inRegisters = 0;
  for (const AxisStep &step : steps)
    if (step.lane == 0)
      inRegisters |= step.elementBit;
  LinearLayout result = layout;
  for (Place place : {Place::Lane, Place::Warp}) {
    LinearLayout::Bases bases;
    for (uint32_t basis : layout.bases(place))
      bases.push_back(basis & ~inRegisters);
    result = result.withPlace(place, bases);
  }
  return result;
}

static SmallVector<Registers> scanInOrder(SimtFunction &f, tile::ScanOp op,
                                          const LinearLayout &layout, ArrayRef<Registers> sources) {
  SmallVector<AxisStep> steps = axisSteps(layout, op.getAxis());
  Scan scan{f,
            layout,
            op.getCombine(),
            op.getReverse(),
            SmallVector<Registers>(sources),
            RegisterClasses(sources)};
  for (ArrayRef<AxisStep> rest = steps; !rest.empty();) {
    bool inRegisters = rest.front().lane == 0;
    ArrayRef<AxisStep> run =
        rest.take_while([&](const AxisStep &step) { return (step.lane == 0) == inRegisters; });
    rest = rest.drop_front(run.size());
    if (inRegisters)
      scan.scanRegisters(run, /*groupsAreElements=*/run.begin() == steps.begin());
    else
      scan.scanLanes(run, /*needsTotals=*/!rest.empty());
  }
  return scan.results;
}

LogicalResult SimtFunction::lowerScan(tile::ScanOp op) {
  Type type = op.getSources().front().getType();
  const LinearLayout &layout = layoutOf(type);
  SmallVector<AxisStep> steps = axisSteps(layout, op.getAxis());
  LinearLayout inOrder = withRegistersInOrder(layout, steps);
  if (steps.size() != layout.numBitsOf(op.getAxis()))
    return emitCoded(op, Code::CompilerFault)
           << "a scan between warps must go through shared memory";
  SmallVector<Registers> sources;
  for (Value source : op.getSources()) {
    FailureOr<Registers> registers = convertWithinWarp(*this, registersOf(source), layout, inOrder);
    if (failed(registers))
      return emitCoded(op, Code::CompilerFault)
             << "a scan between warps must go through shared memory";
    sources.push_back(*registers);
  }
  SmallVector<Registers> scanned = scanInOrder(*this, op, inOrder, sources);
  for (auto [result, registers] : llvm::zip(op.getResults(), scanned)) {
    FailureOr<Registers> converted =
        convertWithinWarp(*this, registers, inOrder, layoutOf(result.getType()));
    if (failed(converted))
      return emitCoded(op, Code::CompilerFault) << "a scan's result must have its source's layout";
    setRegisters(result, *converted);
  }
  return success();
}
