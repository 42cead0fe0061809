// Libraries of the user's bitcode: looked into for what a kernel calls, and linked into its code.
#include "backend/codegen/Bitcode.h"
#include "backend/codegen/EmitLlvm.h"
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/TypeToLLVM.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace tw;

static std::string decoded(llvm::StringRef text) {
  std::string path;
  for (; !text.empty(); text = text.drop_front()) {
    unsigned code;
    if (text.front() == '%' && !text.substr(1, 2).getAsInteger(16, code)) {
      path += char(code);
      text = text.drop_front(2);
    } else {
      path += text.front();
    }
  }
  return path;
}

void tw::nameBitcode(mlir::ModuleOp module, const CompileOptions &options) {
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<mlir::Attribute> libraries;
  for (llvm::StringRef word : llvm::split(options.extra, ','))
    if (word.consume_front("bitcode="))
      libraries.push_back(builder.getStringAttr(decoded(word)));
  if (!libraries.empty())
    module->setAttr(tile::kBitcode, builder.getArrayAttr(libraries));
}

/// The paths of a module's libraries, with the digests that their files had.
static llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>>
librariesOf(mlir::ModuleOp module) {
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> libraries;
  if (auto names = module->getAttrOfType<mlir::ArrayAttr>(tile::kBitcode))
    for (auto name : names.getAsRange<mlir::StringAttr>()) {
      auto [digest, path] = name.getValue().split(':');
      libraries.emplace_back(path, digest);
    }
  return libraries;
}

/// A library's module; null with the reason in `error`.
static std::unique_ptr<llvm::Module> readLibrary(llvm::StringRef path, llvm::StringRef digest,
                                                 llvm::LLVMContext &context, std::string &error) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    error = path.str() + " cannot be read: " + file.getError().message();
    return nullptr;
  }
  llvm::StringRef bytes = (*file)->getBuffer();
  if (llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)), true) != digest) {
    error = path.str() + " was changed while a kernel was compiled with it";
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile(**file, context);
  if (module)
    return std::move(*module);
  error = path.str() + " is not bitcode that LLVM " LLVM_VERSION_STRING " can read: " +
          llvm::toString(module.takeError());
  return nullptr;
}

static std::string typeText(const llvm::Type *type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type->print(stream);
  return text;
}

/// Where the kernel calls a function.
static mlir::Location callOf(mlir::ModuleOp lowered, mlir::LLVM::LLVMFuncOp function) {
  mlir::Location place = function.getLoc();
  lowered.walk([&](mlir::LLVM::CallOp call) {
    if (call.getCallee() != function.getName())
      return mlir::WalkResult::advance();
    place = call.getLoc();
    return mlir::WalkResult::interrupt();
  });
  return place;
}

/// The name that a library has for a function of the kernel's.
static llvm::StringRef symbolOf(llvm::StringRef name) {
  name.consume_front(tile::kExternPrefix);
  return name;
}

static auto externFunctions(mlir::ModuleOp lowered) {
  return llvm::make_filter_range(
      lowered.getOps<mlir::LLVM::LLVMFuncOp>(),
      [](mlir::LLVM::LLVMFuncOp function) { return function->hasAttr(tile::kExternFunction); });
}

/// Adds a library to those before it. Of what several define, the first definition that is not weak
/// counts.
static bool addLibrary(llvm::Module &whole, std::unique_ptr<llvm::Module> library) {
  for (llvm::GlobalValue &value : library->global_values()) {
    const llvm::GlobalValue *before = whole.getNamedValue(value.getName());
    if (before && before->isStrongDefinitionForLinker() && value.isStrongDefinitionForLinker())
      value.setLinkage(llvm::GlobalValue::WeakAnyLinkage);
  }
  // Without a triple: where the machine's names have no dots, LLVM would give a value
  // that is renamed for a moment a name that the library may have itself.
  library->setTargetTriple(llvm::Triple());
  library->setDataLayout("");
  return !llvm::Linker::linkModules(whole, std::move(library));
}

