// The matrix unit of this process (AMX): permission to use it, and what a thread has configured.
#include "backend/cpu/MatrixUnit.h"
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "llvm/TargetParser/Host.h"
#if defined(__x86_64__) && defined(__linux__)
#include <cerrno>
#include <cstring>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace tw;

#if defined(__x86_64__) && defined(__linux__)
// Linux, Documentation/arch/x86/xstate.rst: the state of tile data has number 18.
static constexpr long kRequestPermission = 0x1023, kTileData = 18;

/// Empty where the permission was given.
static std::string requestPermission() {
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0)
    return "";
  return std::string("arch_prctl(ARCH_REQ_XCOMP_PERM) failed: ") + strerror(errno);
}

__attribute__((target("amx-tile"))) static void release() { _tile_release(); }
__attribute__((target("amx-tile"))) static void store(void *to) { _tile_storeconfig(to); }
__attribute__((target("amx-tile"))) static void load(const void *from) { _tile_loadconfig(from); }
#else
static std::string requestPermission() { return "this operating system does not say how"; }
static void release() {}
static void store(void *) {}
static void load(const void *) {}
#endif

const llvm::StringMap<bool> &tw::hostFeatures() {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features;
}

bool tw::mayUseMatrixUnit(std::string *reason) {
  static const bool isThere = hostFeatures().lookup("amx-tile");
  static const std::string refusal = isThere ? requestPermission() : "";
  if (reason)
    *reason = refusal;
  return isThere && refusal.empty();
}

void tw::releaseMatrixUnit() {
  if (mayUseMatrixUnit())
    release();
}

KeptMatrixConfiguration::KeptMatrixConfiguration() {
  if (mayUseMatrixUnit())
    store(real);
  storeEmulatedConfiguration(emulated);
}

KeptMatrixConfiguration::~KeptMatrixConfiguration() {
  if (mayUseMatrixUnit())
    load(real);
  loadEmulatedConfiguration(emulated);
}
