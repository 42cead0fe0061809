// One OpenCL device with its context and queue, made at the first use.
#ifndef BACKEND_SPIRV_OPENCLCONTEXT_H
#define BACKEND_SPIRV_OPENCLCONTEXT_H
#include "backend/spirv/device/OpenClDriver.h"
#include <mutex>

namespace tw::spirv {

class OpenClContext {
public:
  OpenClContext(std::shared_ptr<const OpenClDriver> driver, int index, std::string simulator);
  ~OpenClContext();
  OpenClContext(const OpenClContext &) = delete;
  OpenClContext &operator=(const OpenClContext &) = delete;

  const OpenClFunctions &call() const { return *entry().call; }
  const OpenClEntry &entry() const { return driver->devices[index]; }
  std::string name() const { return kOpenClPrefix + std::to_string(index); }

  /// Makes the context and its queue, where that was not done before. A process that was forked
  /// since has no use of them.
  std::optional<RuntimeError> enter(const std::string &action);
  ClHandle context() const { return contextHandle; }
  /// In order: an operation begins when the one before has ended.
  ClHandle queue() const { return queueHandle; }

  /// The report of a call that failed while `action` ("loading kernel add") was done.
  RuntimeError failureOf(int result, const std::string &function, const std::string &action) const;

private:
  const std::shared_ptr<const OpenClDriver> driver;
  const size_t index;
  const std::string simulator;
  const unsigned forkedAt;
  std::mutex mutex; // held while they are made:
  ClHandle contextHandle = nullptr, queueHandle = nullptr;
};

} // namespace tw::spirv
#endif
