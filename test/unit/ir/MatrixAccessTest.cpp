// Reading matrices from shared memory gives every lane its registers, without bank conflicts.
#include "ir/layout/MatrixAccess.h"
#include "test/unit/ir/SharedBanks.h"
#include "llvm/Support/MathExtras.h"
#include <gtest/gtest.h>

using namespace tw;
using llvm::SmallVector;

using tw::test::kBanks;

namespace {
/// What the instruction does (PTX ISA, ldmatrix), on the elements at the offsets of a buffer: lane
/// 8 i + r names the first byte of row r of matrix i, and lane l gets word l % 4 of row l / 4, or
/// of transposed matrices column l / 4, of 16 bits, of rows 2 (l % 4) and 2 (l % 4) + 1.
SmallVector<uint32_t> loadMatrices(const MatrixAccess &access, const LinearLayout &buffer,
                                   unsigned elementBytes, unsigned warp, unsigned lane) {
  BitMatrix offsets{buffer.numInputBits(), *buffer.rightInverse()};
  unsigned inRow = access.rowBytes / elementBytes, inWord = 4 / elementBytes;
  unsigned inColumn = std::max(1u, 2 / elementBytes);
  SmallVector<uint32_t> elements;
  for (unsigned first = 0; first < access.rows.size(Place::Register); first += inRow) {
    auto at = [&](unsigned matrix, unsigned row, unsigned column) {
      uint64_t start = offsets.apply(access.rows.element(first, 8 * matrix + row, warp));
      return buffer.apply(Place::Offset, uint32_t(start + column));
    };
    for (unsigned matrix = 0; matrix < access.numMatrices; ++matrix)
      for (unsigned part = 0; part < inWord; ++part)
        elements.push_back(access.transposed ? at(matrix, lane % 4 * 2 + part / inColumn,
                                                  lane / 4 * inColumn + part % inColumn)
                                             : at(matrix, lane / 4, lane % 4 * inWord + part));
  }
  return elements;
}

struct Case {
  const char *name;
  SmallVector<int64_t> shape;
  unsigned elementBytes;
  LinearLayout::Bases registers, lanes, warps; // of the operand
  SmallVector<int64_t> perLane, lanesPerDim, warpsPerDim;
  SmallVector<int32_t> order; // of the access to global memory
  bool transposed;
};
} // namespace

/// Operands as matrix instructions want them, from tiles that were copied row by row or column by
/// column.
static std::vector<Case> casesOfHalves() {
  // [32, 64] of 16 bits, left operand: bits of k are 0..5, of rows 6..10.
  LinearLayout::Bases left16 = {1, 8 * 64, 8, 16, 32, 16 * 64};
  LinearLayout::Bases leftLanes16 = {2, 4, 64, 128, 256};
  // [64, 32] of 16 bits, right operand: bits of columns are 0..4, of k 5..10.
  LinearLayout::Bases right16 = {32, 8 * 32, 8, 16 * 32, 32 * 32};
  LinearLayout::Bases rightLanes16 = {64, 128, 1, 2, 4};
  return {
      {"left, rows in memory",
       {32, 64},
       2,
       left16,
       leftLanes16,
       {0, 0},
       {1, 8},
       {4, 8},
       {4, 1},
       {1, 0},
       false},
      {"left, columns in memory",
       {32, 64},
       2,
       left16,
       leftLanes16,
       {0, 0},
       {8, 1},
       {4, 8},
       {1, 4},
       {0, 1},
       true},
      {"right, rows in memory",
       {64, 32},
       2,
       right16,
       rightLanes16,
       {16, 0},
       {1, 8},
       {8, 4},
       {4, 1},
       {1, 0},
       true},
      {"right, columns in memory",
       {64, 32},
       2,
       right16,
       rightLanes16,
       {16, 0},
       {8, 1},
       {8, 4},
       {1, 4},
       {0, 1},
       false},
      {"left, half rows in memory",
       {32, 64},
       2,
       left16,
       leftLanes16,
       {0, 0},
       {1, 4},
       {2, 16},
       {4, 1},
       {1, 0},
       false},
  };
}

