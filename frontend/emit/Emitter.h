// The state that the functions which walk a kernel's syntax tree share: where Tile IR is built,
// which calls are active, and what is reported. The first error ends the walk: every function
// answers failure once it is reported.
#ifndef FRONTEND_EMITTER_H
#define FRONTEND_EMITTER_H
#include "frontend/Frontend.h"
#include "frontend/Progress.h"
#include "frontend/emit/Arguments.h"
#include "frontend/emit/Scopes.h"
#include "frontend/emit/SourceDiagnostic.h"
#include "frontend/tiles/TileBuilder.h"

namespace tw {

class Emitter : public Progress {
public:
  Emitter(mlir::OpBuilder &builder, const Program &program, const FrontendOptions &options,
          const StaticEvaluator &evaluator, std::vector<Diagnostic> &diagnostics)
      : builder(builder), tiles(builder), program(program), options(options), evaluator(evaluator),
        diagnostics(diagnostics) {
    builder.setListener(&operations);
  }
  ~Emitter() { builder.setListener(nullptr); }

  mlir::OpBuilder &builder;
  TileBuilder tiles;
  const Program &program;
  const FrontendOptions &options;
  const StaticEvaluator &evaluator;
  std::vector<std::shared_ptr<Frame>> frames; // the active calls, outermost first
  Frame &frame() { return *frames.back(); }

  /// Operations are built for this node from now on.
  void locate(const Node &node);
  mlir::Location location() const { return tiles.location(); }
  /// Values point into JSON that is read on the way, which therefore lives as long as the walk.
  JsonDocument texts;

  mlir::LogicalResult error(Code code, const Node &site, const llvm::Twine &message,
                            const llvm::Twine &hint, std::vector<SourceLabel> labels = {});
  mlir::LogicalResult error(const Reason &reason, const Node &site,
                            llvm::ArrayRef<const Node *> operands);
  mlir::LogicalResult unsupported(const Node &site, const llvm::Twine &what,
                                  const llvm::Twine &hint);
  /// An error for a name that has no usable value.
  mlir::LogicalResult reportAbsent(const Absent &absent, llvm::StringRef name, const Node &site);
  mlir::LogicalResult rejectAbsent(const PyValue &value, const Node &node);
  /// An error for an effect on memory or output inside of a combining function, whose calls have
  /// neither an order nor a number.
  mlir::LogicalResult refuseInCombine(const Node &site, const llvm::Twine &what);
  void remark(const Node &site, std::string text, Code code);
  SourceLabel label(const Node &node, std::string text) const;
  bool hasFailed() const;
  size_t numReports() const { return diagnostics.size(); }
  void dropReportsAfter(size_t count) { diagnostics.resize(count); }

private:
  std::vector<Diagnostic> &diagnostics;
};

} // namespace tw
#endif
