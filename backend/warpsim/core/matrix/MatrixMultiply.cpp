// mma.sync: gathers the fragments of a warp into matrices, multiplies, and gives the result back.
#include "backend/warpsim/core/matrix/MatrixArithmetic.h"
#include "backend/warpsim/core/matrix/MatrixFragments.h"
#include "backend/warpsim/core/matrix/MatrixOperations.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

void tw::warpsim::checkWholeWarp(Cta &cta, Warp &warp, int32_t pc, LaneMask active) {
  LaneMask missing = ~active;
  if (!missing)
    return;
  LaneMask away = missing & warp.present() ? missing & warp.present() : active;
  cta.report(Kind::DivergentCollective, warp, unsigned(__builtin_ctz(away)), pc,
             [&](Finding &finding) {
               finding.message = away == active
                                     ? "a matrix instruction needs all 32 threads of a warp, and "
                                       "some have exited or do not exist"
                                     : "a matrix instruction needs all 32 threads of a warp: this "
                                       "one is elsewhere or masked off";
             });
}

static uint32_t encodeElement(float value) {
  return std::isnan(value) ? 0x7fffffff : std::bit_cast<uint32_t>(value);
}
static uint32_t encodeElement(int32_t value) { return uint32_t(value); }
static uint64_t encodeElement(double value) { return std::bit_cast<uint64_t>(value); }

template <typename T>
static void scatterMatrix(const Instruction &instruction, const PreparedForm &prepared,
                          WarpRegisters &registers, LaneMask active, const LaneMask *set,
                          const T *matrix) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  bool isHalf = instruction.type == Type::F16;
  const uint16_t *at = prepared.c->at.data();
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    LaneValues<Word> values;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      if constexpr (std::is_same_v<T, float>)
        if (isHalf) {
          uint32_t low = halfFromFloat(matrix[at[lane]]);
          values.lanes[lane] = low | uint32_t(halfFromFloat(matrix[at[kWarpSize + lane]])) << 16;
          continue;
        }
      values.lanes[lane] = encodeElement(matrix[at[lane]]);
    }
    at += kWarpSize * (isHalf ? 2 : 1);
    if (instruction.results[i].kind == Operand::Kind::Register)
      writeLanes(instruction.results[i], registers, active, values, set[i]);
  }
}

void tw::warpsim::addUnset(const Fragment &fragment, const WarpRegisters &registers, bool byColumn,
                           uint32_t &unset) {
  unsigned perRegister = fragment.map.elementsPerRegister();
  for (unsigned i = 0; i < fragment.map.numRegisters(); ++i) {
    MissingBytes missing = missingBytes(fragment.registers[i], registers);
    unsigned bytes = fragment.registers[i].reg.file == RegisterFile::Double ? 8 : 4;
    for (unsigned e = 0; e < perRegister; ++e) {
      LaneMask unknown = 0;
      for (unsigned byte = bytes * e / perRegister; byte <= (bytes * e + bytes - 1) / perRegister;
           ++byte)
        unknown |= missing[byte];
      for (LaneMask rest = unknown; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        unsigned at = positionOf(fragment.map, lane, i * perRegister + e);
        unsigned columns = fragment.map.columns;
        unset |= 1u << (byColumn ? at % columns : at / columns);
      }
    }
  }
}

/// Which lanes' results have a value, by result register: an element follows from a row of A, a
/// column of B and its own accumulator.
static void findSet(const Instruction &instruction, const Fragment &a, const Fragment &b,
                    const Fragment &c, const WarpRegisters &registers, LaneMask *set) {
  uint32_t unsetRows = 0, unsetColumns = 0;
  addUnset(a, registers, false, unsetRows);
  addUnset(b, registers, true, unsetColumns);
  unsigned perRegister = instruction.type == Type::F16 ? 2 : 1;
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    set[i] = wholeLanes(c.registers[i], registers);
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned e = 0; e < perRegister; ++e) {
        unsigned at = positionOf(c.map, lane, unsigned(i) * perRegister + e);
        bool isUnset = (unsetRows >> at / kMatrixColumns | unsetColumns >> at % kMatrixColumns) & 1;
        set[i] &= ~(LaneMask(isUnset) << lane);
      }
  }
}

namespace {
/// The parts of an mma under execution that all element types have in common.
struct MmaStep {
  const Instruction &instruction;
  const PreparedForm &prepared;
  WarpRegisters &registers;
  Fragment a, b, c;
  LaneMask active;
  const LaneMask *set;
};
} // namespace

template <typename T, typename Multiply>
static void multiplyFragments(const MmaStep &step, Multiply multiply) {
  MatrixProduct<T> product;
  product.rows = step.prepared.form->a.rows;
  product.depth = step.prepared.form->a.columns;
  gatherMatrix(step.a, step.instruction.sourceType, step.registers, product.a);
  gatherMatrix(step.b, step.instruction.secondType, step.registers, product.b);
  gatherMatrix(step.c, step.instruction.type, step.registers, product.c);
  multiply(product);
  scatterMatrix(step.instruction, step.prepared, step.registers, step.active, step.set, product.c);
}

static void multiplyStep(const MmaStep &step, bool isExact, unsigned arch) {
  switch (step.instruction.type) {
  case Type::F64:
    return multiplyFragments<double>(step, [](auto &product) { multiplyFast(product); });
  case Type::S32:
    return multiplyFragments<int32_t>(
        step, [&](auto &product) { multiplyIntegers(product, step.instruction.isSatFinite); });
  default:
    return multiplyFragments<float>(step, [&](auto &product) {
      if (isExact)
        multiplyExactly(product, ruleOf(step.instruction, arch));
      else
        multiplyFast(product);
    });
  }
}

void tw::warpsim::executeMma(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                             LaneMask active) {
  checkWholeWarp(cta, warp, pc, active);
  PreparedForm prepared = formOf(instruction);
  const Operand *sources = instruction.sources.data();
  WarpRegisters &registers = warp.registers();
  unsigned numA = prepared.form->a.numRegisters(), numB = prepared.form->b.numRegisters();
  Fragment a = {prepared.form->a, *prepared.a, sources};
  Fragment b = {prepared.form->b, *prepared.b, sources + numA};
  Fragment c = {prepared.form->c, *prepared.c, sources + numA + numB};
  LaneMask set[4] = {kAllLanes, kAllLanes, kAllLanes, kAllLanes};
  if (wholeOfSources(instruction, registers) != kAllLanes)
    findSet(instruction, a, b, c, registers, set);
  const LaunchOptions &options = cta.launch.launch.options;
  multiplyStep({instruction, prepared, registers, a, b, c, active, set},
               options.arithmetic == LaunchOptions::Arithmetic::Exact, cta.launch.arch);
}