static std::vector<Case> casesOfBytes() {
  // [32, 64] of 8 bits, left operand.
  LinearLayout::Bases left8 = {1, 2, 8 * 64, 16, 32, 16 * 64};
  LinearLayout::Bases leftLanes8 = {4, 8, 64, 128, 256};
  // [64, 32] of 8 bits, right operand: lanes hold two columns side by side.
  LinearLayout::Bases right8 = {32, 64, 16 * 32, 1, 32 * 32};
  LinearLayout::Bases rightLanes8 = {4 * 32, 8 * 32, 2, 4, 8};
  return {
      {"left of bytes",
       {32, 64},
       1,
       left8,
       leftLanes8,
       {0, 0},
       {1, 16},
       {8, 4},
       {4, 1},
       {1, 0},
       false},
      {"right of bytes, rows in memory",
       {64, 32},
       1,
       right8,
       rightLanes8,
       {16, 0},
       {1, 16},
       {16, 2},
       {4, 1},
       {1, 0},
       true},
  };
}

static std::vector<Case> cases() {
  std::vector<Case> all = casesOfHalves();
  for (Case &each : casesOfBytes())
    all.push_back(std::move(each));
  return all;
}

TEST(MatrixAccess, ReadsTheElementsOfEveryRegister) {
  for (const Case &each : cases()) {
    SCOPED_TRACE(each.name);
    LinearLayout operand(each.shape, {each.registers, each.lanes, each.warps, {}, {}});
    ASSERT_TRUE(operand.isSurjective());
    LinearLayout copied =
        blockedLayout(each.shape, each.perLane, each.lanesPerDim, each.warpsPerDim, each.order);
    std::optional<LinearLayout> buffer = matrixBuffer(copied, operand, each.elementBytes, kBanks);
    ASSERT_TRUE(buffer.has_value());
    std::optional<MatrixAccess> access = matrixAccess(operand, *buffer, each.elementBytes);
    ASSERT_TRUE(access.has_value());
    EXPECT_EQ(access->transposed, each.transposed);
    EXPECT_EQ(access->numMatrices, 4u);
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane) {
        SmallVector<uint32_t> loaded =
            loadMatrices(*access, *buffer, each.elementBytes, warp, lane);
        ASSERT_EQ(loaded.size(), operand.size(Place::Register));
        for (unsigned number = 0; number < loaded.size(); ++number) {
          unsigned reg = 0;
          for (unsigned bit = 0; bit < access->registerBits.size(); ++bit)
            reg |= (number >> bit & 1) << access->registerBits[bit];
          ASSERT_EQ(loaded[number], operand.element(reg, lane, warp))
              << "register " << reg << " of lane " << lane << " of warp " << warp;
        }
      }
    EXPECT_EQ(bankConflicts(access->rows, *buffer, tw::SharedUse::Read, each.elementBytes, kBanks),
              1.0);
    EXPECT_EQ(bankConflicts(copied, *buffer, tw::SharedUse::Write, each.elementBytes, kBanks), 1.0);
  }
}

TEST(MatrixAccess, NeedsRowsOfSixteenBytes) {
  Case left = cases().front();
  LinearLayout operand(left.shape, {left.registers, left.lanes, left.warps, {}, {}});
  // One element apart instead of neighbours.
  LinearLayout columns = sharedLayout(left.shape, {0, 1});
  std::optional<MatrixAccess> access = matrixAccess(operand, columns, 2);
  ASSERT_TRUE(access.has_value());
  EXPECT_TRUE(access->transposed);
  EXPECT_FALSE(matrixAccess(operand, columns, 4).has_value());
  // Written element by element: no buffer serves wide writes, so none is proposed.
  LinearLayout scalar = blockedLayout(left.shape, {1, 1}, {1, 32}, {4, 1}, {1, 0});
  EXPECT_FALSE(matrixBuffer(scalar, operand, 2, kBanks).has_value());
}

/// Words of a tile that lanes hold in pieces of 16 bytes are matrices too, but of rows that lanes
/// would have to write in words.
TEST(MatrixAccess, WideWritesAreNotGivenUp) {
  LinearLayout pieces = blockedLayout({32, 128}, {1, 16}, {4, 8}, {4, 1}, {1, 0});
  ASSERT_TRUE(matrixAccess(pieces, 1, false).has_value());
  LinearLayout copied = blockedLayout({32, 128}, {1, 16}, {4, 8}, {8, 1}, {1, 0});
  EXPECT_FALSE(matrixBuffer(copied, pieces, 1, kBanks).has_value());
}

