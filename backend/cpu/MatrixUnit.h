// The matrix unit (AMX): permission of this process to use it, what a thread has configured, and
// the configuration that compiled code loads.
#ifndef BACKEND_CPU_MATRIXUNIT_H
#define BACKEND_CPU_MATRIXUNIT_H
#include "llvm/ADT/StringMap.h"
#include <string>

namespace llvm {
class Module;
}

namespace tw {

/// Returns the features of the processor and its operating system, by LLVM's names. They are asked
/// for once: the hypervisor of a virtual machine answers for the processor, and may take 20 us for
/// each of a dozen questions.
const llvm::StringMap<bool> &hostFeatures();

/// Asks the operating system once, for all threads. True where the processor has a unit and this
/// process may use it; else with the reason where the processor has one.
bool mayUseMatrixUnit(std::string *reason = nullptr);

/// A kernel was left in its middle: puts the registers of this thread into their initial state, so
/// that context switches need not save them.
void releaseMatrixUnit();

/// Keeps the configuration of this thread over what may run other kernels; the registers' contents
/// are lost.
class KeptMatrixConfiguration {
public:
  KeptMatrixConfiguration();
  ~KeptMatrixConfiguration();
  KeptMatrixConfiguration(const KeptMatrixConfiguration &) = delete;

private:
  alignas(64) unsigned char real[64];
  alignas(64) unsigned char emulated[64];
};

/// The function that kernels call at their start with the rows of each register and their bytes.
inline constexpr char kConfigureMatrixUnit[] = "tw_configure_amx";
/// Replaces its calls by loads of a constant configuration.
void configureMatrixUnit(llvm::Module &module);

} // namespace tw
#endif
