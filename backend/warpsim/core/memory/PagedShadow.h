// The race records of an allocation in global memory, which CTAs on several host threads share.
#ifndef BACKEND_WARPSIM_CORE_PAGEDSHADOW_H
#define BACKEND_WARPSIM_CORE_PAGEDSHADOW_H
#include "backend/warpsim/core/memory/Shadow.h"

namespace tw::warpsim {

/// Pages of an allocation in global memory, made when they are first touched, by any host thread.
class PagedShadow {
public:
  static constexpr unsigned kPageShift = 12;
  PagedShadow(uint64_t base, uint64_t bytes);
  ~PagedShadow();
  PagedShadow(const PagedShadow &) = delete;
  /// The page of an address; `offset` becomes the address's offset in it.
  ShadowPage &page(uint64_t address, uint32_t &offset);

private:
  uint64_t firstPage;
  std::vector<std::atomic<ShadowPage *>> pages;
};

/// Holds a page of global memory's shadow for one access.
class PageLock {
public:
  explicit PageLock(ShadowPage &page) : page(page) {
    while (page.lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~PageLock() { page.lock.clear(std::memory_order_release); }
  PageLock(const PageLock &) = delete;

private:
  ShadowPage &page;
};

} // namespace tw::warpsim
#endif
