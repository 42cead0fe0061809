// Tiles are copied to shared memory in 16 bytes at a time, and operands of matrix instructions read
// from there without bank conflicts, in whichever order their elements lie in global memory.
#include "ir/layout/CopyBuffers.h"
#include "ir/simt/MmaLayouts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/ir/SharedBanks.h"
#include <gtest/gtest.h>

using namespace tw;
using namespace tw::simt;
using llvm::SmallVector;

using tw::test::kBanks;

namespace {
struct CopyBuffers : testing::Test {
  CopyBuffers() : builder(&context) { context.loadDialect<tile::TileDialect>(); }

  mlir::MLIRContext context;
  mlir::Builder builder;
};

/// Neighbours of 16 bytes per lane along the fastest dimension, rows over lanes and then warps.
LinearLayout copiedFrom(llvm::ArrayRef<int64_t> shape, unsigned fastest, unsigned elementBytes,
                        int64_t warps) {
  int64_t vector = 16 / elementBytes, inRow = std::min<int64_t>(32, shape[fastest] / vector);
  SmallVector<int64_t> perLane(2, 1), lanes(2, 32 / inRow), warpsPerDim(2, warps);
  perLane[fastest] = vector;
  lanes[fastest] = inRow;
  warpsPerDim[fastest] = 1;
  LinearLayout all =
      blockedLayout(shape, perLane, lanes, warpsPerDim, {int32_t(fastest), int32_t(1 - fastest)});
  LinearLayout::Bases first(all.bases(Place::Register).take_front(llvm::Log2_64(uint64_t(vector))));
  return all.withPlace(Place::Register, first);
}
} // namespace

TEST_F(CopyBuffers, OperandsAreReadWithoutConflictsInEveryOrder) {
  mlir::Type tf32 = builder.getTF32Type(), f32 = builder.getF32Type(), f64 = builder.getF64Type();
  auto short32 = tile::MmaAttr::get(&context, 16, 8, 8, tf32, tf32, f32, "m3 k2 | k0 k1 m0 m1 m2",
                                    "k2 | k0 k1 n0 n1 n2", "n0 m3 | n1 n2 m0 m1 m2", "");
  auto double64 = tile::MmaAttr::get(&context, 8, 8, 4, f64, f64, f64, "| k0 k1 m0 m1 m2",
                                     "| k0 k1 n0 n1 n2", "n0 | n1 n2 m0 m1 m2", "");
  for (auto [mma, bytes] : {std::pair{short32, 4u}, std::pair{double64, 8u}})
    for (int64_t extent : {16, 32, 64, 128})
      for (int64_t depth : {16, 32, 64})
        for (MmaOperand operand : {MmaOperand::A, MmaOperand::B})
          for (unsigned fastest : {0u, 1u})
            for (int64_t warps : {1, 2, 4}) {
              bool isA = operand == MmaOperand::A;
              SmallVector<int64_t> shape = {isA ? extent : depth, isA ? depth : extent};
              unsigned own = isA ? 0 : 1;
              SmallVector<int64_t> warpsPerDim(2, 1), interleave(3, 1);
              warpsPerDim[own] = warps;
              if (fastest == own)
                interleave[own] =
                    std::min<int64_t>(16 / bytes, mostInterleaved(mma, operand, extent, warps));
              else if (bytes == 8)
                interleave.back() = 2;
              LinearLayout from = copiedFrom(shape, fastest, bytes, warps);
              LinearLayout to = mmaLayout(mma, operand, shape, warpsPerDim, interleave);
              LinearLayout buffer = copyBuffer(from, to, bytes, kBanks);
              EXPECT_EQ(sharedAccess(from, buffer, 16 / bytes).vector, 16 / bytes);
              EXPECT_EQ(bankConflicts(from, buffer, tw::SharedUse::Write, bytes, kBanks), 1.0)
                  << "written: " << from.text() << "\n"
                  << buffer.text();
              EXPECT_EQ(bankConflicts(to, buffer, tw::SharedUse::Read, bytes, kBanks), 1.0)
                  << "read: " << to.text() << "\n"
                  << buffer.text();
            }
}
