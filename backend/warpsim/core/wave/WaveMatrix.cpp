// Matrix instructions of waves: one routine for all of them, by the tables of their layouts.
#include "backend/warpsim/core/wave/MatrixTable.h"
#include "backend/warpsim/core/wave/Wave.h"
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/exec/VectorClones.h"
#include <cstring>

using namespace tw::warpsim;

namespace {
/// An operand's registers, and how many elements each holds.
struct MatrixOperand {
  const Operand *registers;
  unsigned count;
  MatrixElement element;
  bool isSigned = true;
};
template <typename T> struct Matrix {
  std::vector<T> values;
  std::vector<uint8_t> isSet;
};
/// The sources of a matrix instruction begin with the numbers of registers of A, B and C, and with
/// flags: which operands are signed, or which half of a register the result is in; or, where there
/// are scales, which bytes of the registers behind C they are, as `kScaledProduct` says.
constexpr unsigned kNumHeads = 4;
} // namespace

/// The formats of 8 bits of gfx942 have one zero, no infinities, and NaN where -0 would be; gfx950
/// and later have those of the Open Compute Project.
static float decodeByte(uint32_t code, const FloatFormat &format, bool isFnuz) {
  if (!isFnuz)
    return float(valueOfCode(code, format));
  if (code == 0x80)
    return std::nanf("");
  unsigned exponent = (code & 0x7f) >> format.mantissaBits;
  unsigned mantissa = code & ((1u << format.mantissaBits) - 1);
  int bias = format.bias + 1;
  double value = exponent ? std::ldexp((1u << format.mantissaBits) + mantissa,
                                       int(exponent) - bias - int(format.mantissaBits))
                          : std::ldexp(mantissa, 1 - bias - int(format.mantissaBits));
  return float(code & 0x80 ? -value : value);
}

template <typename T>
static T decodeElement(uint64_t bits, const MatrixOperand &operand, bool isFnuz) {
  switch (operand.element) {
  case MatrixElement::F16:
    return T(floatFromHalf(uint16_t(bits)));
  case MatrixElement::BF16:
    return T(floatFromBrain(uint16_t(bits)));
  case MatrixElement::F32:
    return T(std::bit_cast<float>(uint32_t(bits)));
  case MatrixElement::XF32: // 10 bits of mantissa
    return T(std::bit_cast<float>(uint32_t(bits) & 0xffffe000));
  case MatrixElement::F64:
    return T(std::bit_cast<double>(bits));
  case MatrixElement::I8:
    return operand.isSigned ? T(int8_t(bits)) : T(uint8_t(bits));
  case MatrixElement::I4:
    return operand.isSigned ? T(int8_t(bits << 4) >> 4) : T(bits & 15);
  case MatrixElement::Fp8:
    return T(decodeByte(uint32_t(bits & 0xff), kE4m3, isFnuz));
  case MatrixElement::Bf8:
    return T(decodeByte(uint32_t(bits & 0xff), kE5m2, isFnuz));
  case MatrixElement::Fp4:
    return T(valueOfCode(uint32_t(bits & 0xf), kE2m1));
  }
  return T();
}

/// Element `number` of all lanes.
class ElementReader {
public:
  ElementReader(const Wave &wave, const MatrixOperand &operand, unsigned bits, unsigned elements)
      : wave(wave), operand(operand), bits(bits),
        perRegister(std::max(1u, elements / std::max(1u, operand.count))) {}
  /// The register with the element; the element is at `shift` of it.
  const WaveValues &read(unsigned number, unsigned &shift) {
    unsigned index = number / perRegister;
    shift = number % perRegister * bits;
    if (int(index) != current)
      values = readWave(wave, operand.registers[index]);
    current = int(index);
    return values;
  }

private:
  const Wave &wave;
  const MatrixOperand &operand;
  unsigned bits, perRegister;
  int current = -1;
  WaveValues values;
};

template <typename T>
static Matrix<T> gatherMatrix(const Wave &wave, const MatrixOperand &operand,
                              const MatrixLayout &layout, const std::vector<uint16_t> &at,
                              size_t size, bool isFnuz, unsigned stride = 1, unsigned first = 0) {
  Matrix<T> matrix = {std::vector<T>(size), std::vector<uint8_t>(size, 1)};
  unsigned elements = unsigned(at.size() / layout.lanes);
  ElementReader reader(wave, operand, bitsOf(operand.element), elements * stride);
  for (unsigned element = 0; element < elements; ++element) {
    unsigned shift = 0;
    const WaveValues &values = reader.read(element * stride + first, shift);
    const uint16_t *places = &at[element * layout.lanes];
    for (unsigned lane = 0; lane < layout.lanes; ++lane) {
      if (places[lane] == MatrixLayout::kNowhere)
        continue;
      matrix.values[places[lane]] = decodeElement<T>(values.lanes[lane] >> shift, operand, isFnuz);
      matrix.isSet[places[lane]] &= uint8_t(values.set >> lane & 1);
    }
  }
  return matrix;
}

