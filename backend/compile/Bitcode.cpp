// Libraries of the user's bitcode: looked into for what a kernel calls, and linked into its code.
#include "backend/compile/Bitcode.h"
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/TypeToLLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
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

namespace {
/// Finds functions in a module's libraries, each read once.
class Libraries {
public:
  Libraries(mlir::ModuleOp lowered, const llvm::Triple &triple) : triple(triple) {
    for (auto [path, digest] : librariesOf(lowered)) {
      std::string error;
      std::unique_ptr<llvm::Module> module = readLibrary(path, digest, context, error);
      if (module && !fits(*module))
        error = path.str() + " is bitcode for " + module->getTargetTriple().str() +
                ", and this kernel is compiled for " + triple.str();
      if (!error.empty())
        faults.push_back(error);
      else
        modules.emplace_back(path, std::move(module));
    }
  }

  /// Why no library has a function of this type, or nothing.
  std::string check(mlir::LLVM::LLVMFuncOp function) {
    if (!faults.empty())
      return faults.front();
    if (modules.empty())
      return "no library of bitcode is given that has `" + function.getName().str() + "`";
    mlir::LLVM::TypeToLLVMIRTranslator translator(context);
    llvm::Type *wanted = translator.translateType(function.getFunctionType());
    for (auto &[path, module] : modules) {
      const llvm::Function *found = module->getFunction(function.getName());
      if (!found || found->isDeclaration())
        continue;
      if (found->getFunctionType() == wanted)
        return "";
      return "`" + function.getName().str() + "` of " + path.str() + " is " +
             typeText(found->getFunctionType()) + ", and the kernel calls " + typeText(wanted);
    }
    return "no library of bitcode defines `" + function.getName().str() + "`";
  }

private:
  /// Bitcode without a triple is for every machine.
  bool fits(const llvm::Module &module) const {
    const llvm::Triple &own = module.getTargetTriple();
    return own.str().empty() || own.getArch() == triple.getArch();
  }

  const llvm::Triple &triple;
  llvm::LLVMContext context;
  std::vector<std::pair<llvm::StringRef, std::unique_ptr<llvm::Module>>> modules;
  std::vector<std::string> faults;
};
} // namespace

bool tw::checkBitcode(mlir::ModuleOp lowered, const llvm::Triple &triple) {
  auto functions = llvm::make_filter_range(
      lowered.getOps<mlir::LLVM::LLVMFuncOp>(),
      [](mlir::LLVM::LLVMFuncOp function) { return function->hasAttr(tile::kExternFunction); });
  if (functions.empty())
    return true;
  Libraries libraries(lowered, triple);
  for (mlir::LLVM::LLVMFuncOp function : functions) {
    std::string fault = libraries.check(function);
    if (fault.empty())
      continue;
    auto error = emitCoded(callOf(lowered, function), Code::BitcodeMisfit) << fault;
    error.attachNote() << "launch with extern_libs={\"name\": \"path/of/library.bc\"}; clang "
                          "makes such a file with -emit-llvm -c and --target=...";
    return false;
  }
  return true;
}

bool tw::linkBitcode(mlir::ModuleOp lowered, llvm::Module &code, std::string &error) {
  auto libraries = librariesOf(lowered);
  if (libraries.empty())
    return true;
  llvm::SmallVector<std::string> own;
  for (const llvm::Function &function : code)
    if (!function.isDeclaration())
      own.push_back(function.getName().str());
  auto isOwn = [&](const llvm::GlobalValue &value) {
    return llvm::is_contained(own, value.getName());
  };
  for (auto [path, digest] : libraries) {
    std::unique_ptr<llvm::Module> library = readLibrary(path, digest, code.getContext(), error);
    if (!library)
      return false;
    library->setTargetTriple(code.getTargetTriple());
    library->setDataLayout(code.getDataLayout());
    if (llvm::Linker::linkModules(code, std::move(library), llvm::Linker::LinkOnlyNeeded)) {
      error = path.str() + " cannot be linked";
      return false;
    }
  }
  for (llvm::Function &function : code) {
    if (function.isDeclaration() || isOwn(function))
      continue;
    // What its file was compiled for gives way to the kernel's machine.
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (!function.hasFnAttribute(llvm::Attribute::NoInline) &&
        !function.hasFnAttribute(llvm::Attribute::OptimizeNone))
      function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::internalizeModule(code, isOwn);
  return true;
}
