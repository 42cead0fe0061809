// The memories of the simulated GPU: global allocations, shared memory of a CTA, local memory of a
// warp.
#ifndef BACKEND_WARPSIM_CORE_MEMORY_H
#define BACKEND_WARPSIM_CORE_MEMORY_H
#include "backend/warpsim/Launch.h"
#include "backend/warpsim/core/memory/PagedShadow.h"
#include <map>

namespace tw::warpsim {

/// Windows of the generic address space, told by the top byte; anything else is the host's memory
/// or a window of Program.h.
constexpr uint64_t kSharedWindow = uint64_t(0x07) << 56, kLocalWindow = uint64_t(0x06) << 56,
                   kParamWindow = uint64_t(0x05) << 56, kWindowMask = uint64_t(0xff) << 56;

/// A range of addresses that a kernel may touch, and where its bytes are.
struct Region {
  std::string name;
  uint64_t base = 0, end = 0;
  uint8_t *host = nullptr; // of the byte at `base`
  bool isReadOnly = false;
  uint8_t skippedBytes = 0; // as in Allocation
  std::vector<uint64_t> *initialized = nullptr;
  std::unique_ptr<PagedShadow> shadow;
};

/// The launch's allocations and the program's variables, sorted; ranges that overlap are one
/// region. Only the bytes and the shadow change during a launch.
class GlobalMemory {
public:
  GlobalMemory(const Program &program, const Launch &launch);
  /// The region with `address`, or null. `hint` is where the last search ended.
  Region *find(uint64_t address, uint32_t &hint);
  /// The region of an allocation of the launch; that of an empty array holds no address.
  Region *regionOf(const Allocation &allocation);
  /// The region that ends last before `address` or begins first after it, for reports; or null.
  const Region *nearest(uint64_t address) const;

private:
  void addVariables(std::string &image, const std::string &initial, uint64_t base, const char *name,
                    bool isReadOnly);
  void addEmptyArrays(const Launch &launch);
  std::vector<Region> regions;
  std::map<const Allocation *, Region> emptyArrays; // for reports
  std::string globalImage, constImage;
};

/// Bytes with what is known of each: has it been written, and was what was written defined.
struct TrackedBytes {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> written, defined; // a bit per byte
  void reset(size_t size);
  void markWritten(uint64_t offset, unsigned count, bool isDefined);
  bool isWritten(uint64_t offset, unsigned count) const;
  bool isDefined(uint64_t offset, unsigned count) const;
};

} // namespace tw::warpsim
#endif
