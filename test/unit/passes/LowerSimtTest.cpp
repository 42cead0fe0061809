// Data movement of lower-simt, run by all threads of a CTA: every copy of every element is right,
// for random layouts.
#include "ir/RegisterDialects.h"
#include "ir/simt/Simt.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "test/toy64/WarpEvaluator.h"
#include "test/unit/ir/RandomLayouts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using llvm::formatv;

// 32 banks of 4 bytes, of which a lane accesses 16 at once.
static constexpr tw::SharedBanks kBanks = {32, 4, 16};

namespace {

constexpr unsigned kWarpBits = 1; // two warps

std::string layoutText(const LinearLayout &layout) {
  return formatv("#tile.layout<[{0}] {1}>",
                 llvm::make_range(layout.shape().begin(), layout.shape().end()), layout.text());
}

std::string tileType(const LinearLayout &layout, llvm::StringRef element = "i32") {
  std::string extents;
  for (int64_t extent : layout.shape())
    extents += std::to_string(extent) + "x";
  return "tensor<" + extents + element.str() + ", " + layoutText(layout) + ">";
}

/// `%name` holds the row-major index of each element.
std::string indexTile(llvm::StringRef name, const LinearLayout &layout) {
  LinearLayout flat = layout.reshaped({int64_t(layout.numElements())});
  return formatv("%{0}_flat = tile.arange {1} to {2} : {3}\n"
                 "%{0} = tile.reshape %{0}_flat : {3} -> {4}\n",
                 name, 0, layout.numElements(), tileType(flat), tileType(layout));
}

std::string bufferType(const LinearLayout &buffer, llvm::StringRef element = "i32") {
  return formatv("!simt.shared<[{0}], {1}, {2}>",
                 llvm::make_range(buffer.shape().begin(), buffer.shape().end()), element,
                 layoutText(buffer));
}

class LowerSimtTest : public RandomLayouts {
protected:
  LowerSimtTest() {
    DialectRegistry registry;
    registerTileDialects(registry);
    registry.insert<simt::SimtDialect, LLVM::LLVMDialect, vector::VectorDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Lowers and runs a kernel, then compares the result of its operation number `fromEnd` before
  /// the end with what `expected` says of each element.
  void check(const std::string &body, const std::function<uint64_t(uint32_t)> &expected,
             unsigned resultNumber = 0) {
    std::string text = formatv("module attributes {{simt.num_warps = {0} : i32} {{\n"
                               "func.func @kernel() {{\n{1}return\n}\n}\n",
                               1 << kWarpBits, body);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto source = *module->getOps<func::FuncOp>().begin();
    Operation *last = source.getBody().front().getTerminator()->getPrevNode();
    Value result = last->getResult(resultNumber);
    LinearLayout layout =
        simt::hasLayout(result.getType()) ? simt::layoutOf(result.getType()) : LinearLayout({}, {});
    simt::SimtFunction function(source);
    ASSERT_TRUE(succeeded(function.lower())) << text;
    ASSERT_TRUE(succeeded(verify(*module))) << text;
    simt::Registers registers = function.registersOf(result);
    evaluator = std::make_unique<WarpEvaluator>(32u << kWarpBits);
    auto lowered = *module->getOps<LLVM::LLVMFuncOp>().begin();
    evaluator->run(lowered.getBody().front());
    ASSERT_EQ(evaluator->error, "") << text;
    for (uint32_t thread = 0; thread < 32u << kWarpBits; ++thread) {
      for (uint32_t reg = 0; reg < registers.size(); ++reg) {
        uint32_t element = layout.element(reg, thread % 32, thread / 32);
        ASSERT_EQ(evaluator->at(registers[reg])[thread].front(), expected(element))
            << "element " << element << " in register " << reg << " of thread " << thread << "\n"
            << text;
      }
    }
  }

  /// A layout in which each warp holds what it also held in `like`.
  LinearLayout withinWarpOf(const LinearLayout &like) {
    for (;;) {
      LinearLayout layout =
          surjective(like.shape(), 5, kWarpBits)
              .withPlace(Place::Warp, LinearLayout::Bases(like.bases(Place::Warp)));
      if (layout.isSurjective() && layout.isWithinWarpOf(like))
        return layout.withoutFreeRegisters();
    }
  }
  /// Unit bases in any order, some of them copies, none of the warp along `axis`.
  LinearLayout unitLayout(llvm::ArrayRef<int64_t> shape, unsigned axis, bool warpsAlongAxis) {
    LinearLayout whole(shape, {});
    SmallVector<uint32_t> units;
    for (uint32_t bit = 1; bit < whole.numElements(); bit <<= 1)
      units.push_back(bit);
    std::shuffle(units.begin(), units.end(), random);
    std::array<LinearLayout::Bases, kNumPlaces> bases;
    for (unsigned bit = 0; bit < kWarpBits; ++bit) {
      uint32_t *fits = llvm::find_if(units, [&](uint32_t unit) {
        return ((unit & whole.maskOf(axis)) != 0) == warpsAlongAxis;
      });
      bool isCopy = fits == units.end() || (!warpsAlongAxis && below(3) == 0);
      bases[unsigned(Place::Warp)].push_back(isCopy ? 0 : *fits);
      if (!isCopy)
        units.erase(fits);
    }
    for (unsigned bit = 0; bit < 5; ++bit)
      bases[unsigned(Place::Lane)].push_back(units.empty() || below(5) == 0 ? 0
                                                                            : units.pop_back_val());
    bases[unsigned(Place::Register)].assign(units.begin(), units.end());
    return LinearLayout(shape, bases);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::unique_ptr<WarpEvaluator> evaluator;
};

//===-- Conversions --------------------------------------------------------------------------===//

TEST_F(LowerSimtTest, ConversionsKeepEveryElement) {
  for (int round = 0; round < 60; ++round) {
    LinearLayout from = surjective(shape(8), 5, kWarpBits).withoutFreeRegisters();
    LinearLayout to = withinWarpOf(from);
    check(indexTile("x", from) + std::string(formatv("%y = simt.convert_layout %x : {0} -> {1}\n",
                                                     tileType(from), tileType(to))),
          [](uint32_t element) { return element; });
    if (HasFatalFailure())
      return;
  }
}

TEST_F(LowerSimtTest, NarrowConversionsShareShuffles) {
  // Two bits trade places: of 16 elements in each lane 4 stay, and 4 go to each of 3 lanes.
  LinearLayout from({512}, {LinearLayout::Bases{1, 2, 4, 8}, {16, 32, 64, 128, 256}, {0}, {}, {}});
  LinearLayout to({512}, {LinearLayout::Bases{1, 2, 16, 32}, {4, 8, 64, 128, 256}, {0}, {}, {}});
  for (auto [type, shuffles] : {std::pair{"i8", 3u}, std::pair{"i16", 6u}, std::pair{"i32", 12u}}) {
    std::string body = indexTile("x", from);
    std::string source = "x";
    if (type != std::string("i32")) {
      body += formatv("%n = arith.trunci %x : {0} to {1}\n", tileType(from), tileType(from, type));
      source = "n";
    }
    body += formatv("%y = simt.convert_layout %{0} : {1} -> {2}\n", source, tileType(from, type),
                    tileType(to, type));
    check(body, [type = std::string(type)](uint32_t element) {
      return type == "i8" ? element & 0xff : element;
    });
    EXPECT_EQ(evaluator->numShuffles, shuffles);
  }
}

TEST_F(LowerSimtTest, MasksConvert) {
  LinearLayout from({64}, {LinearLayout::Bases{1}, {2, 4, 8, 16, 32}, {0}, {}, {}});
  LinearLayout to({64}, {LinearLayout::Bases{32}, {1, 2, 4, 8, 16}, {0}, {}, {}});
  check(indexTile("x", from) +
            std::string(formatv("%m = arith.trunci %x : {0} to {1}\n"
                                "%y = simt.convert_layout %m : {1} -> {2}\n",
                                tileType(from), tileType(from, "i1"), tileType(to, "i1"))),
        [](uint32_t element) { return element & 1; });
}

//===-- Reductions and scans -----------------------------------------------------------------===//

/// x -> a x + b mod 2^32, under composition: associative and not commutative.
struct Affine {
  uint32_t a, b;
  Affine then(Affine next) const { return {a * next.a, b * next.a + next.b}; }
};
Affine affineOf(uint32_t element) { return {element * 2 + 3, element * 7 + 1}; }

constexpr const char *kThen = "({ ^bb(%a1: i32, %b1: i32, %a2: i32, %b2: i32):\n"
                              "%a = arith.muli %a1, %a2 : i32\n"
                              "%t = arith.muli %b1, %a2 : i32\n"
                              "%b = arith.addi %t, %b2 : i32\n";

/// `%a_` and `%b_` hold the two numbers of affineOf of each element.
std::string affineTiles(const LinearLayout &layout) {
  std::string type = tileType(layout);
  return indexTile("x", layout) +
         std::string(
             formatv("%c2 = arith.constant dense<2> : {0}\n%c3 = arith.constant dense<3> : {0}\n"
                     "%c7 = arith.constant dense<7> : {0}\n%c1 = arith.constant dense<1> : {0}\n"
                     "%x2 = arith.muli %x, %c2 : {0}\n%a_ = arith.addi %x2, %c3 : {0}\n"
                     "%x7 = arith.muli %x, %c7 : {0}\n%b_ = arith.addi %x7, %c1 : {0}\n",
                     type));
}

std::string resultType(const LinearLayout &layout) {
  return layout.rank() == 0 ? "i32" : tileType(layout);
}

/// The elements along the axis through `element` of the collapsed tile, in order.
Affine foldAxis(const LinearLayout &layout, unsigned axis, SmallVector<int64_t> at, int64_t first,
                int64_t end) {
  at[axis] = first;
  Affine total = affineOf(layout.elementAt(at));
  for (int64_t index = first + 1; index < end; ++index) {
    at[axis] = index;
    total = total.then(affineOf(layout.elementAt(at)));
  }
  return total;
}

TEST_F(LowerSimtTest, ReductionsCombineNeighboursInOrder) {
  for (int round = 0; round < 60; ++round) {
    SmallVector<int64_t> extents = shape(8);
    unsigned axis = below(extents.size());
    LinearLayout layout = unitLayout(extents, axis, /*warpsAlongAxis=*/false);
    LinearLayout reduced = layout.withoutDim(axis).withoutFreeRegisters();
    std::string body =
        affineTiles(layout) +
        std::string(formatv("%r:2 = \"tile.reduce\"(%a_, %b_) <{{axis = {0} : i32}> {1}"
                            "tile.yield %a, %b : i32, i32\n}) : ({2}, {2}) -> ({3}, {3})\n",
                            axis, kThen, tileType(layout), resultType(reduced)));
    for (unsigned number : {0u, 1u}) {
      check(
          body,
          [&](uint32_t element) -> uint64_t {
            SmallVector<int64_t> at = reduced.coordinatesOf(element);
            at.insert(at.begin() + axis, 0);
            Affine total = foldAxis(layout, axis, at, 0, extents[axis]);
            return number == 0 ? total.a : total.b;
          },
          number);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST_F(LowerSimtTest, CommutativeReductionsShuffleOncePerLaneBit) {
  LinearLayout layout({256}, {LinearLayout::Bases{1, 2, 128}, {4, 8, 16, 32, 64}, {0}, {}, {}});
  check(indexTile("x", layout) +
            std::string(formatv("%r = \"tile.reduce\"(%x) <{{axis = 0 : i32, commutative}> ({{\n"
                                "^bb(%l: i32, %h: i32):\n%s = arith.addi %l, %h : i32\n"
                                "tile.yield %s : i32\n}) : ({0}) -> i32\n",
                                tileType(layout))),
        [](uint32_t) { return 255 * 128; });
  EXPECT_EQ(evaluator->numShuffles, 5u);
  EXPECT_EQ(evaluator->numSelects, 0u);
}

TEST_F(LowerSimtTest, PartialReductionsKeepAPiecePerWarp) {
  for (int round = 0; round < 40; ++round) {
    SmallVector<int64_t> extents = shape(8);
    unsigned axis = below(extents.size());
    LinearLayout layout = unitLayout(extents, axis, /*warpsAlongAxis=*/true);
    auto type = cast<RankedTensorType>(parseType(tileType(layout), &context));
    RankedTensorType partial = simt::partiallyReducedType(type, axis);
    ASSERT_TRUE(partial);
    const LinearLayout &reduced = simt::layoutOf(partial);
    // The bits of the axis that the warps hold, in order, number the pieces.
    uint32_t pieceBits = 0;
    for (uint32_t basis : layout.bases(Place::Warp))
      pieceBits |= uint32_t(layout.coordinatesOf(basis)[axis]);
    std::string body =
        indexTile("x", layout) +
        std::string(
            formatv("%r = \"simt.partial_reduce\"(%x) <{{axis = {0} : i32, commutative}> ({{\n"
                    "^bb(%l: i32, %h: i32):\n%s = arith.addi %l, %h : i32\n"
                    "simt.yield %s : i32\n}) : ({1}) -> {2}\n",
                    axis, tileType(layout), tileType(reduced)));
    check(body, [&](uint32_t element) {
      SmallVector<int64_t> at = reduced.coordinatesOf(element);
      bool isUpper = at[axis] != 0;
      uint32_t sum = 0;
      for (int64_t index = 0; index < extents[axis]; ++index) {
        at[axis] = index;
        if (((index & pieceBits) != 0) == isUpper)
          sum += layout.elementAt(at);
      }
      return sum;
    });
    if (HasFatalFailure())
      return;
  }
}

TEST_F(LowerSimtTest, ScansCombineInOrderFromEitherEnd) {
  for (int round = 0; round < 60; ++round) {
    SmallVector<int64_t> extents = shape(8);
    unsigned axis = below(extents.size());
    LinearLayout layout = unitLayout(extents, axis, /*warpsAlongAxis=*/false);
    bool isReverse = round % 2;
    unsigned number = round / 2 % 2;
    std::string body =
        affineTiles(layout) +
        std::string(formatv("%r:2 = \"tile.scan\"(%a_, %b_) <{{axis = {0} : i32{1}}> {2}"
                            "tile.yield %a, %b : i32, i32\n}) : ({3}, {3}) -> ({3}, {3})\n",
                            axis, isReverse ? ", reverse" : "", kThen, tileType(layout)));
    check(
        body,
        [&](uint32_t element) -> uint64_t {
          SmallVector<int64_t> at = layout.coordinatesOf(element);
          int64_t index = at[axis];
          Affine total = affineOf(element);
          if (!isReverse) {
            total = foldAxis(layout, axis, at, 0, index + 1);
          } else {
            at[axis] = extents[axis] - 1;
            total = affineOf(layout.elementAt(at));
            for (int64_t next = extents[axis] - 2; next >= index; --next) {
              at[axis] = next;
              total = total.then(affineOf(layout.elementAt(at)));
            }
          }
          return number == 0 ? total.a : total.b;
        },
        number);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(LowerSimtTest, ScansAllowLanesThatReorderRegisters) {
  // Lane bit 0 swaps a thread's registers along the axis.
  LinearLayout layout({8, 8}, {LinearLayout::Bases{1, 2}, {9, 16, 32, 4, 0}, {0}, {}, {}});
  layout = layout.withPlace(Place::Lane, {9, 18, 32, 4, 0});
  check(indexTile("x", layout) +
            std::string(formatv("%r = \"tile.scan\"(%x) <{{axis = 1 : i32}> ({{\n"
                                "^bb(%l: i32, %h: i32):\n%s = arith.addi %l, %h : i32\n"
                                "tile.yield %s : i32\n}) : ({0}) -> {0}\n",
                                tileType(layout))),
        [](uint32_t element) {
          uint32_t sum = 0;
          for (uint32_t other = element & ~7u; other <= element; ++other)
            sum += other;
          return sum;
        });
}

//===-- Shared memory ------------------------------------------------------------------------===//

TEST_F(LowerSimtTest, SharedMemoryCarriesAnyLayoutToAnyOther) {
  for (int round = 0; round < 60; ++round) {
    SmallVector<int64_t> extents = shape(9);
    LinearLayout from = surjective(extents, 5, kWarpBits).withoutFreeRegisters();
    LinearLayout to = surjective(extents, 5, kWarpBits).withoutFreeRegisters();
    LinearLayout buffer = conflictFreeLayout(from, to, 4, kBanks);
    check(indexTile("x", from) +
              std::string(formatv("%s = simt.alloc_shared \"test\" at 64 : {0}\n"
                                  "simt.store_shared %x, %s : {1}, {0}\nsimt.barrier\n"
                                  "%y = simt.load_shared %s : {0} -> {2}\n",
                                  bufferType(buffer), tileType(from), tileType(to))),
          [](uint32_t element) { return element; });
    if (HasFatalFailure())
      return;
  }
}

TEST_F(LowerSimtTest, NarrowElementsAreAccessedInWideVectors) {
  LinearLayout layout = blockedLayout({32, 64}, {1, 16}, {8, 4}, {2, 1}, {1, 0});
  LinearLayout buffer = sharedLayout({32, 64}, {1, 0});
  check(
      indexTile("x", layout) +
          std::string(formatv("%n = arith.trunci %x : {1} to {2}\n"
                              "%s = simt.alloc_shared \"test\" at 0 : {0}\n"
                              "simt.store_shared %n, %s : {2}, {0}\nsimt.barrier\n"
                              "%y = simt.load_shared %s : {0} -> {2}\n",
                              bufferType(buffer, "i8"), tileType(layout), tileType(layout, "i8"))),
      [](uint32_t element) { return element & 0xff; });
  EXPECT_EQ(evaluator->numStores, 2u);
  EXPECT_EQ(evaluator->numLoads, 2u);
}

TEST_F(LowerSimtTest, GathersReadByIndex) {
  for (int round = 0; round < 40; ++round) {
    SmallVector<int64_t> extents = shape(7);
    unsigned axis = below(extents.size());
    SmallVector<int64_t> sourceExtents(extents);
    sourceExtents[axis] = 8;
    LinearLayout source = surjective(sourceExtents, 5, kWarpBits).withoutFreeRegisters();
    LinearLayout indices = surjective(extents, 5, kWarpBits).withoutFreeRegisters();
    LinearLayout buffer = conflictFreeLayout(source, source, 4, kBanks);
    check(indexTile("x", source) + indexTile("i", indices) +
              std::string(formatv("%c5 = arith.constant dense<5> : {2}\n"
                                  "%c7 = arith.constant dense<7> : {2}\n"
                                  "%i5 = arith.muli %i, %c5 : {2}\n%k = arith.andi %i5, %c7 : {2}\n"
                                  "%s = simt.alloc_shared \"test\" at 16 : {0}\n"
                                  "simt.store_shared %x, %s : {1}, {0}\nsimt.barrier\n"
                                  "%y = simt.gather_shared %s[%k] axis {3} : {0}, {2} -> {2}\n",
                                  bufferType(buffer), tileType(source), tileType(indices), axis)),
          [&](uint32_t element) {
            SmallVector<int64_t> at = indices.coordinatesOf(element);
            at[axis] = element * 5 & 7;
            return source.elementAt(at);
          });
    if (HasFatalFailure())
      return;
  }
}

//===-- Products -----------------------------------------------------------------------------===//

TEST_F(LowerSimtTest, ProductsOfSignedBytes) {
  for (int round = 0; round < 30; ++round) {
    bool isBatched = round % 2;
    int64_t m = 1 << below(4), n = 1 << below(4), k = 1 << below(6), batch = isBatched ? 2 : 1;
    auto shapeOf = [&](int64_t rows, int64_t columns) {
      return isBatched ? SmallVector<int64_t>{batch, rows, columns}
                       : SmallVector<int64_t>{rows, columns};
    };
    LinearLayout a = surjective(shapeOf(m, k), 5, kWarpBits).withoutFreeRegisters();
    LinearLayout b = surjective(shapeOf(k, n), 5, kWarpBits).withoutFreeRegisters();
    LinearLayout acc = round % 3 ? surjective(shapeOf(m, n), 5, kWarpBits).withoutFreeRegisters()
                                 : unitLayout(shapeOf(m, n), 0, true);
    LinearLayout bufferA = conflictFreeLayout(a, a, 1, kBanks),
                 bufferB = conflictFreeLayout(b, b, 1, kBanks);
    std::string body = indexTile("x", a) + indexTile("y", b) + indexTile("z", acc);
    body += formatv("%a = arith.trunci %x : {0} to {1}\n%b = arith.trunci %y : {2} to {3}\n",
                    tileType(a), tileType(a, "i8"), tileType(b), tileType(b, "i8"));
    body += formatv(
        "%s = simt.alloc_shared \"a\" at 0 : {0}\n%t = simt.alloc_shared \"b\" at 4096 : {1}\n"
        "simt.store_shared %a, %s : {2}, {0}\nsimt.store_shared %b, %t : {3}, {1}\n"
        "simt.barrier\n%d = simt.dot_shared %s, %t, %z ieee : {0}, {1} -> {4}\n",
        bufferType(bufferA, "i8"), bufferType(bufferB, "i8"), tileType(a, "i8"), tileType(b, "i8"),
        tileType(acc));
    check(body, [&](uint32_t element) -> uint64_t {
      SmallVector<int64_t> at = acc.coordinatesOf(element);
      uint32_t sum = element;
      for (int64_t depth = 0; depth < k; ++depth) {
        SmallVector<int64_t> left(at), right(at);
        left.back() = depth;
        right[right.size() - 2] = depth;
        sum += uint32_t(int32_t(int8_t(a.elementAt(left))) * int32_t(int8_t(b.elementAt(right))));
      }
      return sum;
    });
    if (HasFatalFailure())
      return;
  }
}

TEST_F(LowerSimtTest, ProductsOfHalvesAreSummedInTheAccumulator) {
  for (const char *type : {"f16", "bf16", "f32"}) {
    LinearLayout a = blockedLayout({16, 32}, {1, 8}, {8, 4}, {2, 1}, {1, 0});
    LinearLayout b = blockedLayout({32, 16}, {1, 4}, {8, 4}, {2, 1}, {1, 0});
    LinearLayout acc = blockedLayout({16, 16}, {2, 2}, {8, 4}, {1, 2}, {1, 0});
    LinearLayout bufferA = sharedLayout({16, 32}, {1, 0}), bufferB = sharedLayout({32, 16}, {1, 0});
    // 1.5 * 2 in each of 32 steps, from 0.25 on.
    std::string body =
        formatv("%a = arith.constant dense<1.5> : {0}\n%b = arith.constant dense<2.0> : {1}\n"
                "%z = arith.constant dense<0.25> : {2}\n%s = simt.alloc_shared \"a\" at 0 : {3}\n"
                "%t = simt.alloc_shared \"b\" at 4096 : {4}\nsimt.store_shared %a, %s : {0}, {3}\n"
                "simt.store_shared %b, %t : {1}, {4}\nsimt.barrier\n"
                "%d = simt.dot_shared %s, %t, %z ieee : {3}, {4} -> {2}\n",
                tileType(a, type), tileType(b, type), tileType(acc, "f32"),
                bufferType(bufferA, type), bufferType(bufferB, type));
    check(body, [](uint32_t) -> uint64_t { return llvm::bit_cast<uint32_t>(96.25f); });
    if (HasFatalFailure())
      return;
  }
}

} // namespace
