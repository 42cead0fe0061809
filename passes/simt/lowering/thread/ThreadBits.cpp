// Emits linear functions over GF(2) as shifts, masks and selects.
#include "passes/simt/lowering/thread/ThreadBits.h"
#include "ir/layout/XorBasis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

Value tw::simt::xorOf(SimtFunction &f, Value left, Value right) {
  if (!left || !right)
    return left ? left : right;
  return f.create<arith::XOrIOp>(left, right);
}

Value tw::simt::isOddParity(SimtFunction &f, uint32_t laneMask, uint32_t warpMask) {
  Value parity;
  for (auto [mask, number] : {std::pair{laneMask, f.lane}, std::pair{warpMask, f.warp}}) {
    if (mask == 0)
      continue;
    if (llvm::isPowerOf2_32(mask) && (laneMask == 0 || warpMask == 0)) {
      Value bit = f.create<arith::AndIOp>(number, f.constantI32(mask));
      return f.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bit, f.constantI32(0));
    }
    // Every counted bit goes to bit 0.
    SmallVector<uint32_t> bases;
    for (uint32_t rest = mask; rest != 0; rest >>= 1)
      bases.push_back(rest & 1);
    parity = xorOf(f, parity, f.placeIndex(bases, number, 1));
  }
  if (!parity)
    return {};
  return f.create<arith::CmpIOp>(arith::CmpIPredicate::ne, parity, f.constantI32(0));
}

static Value shiftedBy(SimtFunction &f, Value number, int distance) {
  if (distance == 0)
    return number;
  Value amount = f.constantI32(std::abs(distance));
  if (distance > 0)
    return f.create<arith::ShLIOp>(number, amount);
  return f.create<arith::ShRUIOp>(number, amount);
}

Value tw::simt::linearImage(SimtFunction &f, Value number, ArrayRef<uint32_t> bases) {
  std::map<int, uint32_t> masks; // bits of the number, by the distance that they move
  Value image;
  for (auto [bit, basis] : llvm::enumerate(bases)) {
    for (uint32_t rest = basis; rest != 0; rest &= rest - 1)
      masks[int(llvm::countr_zero(rest)) - int(bit)] |= 1u << bit;
  }
  for (auto [distance, mask] : masks) {
    Value bits = f.create<arith::AndIOp>(number, f.constantI32(mask));
    image = xorOf(f, image, shiftedBy(f, bits, distance));
  }
  return image ? image : f.constantI32(0);
}

OffsetChoice::OffsetChoice(SimtFunction &f, ArrayRef<uint32_t> ofLane, ArrayRef<uint32_t> ofWarp,
                           Leaf leaf)
    : f(f), leaf(std::move(leaf)) {
  // A basis of all offsets; of each number's bits, which of them add which basis vector.
  XorBasis space;
  SmallVector<uint32_t> offsets;
  for (ArrayRef<uint32_t> images : {ofLane, ofWarp})
    for (uint32_t image : images)
      if (space.insert(image, uint64_t(1) << offsets.size()))
        offsets.push_back(image);
  for (auto [index, offset] : llvm::enumerate(offsets)) {
    auto bitsWith = [&](ArrayRef<uint32_t> images) {
      uint32_t mask = 0;
      for (auto [bit, image] : llvm::enumerate(images))
        mask |= uint32_t(space.reduce(image).combination >> index & 1) << bit;
      return mask;
    };
    steps.push_back({offset, isOddParity(f, bitsWith(ofLane), bitsWith(ofWarp))});
  }
}

Value OffsetChoice::at(uint32_t index, unsigned numSteps) {
  auto key = std::pair(numSteps, index);
  if (auto found = chosen.find(key); found != chosen.end())
    return found->second;
  Value value;
  if (numSteps == 0) {
    value = leaf(index);
  } else {
    const Step &step = steps[numSteps - 1];
    Value there = at(index ^ step.offset, numSteps - 1), here = at(index, numSteps - 1);
    value = f.create<arith::SelectOp>(step.isTaken, there, here);
  }
  chosen[key] = value;
  return value;
}