TEST(MatrixAccess, RefusesLayoutsThatAreNoWords) {
  LinearLayout blocked = blockedLayout({32, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  EXPECT_FALSE(matrixAccess(blocked, sharedLayout({32, 64}, {1, 0}), 8).has_value());
  EXPECT_FALSE(matrixAccess(blocked, sharedLayout({32, 64}, {1, 0}), 2).has_value());
}

//===-- By columns ---------------------------------------------------------------------------===//

// The same banks, of which all serve 8 bytes of 32 lanes.
static constexpr tw::SharedPhase kWidePhases[] = {{tw::SharedUse::Read, 8, 64, {1, 2, 4, 8, 16}}};
static constexpr tw::SharedBanks kWideBanks = {32, 4, 16, kWidePhases};

/// What ds_read_b64_tr_b16 and _b8 do: of every 16 lanes, lane l gets element l % size of what each
/// lane 16 / size n + l / size addresses, n = 0 to `size` - 1. Of ds_load_tr8_b64, `split`, that is
/// lane 8 (n / 4) + 4 (l / 8) + n % 4.
static SmallVector<uint32_t> loadColumns(const MatrixAccess &access, const LinearLayout &buffer,
                                         unsigned warp, unsigned lane, unsigned size,
                                         bool isSplit = false) {
  BitMatrix offsets{buffer.numInputBits(), *buffer.rightInverse()};
  SmallVector<uint32_t> elements;
  for (unsigned first = 0; first < access.rows.size(Place::Register); first += size)
    for (unsigned row = 0; row < size; ++row) {
      unsigned part = lane % 16 / size;
      unsigned giver =
          lane / 16 * 16 + (isSplit ? 8 * (row / 4) + 4 * part + row % 4 : 16 / size * row + part);
      uint64_t start = offsets.apply(access.rows.element(first, giver, warp));
      elements.push_back(buffer.apply(Place::Offset, uint32_t(start + lane % size)));
    }
  return elements;
}

/// Right operands of [64, 64]: bits of columns are 0 to 5, of k 6 to 11. Lanes hold 32 columns and
/// two parts of k, or 16 columns and four.
static std::vector<LinearLayout> operandsByColumns() {
  auto k = [](unsigned bit) { return 64u << bit; };
  LinearLayout::Bases wide = {k(0), k(1), k(2), k(4), k(5)}, wideLanes = {1, 2, 4, 8, 16, k(3)};
  LinearLayout::Bases deep = {k(0), k(1), k(2), k(5), 32}, deepLanes = {1, 2, 4, 8, k(3), k(4)};
  LinearLayout::Bases wideWarps = {32, 0}, deepWarps = {16, 0};
  return {LinearLayout({64, 64}, {wide, wideLanes, wideWarps, {}, {}}),
          LinearLayout({64, 64}, {deep, deepLanes, deepWarps, {}, {}})};
}

TEST(MatrixAccess, ColumnsAreTheElementsOfEveryRegister) {
  for (const LinearLayout &operand : operandsByColumns()) {
    ASSERT_TRUE(operand.isSurjective());
    LinearLayout copied = blockedLayout({64, 64}, {1, 8}, {8, 8}, {4, 1}, {1, 0});
    std::optional<LinearLayout> buffer =
        matrixBuffer(copied, operand, 2, kWideBanks, MatrixReads::Columns);
    ASSERT_TRUE(buffer.has_value());
    std::optional<MatrixAccess> access = matrixAccess(operand, *buffer, 2, MatrixReads::Columns);
    ASSERT_TRUE(access.has_value());
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 64; ++lane) {
        SmallVector<uint32_t> loaded = loadColumns(*access, *buffer, warp, lane, 4);
        ASSERT_EQ(loaded.size(), operand.size(Place::Register));
        for (unsigned reg = 0; reg < loaded.size(); ++reg)
          ASSERT_EQ(loaded[reg], operand.element(reg, lane, warp))
              << "register " << reg << " of lane " << lane << " of warp " << warp;
      }
    LinearLayout row = access->rows.withPlace(Place::Register, {1, 2});
    EXPECT_EQ(bankConflicts(row, *buffer, SharedUse::Read, 2, kWideBanks), 1.0);
    EXPECT_EQ(sharedAccess(copied, *buffer, 8).vector, 8u);
    EXPECT_EQ(bankConflicts(copied, *buffer, SharedUse::Write, 2, kWideBanks), 1.0);
  }
}

TEST(MatrixAccess, ColumnsOfBytesAreTheElementsOfEveryRegister) {
  for (MatrixReads reads : {MatrixReads::Columns, MatrixReads::Columns8})
    for (const LinearLayout &operand : operandsByColumns()) {
      LinearLayout copied = blockedLayout({64, 64}, {1, 16}, {16, 4}, {4, 1}, {1, 0});
      std::optional<LinearLayout> buffer = matrixBuffer(copied, operand, 1, kWideBanks, reads);
      ASSERT_TRUE(buffer.has_value());
      std::optional<MatrixAccess> access = matrixAccess(operand, *buffer, 1, reads);
      ASSERT_TRUE(access.has_value());
      EXPECT_EQ(access->rowBytes, 8u);
      for (unsigned warp = 0; warp < 4; ++warp)
        for (unsigned lane = 0; lane < 64; ++lane) {
          SmallVector<uint32_t> loaded =
              loadColumns(*access, *buffer, warp, lane, 8, reads == MatrixReads::Columns8);
          ASSERT_EQ(loaded.size(), operand.size(Place::Register));
          for (unsigned reg = 0; reg < loaded.size(); ++reg)
            ASSERT_EQ(loaded[reg], operand.element(reg, lane, warp))
                << "register " << reg << " of lane " << lane << " of warp " << warp;
        }
      EXPECT_EQ(sharedAccess(copied, *buffer, 16).vector, 16u);
    }
}

/// What ds_load_tr16_b128 does: of every 8 lanes, lane l gets half l of what each of them
/// addresses.
TEST(MatrixAccess, ColumnsOfSquaresAreTheElementsOfEveryRegister) {
  auto k = [](unsigned bit) { return 64u << bit; };
  LinearLayout::Bases held = {k(0), k(1), k(2), k(4), 32}, lanes = {1, 2, 4, 8, k(3)};
  LinearLayout operand({32, 64}, {held, lanes, {16, 0}, {}, {}});
  ASSERT_TRUE(operand.isSurjective());
  LinearLayout copied = blockedLayout({32, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  std::optional<LinearLayout> buffer =
      matrixBuffer(copied, operand, 2, kBanks, MatrixReads::Columns8);
  ASSERT_TRUE(buffer.has_value());
  std::optional<MatrixAccess> access = matrixAccess(operand, *buffer, 2, MatrixReads::Columns8);
  ASSERT_TRUE(access.has_value());
  BitMatrix offsets{buffer->numInputBits(), *buffer->rightInverse()};
  for (unsigned warp = 0; warp < 4; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < operand.size(Place::Register); ++reg) {
        unsigned giver = lane / 8 * 8 + reg % 8;
        uint64_t start = offsets.apply(access->rows.element(reg / 8 * 8, giver, warp));
        ASSERT_EQ(buffer->apply(Place::Offset, uint32_t(start + lane % 8)),
                  operand.element(reg, lane, warp))
            << "register " << reg << " of lane " << lane << " of warp " << warp;
      }
  EXPECT_EQ(sharedAccess(copied, *buffer, 8).vector, 8u);
}

TEST(MatrixAccess, ColumnsNeedElementsInRows) {
  LinearLayout operand = operandsByColumns().front();
  LinearLayout rows = sharedLayout({64, 64}, {1, 0}), columns = sharedLayout({64, 64}, {0, 1});
  EXPECT_TRUE(matrixAccess(operand, rows, 2, MatrixReads::Columns).has_value());
  EXPECT_FALSE(matrixAccess(operand, columns, 2, MatrixReads::Columns).has_value());
  EXPECT_FALSE(matrixAccess(operand, rows, 4, MatrixReads::Columns).has_value());
  EXPECT_FALSE(matrixAccess(operand, rows, 2, MatrixReads::None).has_value());
  // Written two elements at a time: a row would take two writes.
  LinearLayout narrow = blockedLayout({64, 64}, {1, 2}, {2, 32}, {4, 1}, {1, 0});
  EXPECT_FALSE(matrixBuffer(narrow, operand, 2, kWideBanks, MatrixReads::Columns).has_value());
}
