// Lists the stages and passes of a target for people.
#include "backend/inspect/StageList.h"
#include "backend/codegen/LlvmMachine.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/Stages.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace tw;

/// Returns the options of a pass as its text has them: "vector-library=false".
static llvm::SmallVector<std::string> optionsOf(mlir::Pass &pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  pass.printAsTextualPipeline(stream);
  auto [name, options] = llvm::StringRef(text).split('{');
  llvm::SmallVector<std::string> words(1);
  int depth = 0; // a value with spaces is in braces
  for (char c : options.drop_back(options.empty() ? 0 : 1)) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ' ' && depth == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  llvm::erase(words, "");
  return words;
}

/// Returns the options that differ from a pass of the same name without options. Passes that are
/// not registered by name cannot be made anew and show none.
static llvm::SmallVector<std::string> chosenOptionsOf(mlir::Pass &pass) {
  const mlir::PassInfo *registered = mlir::PassInfo::lookup(pass.getArgument());
  mlir::OpPassManager plain(mlir::ModuleOp::getOperationName());
  auto ignore = [](const llvm::Twine &) { return mlir::failure(); };
  if (!registered || mlir::failed(registered->addToPipeline(plain, "", ignore)))
    return {};
  llvm::StringSet<> defaults;
  defaults.insert_range(optionsOf(*plain.begin()));
  llvm::SmallVector<std::string> chosen = optionsOf(pass);
  llvm::erase_if(chosen, [&](const std::string &option) { return defaults.contains(option); });
  return chosen;
}

static void listPass(llvm::StringRef name, llvm::StringRef description, llvm::StringRef remark,
                     llvm::raw_ostream &os) {
  os << "  " << llvm::left_justify(name, 27) << " " << description;
  if (!remark.empty())
    os << " (" << remark << ")";
  os << "\n";
}

/// Lists the passes of ours before, within and behind LLVM's.
static void listMachine(const LlvmMachine &machine, llvm::raw_ostream &os) {
  os << "before LLVM's clean-ups:\n";
  for (const ModulePass &pass : machine.prepare)
    listPass(pass.name, pass.description, "", os);
  os << "in LLVM's code generator, without " << machine.unusedPasses.size() << " of its passes:\n";
  for (const PlacedPass &pass : machine.ownPasses)
    listPass(pass.name, pass.description, ("before: " + pass.next).str(), os);
  for (const CodeVariant &variant : machine.variants) {
    bool isFirst = &variant == machine.variants.begin();
    os << "variant " << variant.name << (isFirst ? "" : ", where those before spill") << ":\n";
    for (const ModulePass &pass : variant.passes)
      listPass(pass.name, pass.description, "", os);
    for (const FunctionAttribute &attribute : variant.attributes)
      os << "  attribute " << attribute.key << "=" << attribute.value << "\n";
    for (llvm::StringRef pass : variant.unusedPasses)
      os << "  without LLVM's \"" << pass << "\"\n";
  }
}

void tw::listStages(const Target &target, const CompileOptions &options, llvm::raw_ostream &os) {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  mlir::PassManager manager(context.get());
  StagedPasses passes(manager);
  addAllPasses(passes, target, options);
  for (const PipelineStage &stage : passes.stages()) {
    os << stage.name << ": " << stage.truth << "\n";
    for (unsigned number = stage.begin; number < stage.end; ++number) {
      mlir::Pass &pass = *std::next(manager.begin(), number);
      listPass(pass.getArgument(), pass.getDescription(), llvm::join(chosenOptionsOf(pass), ", "),
               os);
    }
  }
  llvm::SmallVector<llvm::StringRef> code;
  for (const CodeStage &stage : target.codeStages())
    code.push_back(stage.name);
  if (!code.empty())
    os << "then, as code: " << llvm::join(code, ", ") << "\n";
  if (const LlvmMachine *machine = target.llvmMachine())
    listMachine(*machine, os);
}