/// Why a library is not for a machine, or nothing. Bitcode without a triple is for every machine.
static std::string misfitOf(const llvm::Module &library, llvm::StringRef path,
                            const llvm::Triple &triple) {
  const llvm::Triple &own = library.getTargetTriple();
  if (own.str().empty() || own.getArch() == triple.getArch())
    return "";
  return path.str() + " is bitcode for " + own.str() + ", and this kernel is compiled for " +
         triple.str();
}

/// All libraries as one module; null with the reason in `error`.
static std::unique_ptr<llvm::Module> allLibraries(mlir::ModuleOp lowered,
                                                  const llvm::Triple &triple,
                                                  llvm::LLVMContext &context, std::string &error) {
  auto whole = std::make_unique<llvm::Module>("bitcode", context);
  for (auto [path, digest] : librariesOf(lowered)) {
    std::unique_ptr<llvm::Module> library = readLibrary(path, digest, context, error);
    if (!library || !(error = misfitOf(*library, path, triple)).empty())
      return nullptr;
    if (!addLibrary(*whole, std::move(library))) {
      error = path.str() + " cannot be linked with the libraries before it";
      return nullptr;
    }
  }
  return whole;
}

/// Why the machine cannot give a value that is not a library's own; empty: it can.
static std::string lackOf(const llvm::GlobalValue &global, const LlvmMachine &machine) {
  std::string name = "`" + global.getName().str() + "`";
  if (global.isThreadLocal())
    return "the variable of threads " + name;
  auto *callee = llvm::dyn_cast<llvm::Function>(&global);
  bool isIntrinsic = callee && callee->isIntrinsic();
  bool isProvided = callee && machine.provides && machine.provides(global.getName());
  bool isThere = !global.isDeclaration() || isIntrinsic || isProvided;
  return isThere ? "" : name + ", which no library defines";
}

/// Returns a direct or indirect dependency of a function that the machine cannot provide; empty if
/// there is none.
static std::string missingFor(const llvm::Function &function, const LlvmMachine &machine) {
  llvm::SmallVector<const llvm::Value *> pending = {&function};
  llvm::SmallPtrSet<const llvm::Value *, 32> seen;
  while (!pending.empty()) {
    const llvm::Value *value = pending.pop_back_val();
    if (!llvm::isa<llvm::Constant>(value) || !seen.insert(value).second)
      continue;
    auto *global = llvm::dyn_cast<llvm::GlobalValue>(value);
    if (std::string lack = global ? lackOf(*global, machine) : ""; !lack.empty())
      return lack;
    if (auto *body = llvm::dyn_cast<llvm::Function>(value))
      for (const llvm::BasicBlock &block : *body)
        for (const llvm::Instruction &instruction : block)
          pending.append(instruction.op_begin(), instruction.op_end());
    pending.append(llvm::cast<llvm::Constant>(value)->op_begin(),
                   llvm::cast<llvm::Constant>(value)->op_end());
  }
  return "";
}

/// Why the libraries have no function as the kernel calls it, or nothing.
static std::string faultOf(mlir::LLVM::LLVMFuncOp function, const llvm::Module &libraries,
                           const LlvmMachine &machine) {
  std::string name = "`" + symbolOf(function.getName()).str() + "`";
  const llvm::Function *found = libraries.getFunction(symbolOf(function.getName()));
  if (!found || found->isDeclaration() || found->hasLocalLinkage())
    return "no library of bitcode defines " + name;
  mlir::LLVM::TypeToLLVMIRTranslator translator(libraries.getContext());
  llvm::Type *wanted = translator.translateType(function.getFunctionType());
  if (found->getFunctionType() != wanted)
    return name + " is " + typeText(found->getFunctionType()) + ", and the kernel calls " +
           typeText(wanted);
  std::string missing = missingFor(*found, machine);
  return missing.empty() ? "" : name + " needs " + missing;
}

static std::unique_ptr<llvm::Module> report(mlir::ModuleOp lowered, mlir::LLVM::LLVMFuncOp function,
                                            const std::string &fault) {
  auto error = emitCoded(callOf(lowered, function), Code::BitcodeMisfit) << fault;
  error.attachNote() << "launch with extern_libs={\"name\": \"path/of/library.bc\"}; clang "
                        "makes such a file with -emit-llvm -c and --target=...";
  return nullptr;
}

