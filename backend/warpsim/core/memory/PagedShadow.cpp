// Pages of race records, made at first use.
#include "backend/warpsim/core/memory/PagedShadow.h"

using namespace tw::warpsim;

PagedShadow::PagedShadow(uint64_t base, uint64_t bytes)
    : firstPage(base >> kPageShift),
      pages(bytes ? ((base + bytes - 1) >> kPageShift) - firstPage + 1 : 0) {}

PagedShadow::~PagedShadow() {
  for (std::atomic<ShadowPage *> &page : pages)
    delete page.load(std::memory_order_relaxed);
}

ShadowPage &PagedShadow::page(uint64_t address, uint32_t &offset) {
  offset = uint32_t(address & ((1u << kPageShift) - 1));
  std::atomic<ShadowPage *> &slot = pages[(address >> kPageShift) - firstPage];
  ShadowPage *page = slot.load(std::memory_order_acquire);
  if (page)
    return *page;
  auto fresh = std::make_unique<ShadowPage>(1u << kPageShift, false);
  if (slot.compare_exchange_strong(page, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *page;
}
