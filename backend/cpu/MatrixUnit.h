// The matrix unit of this process (AMX): permission to use it, and what a thread has configured.
#ifndef BACKEND_CPU_MATRIXUNIT_H
#define BACKEND_CPU_MATRIXUNIT_H
#include <string>

namespace tw {

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

} // namespace tw
#endif
