// The matrix unit (AMX): permission of this process to use it, what a thread has configured, and
// the configuration that compiled code loads.
#include "backend/cpu/MatrixUnit.h"
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Host.h"
#include <array>
#include <optional>
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

/// Returns the 64 bytes that LDTILECFG reads (Intel 64 and IA-32 Architectures Software Developer's
/// Manual, volume 2): the number of the palette, from byte 16 on the bytes of a row of each
/// register, in 16 bits, and from byte 48 on its rows. Nullopt for a call of other arguments.
static std::optional<std::array<uint8_t, 64>> configurationOf(const llvm::CallBase &call) {
  constexpr unsigned numRegisters = 8;
  std::array<uint8_t, 64> bytes = {1};
  if (call.arg_size() > 2 * numRegisters)
    return std::nullopt;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    auto *extent = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(i));
    if (!extent)
      return std::nullopt;
    bytes[i % 2 ? 16 + i - 1 : 48 + i / 2] = uint8_t(extent->getZExtValue());
  }
  return bytes;
}

void tw::configureMatrixUnit(llvm::Module &module) {
  llvm::Function *function = module.getFunction(kConfigureMatrixUnit);
  if (!function || !function->isDeclaration())
    return;
  for (llvm::User *user : llvm::make_early_inc_range(function->users())) {
    auto *call = llvm::dyn_cast<llvm::CallBase>(user);
    std::optional<std::array<uint8_t, 64>> bytes = call ? configurationOf(*call) : std::nullopt;
    if (!bytes)
      continue;
    llvm::Constant *data = llvm::ConstantDataArray::get(module.getContext(), *bytes);
    auto *global =
        new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::PrivateLinkage, data, "matrix_configuration");
    global->setAlignment(llvm::Align(64));
    llvm::IRBuilder<>(call).CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {global});
    call->eraseFromParent();
  }
  if (function->use_empty())
    function->eraseFromParent();
}