template <typename T>
[[gnu::always_inline]] static inline void multiplyAll(const T *a, const T *b, T *d, unsigned rows,
                                                      unsigned columns, unsigned depth) {
  for (unsigned m = 0; m < rows; ++m)
    for (unsigned k = 0; k < depth; ++k) {
      T factor = a[m * depth + k];
      for (unsigned n = 0; n < columns; ++n)
        d[m * columns + n] += factor * b[k * columns + n];
    }
}
TW_VECTOR_CLONES static void multiply(const float *a, const float *b, float *d, unsigned rows,
                                      unsigned columns, unsigned depth) {
  multiplyAll(a, b, d, rows, columns, depth);
}
TW_VECTOR_CLONES static void multiply(const double *a, const double *b, double *d, unsigned rows,
                                      unsigned columns, unsigned depth) {
  multiplyAll(a, b, d, rows, columns, depth);
}
TW_VECTOR_CLONES static void multiply(const uint32_t *a, const uint32_t *b, uint32_t *d,
                                      unsigned rows, unsigned columns, unsigned depth) {
  multiplyAll(a, b, d, rows, columns, depth);
}

static uint64_t encodeElement(float value, MatrixElement element) {
  if (element == MatrixElement::F16)
    return halfFromFloat(value);
  if (element == MatrixElement::BF16)
    return brainFromFloat(value);
  return std::bit_cast<uint32_t>(value);
}
static uint64_t encodeElement(double value, MatrixElement element) {
  if (element != MatrixElement::F64)
    return encodeElement(float(value), element);
  return std::bit_cast<uint64_t>(value);
}
static uint64_t encodeElement(uint32_t value, MatrixElement) { return value; }

/// Results take one register each.
template <typename T>
static void scatter(const Wave &wave, const Instruction &instruction, const MatrixLayout &layout,
                    const Matrix<T> &d, unsigned first) {
  unsigned stride = layout.row->isSpread ? 2 : 1;
  for (unsigned element = 0; element * layout.lanes < layout.dAt.size(); ++element) {
    WaveValues values;
    for (unsigned lane = 0; lane < layout.lanes; ++lane) {
      unsigned at = layout.dAt[element * layout.lanes + lane];
      values.lanes[lane] = encodeElement(d.values[at], layout.row->d);
      values.set |= uint64_t(d.isSet[at]) << lane;
    }
    writeWave(wave, instruction.results[element * stride + first], values);
  }
}

/// Every element that follows from one without a value has none.
template <typename T>
static void spreadUnset(const MatrixLayout &layout, const Matrix<T> &a, const Matrix<T> &b,
                        Matrix<T> &d) {
  for (unsigned m = 0; m < layout.rows; ++m)
    for (unsigned k = 0; k < layout.depth; ++k)
      for (unsigned n = 0; n < layout.columns; ++n)
        d.isSet[m * layout.columns + n] &=
            a.isSet[m * layout.depth + k] & b.isSet[k * layout.columns + n];
}

/// Elements that the layout wants twice must be there twice.
static void checkCopies(const Wave &wave, const MatrixOperand &operand, int32_t pc) {
  for (unsigned i = 0; i < operand.count; ++i) {
    WaveValues values = readWave(wave, operand.registers[i]);
    for (unsigned lane = 0; lane < 16; ++lane)
      if (values.lanes[lane] != values.lanes[lane + 16])
        return wave.cta.report(Kind::MatrixMisuse, wave.speaker(), lane, pc, [&](Finding &finding) {
          finding.message = "lanes " + std::to_string(lane) + " and " + std::to_string(lane + 16) +
                            " hold different elements of an operand that this matrix instruction "
                            "wants in both";
        });
  }
}

/// Multiplies the groups of an operand by their scales, which begin at a byte of a register: 2 to
/// the power of it less 127, and 255 is NaN (Open Compute Project, "Microscaling Formats", E8M0).
static void applyScales(const Wave &wave, const Operand &scales, unsigned firstByte,
                        const MatrixLayout &layout, bool isA, Matrix<double> &matrix) {
  WaveValues values = readWave(wave, scales);
  unsigned groups = layout.depth / kScaledGroup;
  for (unsigned i = 0; i < layout.scaleAt.size(); ++i) {
    unsigned lane = i % layout.scaleLanes, byte = firstByte + i / layout.scaleLanes;
    unsigned scale = unsigned(values.lanes[lane] >> (8 * byte)) & 0xff;
    unsigned outer = layout.scaleAt[i] / groups, group = layout.scaleAt[i] % groups;
    for (unsigned k = group * kScaledGroup; k < (group + 1) * kScaledGroup; ++k) {
      unsigned at = isA ? outer * layout.depth + k : k * layout.columns + outer;
      double &value = matrix.values[at];
      value = scale == 255 ? std::nan("") : std::ldexp(value, int(scale) - 127);
      matrix.isSet[at] &= uint8_t(values.set >> lane & 1);
    }
  }
}

