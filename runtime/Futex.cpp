// Sleeping on a word of memory for a limited time: Linux' futex(2).
#include "runtime/Futex.h"
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void tw::sleepWhile(std::atomic<uint32_t> &word, uint32_t expected, int milliseconds) {
  timespec limit{milliseconds / 1000, long(milliseconds % 1000) * 1'000'000};
  (void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &limit, nullptr, 0);
}

void tw::wakeAll(std::atomic<uint32_t> &word) {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}
