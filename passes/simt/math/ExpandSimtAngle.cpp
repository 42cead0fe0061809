// sin, cos and tan of one lane, with exact reduction of angles of any size.
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// The binary digits of 2/pi behind the point, after one word of zeros.
static constexpr uint64_t kTwoOverPiWords[] = {0,
                                               0xa2f9836e4e441529,
                                               0xfc2757d1f534ddc0,
                                               0xdb6295993c439041,
                                               0xfe5163abdebbc561,
                                               0xb7246e3a424dd2e0,
                                               0x06492eea09d1921c,
                                               0xfe1deb1cb129a73e,
                                               0xe88235f52ebb4484,
                                               0xe99c7026b45f7e41,
                                               0x3991d639835339f4,
                                               0x9c845f8bbdf9283b,
                                               0x1ff897ffde05980f,
                                               0xef2f118b5a0a6d1f,
                                               0x6d367ecf27cb09b7,
                                               0x4f463f669e5fea2d,
                                               0x7527bac7ebe5f17b,
                                               0x3d0739f78a5292ea,
                                               0x6bfb5fb11f8d5d08,
                                               0x56033046fc7b6bab};
static constexpr double kHalfPi = 1.57079632679489661923;

/// Words k to k + 3 of the digits of 2/pi. `largestIndex` bounds k: words are chosen by the bits of
/// k, the highest first, so that each choice halves how many can still be meant.
static SmallVector<Value> chooseWords(LaneFormula &f, Value k, unsigned largestIndex) {
  SmallVector<Value> words;
  for (uint64_t word : ArrayRef(kTwoOverPiWords).take_front(largestIndex + 4))
    words.push_back(f.integer(static_cast<int64_t>(word)));
  for (unsigned step = llvm::bit_floor(largestIndex); step > 0; step /= 2) {
    Value isSet =
        f.compareInt(arith::CmpIPredicate::ne, f.andInt(k, f.integer(step)), f.integer(0));
    size_t needed = std::min<size_t>(words.size(), step + 3);
    for (size_t i = 0; i < needed && i + step < words.size(); ++i)
      words[i] = f.select(isSet, words[i + step], words[i]);
    words.truncate(needed);
  }
  return words;
}

/// The 64 bits from bit `offset` (below 64) of two words on.
static Value funnel(LaneFormula &f, Value first, Value second, Value offset) {
  Value rest = f.shiftRightBy(f.shiftRight(second, 1), f.subInt(f.integer(63), offset));
  return f.orInt(f.shiftLeftBy(first, offset), rest);
}

static Value carryBit(LaneFormula &f, Value sum, Value part) {
  Value isLess = f.compareInt(arith::CmpIPredicate::ult, sum, part);
  return f.select(isLess, f.integer(1), f.integer(0));
}

/// Payne and Hanek's reduction of a float64 of at least 2^17: x = m 2^s with an integer m of 53
/// bits is multiplied by those 192 bits of 2/pi that decide its product modulo 4.
static ReducedAngle reduceLarge(LaneFormula &f, Value x, unsigned largestIndex) {
  Value bits = f.bits(x);
  Value position =
      f.subInt(f.andInt(f.shiftRight(bits, 52), f.integer(0x7ff)), f.integer(1023 - 10));
  SmallVector<Value> words = chooseWords(f, f.shiftRight(position, 6), largestIndex);
  Value offset = f.andInt(position, f.integer(63));
  Value significand =
      f.orInt(f.andInt(bits, f.integer((int64_t(1) << 52) - 1)), f.integer(int64_t(1) << 52));
  auto multiply = [&](unsigned i) {
    return f.multiplyInt(significand, funnel(f, words[i], words[i + 1], offset));
  };
  LaneFormula::Product high = multiply(0), middle = multiply(1), low = multiply(2);
  Value second = f.addInt(middle.low, low.high);
  Value first = f.addInt(f.addInt(high.low, middle.high), carryBit(f, second, middle.low));
  // Two bits of quadrant, then the fraction; one of a half or more belongs to the next quadrant.
  Value fraction = f.orInt(f.shiftLeft(first, 2), f.shiftRight(second, 62));
  Value tail = f.orInt(f.shiftLeft(second, 2), f.shiftRight(low.low, 62));
  Value quadrant = f.addInt(f.shiftRight(first, 62), f.shiftRight(fraction, 63));
  Value rest = f.fma(f.fromUnsigned(tail), f.constant(0x1p-128),
                     f.mul(f.fromSigned(fraction), f.constant(0x1p-64)));
  rest = f.mul(rest, f.constant(kHalfPi));
  Value sign = f.andInt(bits, f.integer(int64_t(1) << 63));
  rest = f.fromBits(f.xorInt(f.bits(rest), sign));
  Value isNegative = f.compareInt(arith::CmpIPredicate::slt, bits, f.integer(0));
  quadrant = f.select(isNegative, f.subInt(f.integer(0), quadrant), quadrant);
  return {f.add(rest, f.sub(x, x)), quadrant}; // x - x is NaN for infinity
}

static ReducedAngle reduceAny(LaneFormula &f, Value x) {
  ReducedAngle usual = reduceAngle(f, x);
  Value isLarge = f.less(f.constant(largestReducibleAngle(f)), f.absolute(x));
  auto rare = [&]() -> SmallVector<Value> {
    if (f.isDouble()) {
      ReducedAngle angle = reduceLarge(f, x, (1023 + 10) / 64);
      return {angle.rest, angle.quadrant};
    }
    LaneFormula wide = f.ofDouble();
    ReducedAngle angle = reduceLarge(wide, wide.toOtherWidth(x), (127 + 10) / 64);
    return {f.toOtherWidth(angle.rest), f.toOtherWidthInt(angle.quadrant)};
  };
  SmallVector<Value> chosen = f.branch(isLarge, rare, {usual.rest, usual.quadrant});
  return {chosen[0], chosen[1]};
}

Value tw::simt::emitLaneSin(LaneFormula &f, ArrayRef<Value> x) {
  Value result = emitSinOf(f, reduceAny(f, x[0]), 0);
  return f.select(f.equal(x[0], f.constant(0.0)), x[0], result);
}

Value tw::simt::emitLaneCos(LaneFormula &f, ArrayRef<Value> x) {
  return emitSinOf(f, reduceAny(f, x[0]), 1);
}

/// sin / cos, in odd quadrants -cos / sin.
Value tw::simt::emitLaneTan(LaneFormula &f, ArrayRef<Value> x) {
  ReducedAngle angle = reduceAny(f, x[0]);
  Value sine = emitShortSin(f, angle.rest), cosine = emitShortCos(f, angle.rest);
  Value isOdd =
      f.compareInt(arith::CmpIPredicate::ne, f.andInt(angle.quadrant, f.integer(1)), f.integer(0));
  Value result =
      f.divideNear(f.select(isOdd, f.negate(cosine), sine), f.select(isOdd, sine, cosine));
  return f.select(f.equal(x[0], f.constant(0.0)), x[0], result);
}
