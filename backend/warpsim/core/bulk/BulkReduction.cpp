// cp.reduce.async.bulk: operations on elements in global memory.
#include "backend/warpsim/core/bulk/BulkStep.h"
#include "backend/warpsim/exec/Float.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

using namespace tw::warpsim;

template <typename T> static T combine(AtomOp op, T a, T b) {
  if (op == AtomOp::Min)
    return std::min(a, b);
  if (op == AtomOp::Max)
    return std::max(a, b);
  if constexpr (std::is_integral_v<T>) {
    if (op == AtomOp::And)
      return a & b;
    if (op == AtomOp::Or)
      return a | b;
    if (op == AtomOp::Xor)
      return a ^ b;
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(a) + Unsigned(b)); // wraps
  } else {
    return a + b;
  }
}

/// Other CTAs may reduce into the same elements on other host threads.
template <typename Bits, typename Combine>
static void updateAll(const BulkPiece &piece, const uint8_t *values, Combine combineBits) {
  for (uint32_t at = 0; at < piece.bytes; at += sizeof(Bits)) {
    Bits value;
    memcpy(&value, values + at, sizeof(value));
    std::atomic_ref<Bits> element(*reinterpret_cast<Bits *>(piece.host + at));
    Bits old = element.load();
    while (!element.compare_exchange_weak(old, combineBits(old, value)))
      continue;
  }
}

template <typename Bits, typename T>
static void reduceAs(AtomOp op, const BulkPiece &piece, const uint8_t *values) {
  updateAll<Bits>(piece, values, [op](Bits a, Bits b) {
    return std::bit_cast<Bits>(combine(op, std::bit_cast<T>(a), std::bit_cast<T>(b)));
  });
}

void tw::warpsim::reduceInto(const Instruction &instruction, TensorElement element,
                             const BulkPiece &piece, const uint8_t *values) {
  AtomOp op = instruction.atomOp;
  switch (element) {
  case TensorElement::U8:
    return reduceAs<uint8_t, uint8_t>(op, piece, values);
  case TensorElement::U16:
    return reduceAs<uint16_t, uint16_t>(op, piece, values);
  case TensorElement::U32:
    return reduceAs<uint32_t, uint32_t>(op, piece, values);
  case TensorElement::S32:
    return reduceAs<uint32_t, int32_t>(op, piece, values);
  case TensorElement::U64:
    return reduceAs<uint64_t, uint64_t>(op, piece, values);
  case TensorElement::S64:
    return reduceAs<uint64_t, int64_t>(op, piece, values);
  case TensorElement::F64:
    return reduceAs<uint64_t, double>(op, piece, values);
  case TensorElement::F16:
    return updateAll<uint16_t>(piece, values, [op](uint16_t a, uint16_t b) {
      return halfFromFloat(combine(op, floatFromHalf(a), floatFromHalf(b)));
    });
  case TensorElement::BF16:
    return updateAll<uint16_t>(piece, values, [op](uint16_t a, uint16_t b) {
      return brainFromFloat(combine(op, floatFromBrain(a), floatFromBrain(b)));
    });
  default:
    return reduceAs<uint32_t, float>(op, piece, values);
  }
}
