// A kernel's code as the driver has it: built of SPIR-V, or read from what was built before.
#ifndef BACKEND_SPIRV_OPENCLPROGRAM_H
#define BACKEND_SPIRV_OPENCLPROGRAM_H
#include "backend/spirv/device/OpenClContext.h"

namespace tw::spirv {

class OpenClProgram {
public:
  /// Builds the artifact's code, of what the driver made of it before where that is by this very
  /// driver. Null with a reason, the driver's log among it, in `error`; not null with the code
  /// DamagedCacheFile there if the driver refused what it had made, and built the kernel again.
  static std::unique_ptr<OpenClProgram> build(std::shared_ptr<OpenClContext> context,
                                              const Artifact &artifact, RuntimeError &error);
  ~OpenClProgram();
  OpenClProgram(const OpenClProgram &) = delete;
  OpenClProgram &operator=(const OpenClProgram &) = delete;

  ClHandle handle() const { return program; }
  /// The driver's machine code; empty where it gives none.
  std::string readBinary() const;

private:
  OpenClProgram(std::shared_ptr<OpenClContext> context, ClHandle program)
      : context(std::move(context)), program(program) {}
  static std::unique_ptr<OpenClProgram> buildOf(std::shared_ptr<OpenClContext> context,
                                                const Artifact &artifact, bool isBinary,
                                                const std::string &action, RuntimeError &error);

  const std::shared_ptr<OpenClContext> context;
  const ClHandle program;
};

} // namespace tw::spirv
#endif