static bool checkWhole(const Wave &wave, int32_t pc) {
  for (unsigned half = 0; half * kWarpSize < wave.size(); ++half) {
    LaneMask whole = wave.size() < kWarpSize ? (1u << wave.size()) - 1 : ~LaneMask(0);
    LaneMask missing = whole & ~wave.active[half];
    if (!missing)
      continue;
    Warp &named = wave.halves[half] ? *wave.halves[half] : wave.speaker();
    wave.cta.report(Kind::DivergentCollective, named, unsigned(__builtin_ctz(missing)), pc,
                    [&](Finding &finding) {
                      finding.message = "a matrix instruction needs all " +
                                        std::to_string(wave.size()) +
                                        " lanes of a wave: this one is elsewhere or masked off";
                    });
    return false;
  }
  return true;
}

template <typename T>
static void run(const Wave &wave, const Instruction &instruction, const MatrixLayout &layout) {
  const Operand *sources = instruction.sources.data();
  auto count = [&](unsigned i) { return unsigned(sources[i].bits); };
  const MatrixRow &row = *layout.row;
  bool isFnuz = wave.cta.launch.arch == 942, isInteger = std::is_integral_v<T>;
  unsigned flags = count(3);
  MatrixOperand a = {sources + kNumHeads, count(0), row.a, (flags & 1) != 0};
  MatrixOperand b = {a.registers + a.count, count(1), row.b, (flags & 2) != 0};
  MatrixOperand c = {b.registers + b.count, count(2), isInteger ? MatrixElement::F32 : row.d};
  unsigned first = row.isSpread ? flags & 1 : 0, stride = row.isSpread ? 2 : 1;
  size_t ofA = size_t(layout.rows) * layout.depth, ofB = size_t(layout.depth) * layout.columns,
         outputs = size_t(layout.rows) * layout.columns;
  Matrix<T> left = gatherMatrix<T>(wave, a, layout, layout.aAt, ofA, isFnuz);
  Matrix<T> right = gatherMatrix<T>(wave, b, layout, layout.bAt, ofB, isFnuz);
  if constexpr (std::is_same_v<T, double>)
    if (flags & kScaledProduct) {
      const Operand *scales = c.registers + c.count;
      applyScales(wave, scales[0], flags >> kScaleByteOfA & 3, layout, true, left);
      applyScales(wave, scales[1], flags >> kScaleByteOfB & 3, layout, false, right);
    }
  Matrix<T> sum = {std::vector<T>(outputs), std::vector<uint8_t>(outputs, 1)};
  if constexpr (std::is_integral_v<T>) {
    for (unsigned i = 0; i < c.count; ++i) {
      WaveValues values = readWave(wave, c.registers[i]);
      for (unsigned lane = 0; lane < layout.lanes; ++lane) {
        sum.values[layout.dAt[i * layout.lanes + lane]] = T(values.lanes[lane]);
        sum.isSet[layout.dAt[i * layout.lanes + lane]] = uint8_t(values.set >> lane & 1);
      }
    }
  } else {
    sum = gatherMatrix<T>(wave, c, layout, layout.dAt, outputs, isFnuz, stride, first);
  }
  multiply(left.values.data(), right.values.data(), sum.values.data(), layout.rows, layout.columns,
           layout.depth);
  bool isWhole = !memchr(left.isSet.data(), 0, ofA) && !memchr(right.isSet.data(), 0, ofB);
  if (!isWhole)
    spreadUnset(layout, left, right, sum);
  if (row.isSpread) // the other halves of the registers stay
    for (unsigned i = 0; i < c.count; ++i)
      writeWave(wave, instruction.results[i], readWave(wave, c.registers[i]));
  scatter(wave, instruction, layout, sum, first);
}

void tw::warpsim::executeWaveMatrix(const Wave &wave, const Instruction &instruction, int32_t pc) {
  const MatrixLayout &layout = matrixLayout(instruction.form);
  if (!checkWhole(wave, pc))
    return;
  if (layout.hasCopies) {
    unsigned numA = unsigned(instruction.sources[0].bits);
    const Operand *registers = instruction.sources.data() + kNumHeads;
    checkCopies(wave, {registers, numA, layout.row->a}, pc);
    checkCopies(wave, {registers + numA, unsigned(instruction.sources[1].bits), layout.row->b}, pc);
  }
  bool isInteger = layout.row->a == MatrixElement::I8 || layout.row->a == MatrixElement::I4;
  if (isInteger)
    return run<uint32_t>(wave, instruction, layout);
  if (layout.row->a == MatrixElement::F64 || layout.row->scaleLanes)
    return run<double>(wave, instruction, layout);
  run<float>(wave, instruction, layout);
}