/// The libraries, if they have all that the kernel calls; else null, and reported.
static std::unique_ptr<llvm::Module>
fittingLibraries(mlir::ModuleOp lowered, llvm::LLVMContext &context, const LlvmMachine &machine) {
  auto functions = externFunctions(lowered);
  mlir::LLVM::LLVMFuncOp first = *functions.begin();
  if (librariesOf(lowered).empty())
    return report(lowered, first,
                  "no library of bitcode is given that has `" + symbolOf(first.getName()).str() +
                      "`");
  std::string error;
  std::unique_ptr<llvm::Module> libraries =
      allLibraries(lowered, llvm::Triple(machine.triple), context, error);
  if (!libraries)
    return report(lowered, first, error);
  for (mlir::LLVM::LLVMFuncOp function : functions)
    if (std::string fault = faultOf(function, *libraries, machine); !fault.empty())
      return report(lowered, function, fault);
  return libraries;
}

size_t tw::countLinkedFunctions(mlir::ModuleOp lowered) {
  return llvm::range_size(externFunctions(lowered));
}

void tw::blameBitcode(mlir::ModuleOp lowered, const LlvmMachine &machine, llvm::StringRef fault) {
  mlir::LLVM::LLVMFuncOp first = *externFunctions(lowered).begin();
  auto error = emitCoded(callOf(lowered, first), Code::BitcodeMachine)
               << "what the libraries of bitcode have for `" << symbolOf(first.getName())
               << "` cannot be compiled for " << machine.cpu << ": "
               << fault.ltrim().split('\n').first;
  error.attachNote() << "choose a machine that has the library's instructions, or write the "
                        "function without intrinsics and inline assembly";
}

/// Makes a linked function one of the kernel's own.
static void adopt(llvm::Function &function) {
  // What its file was compiled for gives way to the kernel's machine.
  function.removeFnAttr("target-cpu");
  function.removeFnAttr("target-features");
  if (!function.hasFnAttribute(llvm::Attribute::NoInline) &&
      !function.hasFnAttribute(llvm::Attribute::OptimizeNone))
    function.addFnAttr(llvm::Attribute::AlwaysInline);
}

static llvm::StringSet<> definedIn(const llvm::Module &code) {
  llvm::StringSet<> names;
  for (const llvm::Function &function : code)
    if (!function.isDeclaration())
      names.insert(function.getName());
  return names;
}

/// Moves what is called into the kernel's code; nothing else of a library meets a name of its own.
static bool moveInto(llvm::Module &code, std::unique_ptr<llvm::Module> libraries,
                     mlir::ModuleOp lowered) {
  for (mlir::LLVM::LLVMFuncOp function : externFunctions(lowered))
    libraries->getFunction(symbolOf(function.getName()))->setName(function.getName());
  llvm::internalizeModule(*libraries, [](const llvm::GlobalValue &value) {
    return value.getName().starts_with(tile::kExternPrefix);
  });
  llvm::Triple triple = code.getTargetTriple();
  std::string layout = code.getDataLayoutStr();
  code.setTargetTriple(llvm::Triple());
  code.setDataLayout("");
  bool failed = llvm::Linker::linkModules(code, std::move(libraries), llvm::Linker::LinkOnlyNeeded);
  code.setTargetTriple(triple);
  code.setDataLayout(layout);
  return !failed;
}

bool tw::linkBitcode(mlir::ModuleOp lowered, llvm::Module &code, const LlvmMachine &machine,
                     std::string &error) {
  if (countLinkedFunctions(lowered) == 0)
    return true;
  std::unique_ptr<llvm::Module> libraries = fittingLibraries(lowered, code.getContext(), machine);
  if (!libraries) {
    error = "functions of bitcode are missing";
    return false;
  }
  llvm::StringSet<> own = definedIn(code);
  if (!moveInto(code, std::move(libraries), lowered)) {
    error = "the libraries of bitcode cannot be linked";
    return false;
  }
  auto isOwn = [&](const llvm::GlobalValue &value) { return own.contains(value.getName()); };
  for (llvm::Function &function : code)
    if (!function.isDeclaration() && !isOwn(function))
      adopt(function);
  llvm::internalizeModule(code, isOwn);
  return true;
}
