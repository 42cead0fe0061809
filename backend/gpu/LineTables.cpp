// Places in the user's source as LLVM's debug information.
#include "backend/gpu/LineTables.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;
using namespace tw;
using tw::gpu::LineDetail;

namespace {
/// Makes scopes for one kernel, one per file that its code comes from.
class ScopeTable {
public:
  ScopeTable(LLVM::LLVMFuncOp kernel, const SourceSpan &start, LineDetail detail);
  LLVM::DISubprogramAttr kernelScope() const { return ofKernel; }
  /// `location` within the scopes; unknown where it names no place.
  Location place(Location location);

private:
  LLVM::DIFileAttr fileOf(StringRef path) const;
  LLVM::DISubprogramAttr makeScope(StringRef name, LLVM::DIFileAttr file, int line) const;
  LLVM::DISubprogramAttr calleeScope(StringRef path, int line);
  Location placeOf(const SourceSpan &span, LLVM::DISubprogramAttr scope) const;
  Location convert(Location location);

  MLIRContext *context;
  LLVM::DICompileUnitAttr unit;
  LLVM::DISubprogramAttr ofKernel;
  std::map<std::string, LLVM::DISubprogramAttr> ofCallees; // by file
  llvm::DenseMap<Location, Location> known;
};
} // namespace

LLVM::DIFileAttr ScopeTable::fileOf(StringRef path) const {
  return LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path), "");
}

LLVM::DISubprogramAttr ScopeTable::makeScope(StringRef name, LLVM::DIFileAttr file,
                                             int line) const {
  auto type = LLVM::DISubroutineTypeAttr::get(context, {});
  auto id = DistinctAttr::create(UnitAttr::get(context));
  auto nameAttribute = StringAttr::get(context, name);
  return LLVM::DISubprogramAttr::get(
      context, id, unit, file, nameAttribute, nameAttribute, file, line, line,
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type,
      /*retainedNodes=*/{}, /*annotations=*/{});
}

ScopeTable::ScopeTable(LLVM::LLVMFuncOp kernel, const SourceSpan &start, LineDetail detail)
    : context(kernel.getContext()) {
  LLVM::DIFileAttr file = fileOf(start.file);
  unit = LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_Python, file,
      StringAttr::get(context, "tilewright"), /*isOptimized=*/true,
      detail == LineDetail::Tables ? LLVM::DIEmissionKind::LineTablesOnly
                                   : LLVM::DIEmissionKind::DebugDirectivesOnly);
  ofKernel = makeScope(kernel.getName(), file, start.line);
}

/// Functions are known by where they were called, not by name: one scope per file is enough for
/// lines.
LLVM::DISubprogramAttr ScopeTable::calleeScope(StringRef path, int line) {
  LLVM::DISubprogramAttr &scope = ofCallees[path.str()];
  if (!scope)
    scope = makeScope(llvm::sys::path::stem(path), fileOf(path), line);
  return scope;
}

Location ScopeTable::placeOf(const SourceSpan &span, LLVM::DISubprogramAttr scope) const {
  auto place = FileLineColLoc::get(context, span.file, unsigned(span.line),
                                   unsigned(std::max(span.column, 0)));
  return FusedLoc::get(context, {place}, scope);
}

/// Returns true if a file is part of the language's own libraries, which are written in the
/// language too.
static bool isOfLibrary(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return folder.ends_with("tilewright/language") || folder.ends_with("tilewright/library") ||
         folder.ends_with("tilewright/libdevice");
}

Location ScopeTable::convert(Location location) {
  SourceSpan span = spanOf(location);
  if (!span.isKnown())
    return UnknownLoc::get(context);
  // Innermost first: the place itself, then the places of the calls around it.
  std::vector<SourceLabel> calls = callStackOf(location);
  llvm::erase_if(calls, [](const SourceLabel &call) { return !call.span.isKnown(); });
  // Tools show one line: within tw.sum and its like, whose lines no user can change, the call's.
  auto call = calls.begin();
  for (; call != calls.end() && isOfLibrary(span.file); ++call)
    span = call->span;
  calls.erase(calls.begin(), call);
  if (calls.empty())
    return placeOf(span, ofKernel);
  Location caller = placeOf(calls.back().span, ofKernel);
  for (const SourceLabel &call : llvm::reverse(llvm::ArrayRef(calls).drop_back()))
    caller =
        CallSiteLoc::get(placeOf(call.span, calleeScope(call.span.file, call.span.line)), caller);
  return CallSiteLoc::get(placeOf(span, calleeScope(span.file, span.line)), caller);
}

Location ScopeTable::place(Location location) {
  auto [entry, isNew] = known.try_emplace(location, location);
  if (isNew)
    entry->second = convert(location);
  return entry->second;
}

/// Where the kernel begins in the source: its own location, or the first known one in it.
static SourceSpan findStart(LLVM::LLVMFuncOp kernel) {
  SourceSpan start = spanOf(kernel.getLoc());
  if (start.isKnown())
    return start;
  kernel.walk([&](Operation *op) {
    std::vector<SourceLabel> calls = callStackOf(op->getLoc());
    start = calls.empty() ? spanOf(op->getLoc()) : calls.back().span;
    return start.isKnown() ? WalkResult::interrupt() : WalkResult::advance();
  });
  return start;
}

static void attachLineTables(LLVM::LLVMFuncOp kernel, LineDetail detail) {
  SourceSpan start = findStart(kernel);
  if (!start.isKnown())
    return;
  ScopeTable scopes(kernel, start, detail);
  kernel.getBody().walk([&](Operation *op) { op->setLoc(scopes.place(op->getLoc())); });
  Location place = kernel.getLoc(); // in full: remarks on the kernel show it
  if (!spanOf(place).isKnown())
    place = FileLineColLoc::get(kernel.getContext(), start.file, unsigned(start.line), 0);
  kernel->setLoc(FusedLoc::get(kernel.getContext(), {place}, scopes.kernelScope()));
}

namespace {
struct AttachLineTables : PassWrapper<AttachLineTables, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttachLineTables)
  explicit AttachLineTables(LineDetail detail) : detail(detail) {}
  StringRef getArgument() const override { return "attach-line-tables"; }
  StringRef getDescription() const override {
    return "locations become positions in scopes that LLVM turns into line tables";
  }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        attachLineTables(function, detail);
  }
  LineDetail detail;
};
} // namespace

std::unique_ptr<Pass> tw::gpu::createAttachLineTables(LineDetail detail) {
  return std::make_unique<AttachLineTables>(detail);
}
