// Random bits for LLVM on systems whose C library is older than arc4random (glibc 2.36).
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t bits = 0;
  // Requests below 256 bytes are answered whole once the kernel's pool is seeded: getrandom(2).
  if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
    abort();
  return bits;
}
