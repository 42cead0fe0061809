// Products of warpgroups (wgmma) that are in flight until their warps wait for them.
#ifndef BACKEND_WARPSIM_CORE_ASYNCPRODUCTS_H
#define BACKEND_WARPSIM_CORE_ASYNCPRODUCTS_H
#include "backend/warpsim/Program.h"
#include <deque>
#include <memory>
#include <random>

namespace tw::warpsim {

constexpr unsigned kWarpsOfGroup = 4;
/// Operands in shared memory are made of pieces of so many bytes, aligned to them.
constexpr unsigned kMatrixPieceBytes = 16;

/// B of a product as numbers of one of two kinds, in the order of WarpgroupArithmetic.h.
struct DecodedColumns {
  std::vector<float> floats;
  std::vector<int32_t> integers;
  std::array<uint64_t, 4> unset = {}; // a bit for each column with an element without a value
};

/// The parts of a product that the four warps of its warpgroup have in common.
struct GroupProduct {
  int32_t pc = -1;
  uint64_t a = 0, b = 0; // descriptors; `a` is 0 where A is in registers
  // A bit for each warp: it has issued the product, its rows are computed, it has waited for it.
  uint8_t issued = 0, computed = 0, finished = 0;
  std::array<uint32_t, kWarpsOfGroup> epochs = {}, clocks = {}; // when each wait was over
  bool isOrderedForAll = false; // barriers and fences order what was written to B for all warps
  std::shared_ptr<DecodedColumns> columns; // until all warps have used them
};

struct Warpgroup {
  std::deque<GroupProduct> products; // without those that everybody knows to be over
  uint32_t numDropped = 0;           // of those, the number
  std::vector<uint32_t> readers; // by piece of shared memory: 1 + the last product that reads it
  bool isBroken = false;         // its warps have parted, which is reported once
};

/// A product of one warp.
struct ProductInFlight {
  int32_t pc = -1;
  uint32_t number = 0; // of its warpgroup's products
  uint32_t group = 0;  // the number of groups committed before
  uint32_t lanes = 0;
  uint64_t a = 0, b = 0;        // descriptors, as in GroupProduct
  bool readsAccumulator = true; // scale-d
  bool isComputed = false;
};

/// Uses of a register that some wgmma has as accumulator or as A.
struct RegisterUse {
  static constexpr uint32_t kOperandA = ~0u;
  uint32_t product = 0; // 1 + the number of the last product that has it; 0: none
  int32_t productPc = -1;
  uint32_t position = 0;        // in the accumulator, or kOperandA
  uint32_t fencesOfProduct = 0; // that the warp had executed before
  // The last other instructions.
  int32_t touchPc = -1, writePc = -1;
  uint32_t fencesOfTouch = 0, fencesOfWrite = 0;
};

struct WarpProducts {
  std::vector<ProductInFlight> inFlight; // in order of issue
  // Products issued, those that waits have covered, groups, and executed wgmma.fence.
  uint32_t numIssued = 0, numFinished = 0, numCommitted = 0, numFences = 0;
  std::vector<RegisterUse> registers; // by 32-bit register
};

/// The products of a CTA. The order of a warp's products is that of their issue; when they read
/// shared memory and write registers is unknown up to the wait that covers their group.
struct AsyncProducts {
  std::vector<WarpProducts> ofWarp;
  std::vector<Warpgroup> groups;
  uint64_t numUncomputed = 0;
  bool isUsed = false; // some product has been issued
  std::mt19937_64 random;
  void reset(unsigned numWarps, uint32_t sharedBytes, uint32_t numRegisters, uint64_t seed);
  GroupProduct &productOf(unsigned warp, uint32_t number) {
    Warpgroup &group = groups[warp / kWarpsOfGroup];
    return group.products[number - group.numDropped];
  }
};

/// Returns, by instruction, true for those beside wgmma that read or write a register which some
/// wgmma of the kernel has as accumulator or as A; empty where the kernel has no wgmma.
std::vector<bool> findTouchesOfProducts(const Program &program, const Function &kernel);

} // namespace tw::warpsim
#endif
