// Reads a module, places its variables, and imports its kernels.
#include "backend/warpsim/llvmir/Import.h"
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "backend/warpsim/ptx/ControlFlow.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw::warpsim;

unsigned tw::warpsim::waveSizeOf(const std::string &arch) {
  if (arch.rfind("gfx9", 0) == 0)
    return 64;
  if (arch == "xe-hpg")
    return 8;
  if (arch == "generic16" || arch == "xe2" || arch == "xe-hpc")
    return 16;
  return arch.rfind("gfx1", 0) == 0 || arch == "generic32" ? 32 : 0;
}

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The bytes of an initializer of integers and floats; false where there is something else.
static bool appendBytes(const llvm::Constant *constant, const llvm::DataLayout &layout,
                        std::string &bytes) {
  uint64_t size = layout.getTypeAllocSize(constant->getType());
  if (constant->isNullValue() || llvm::isa<llvm::UndefValue>(constant)) {
    bytes.append(size, 0);
    return true;
  }
  if (const auto *data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant)) {
    bytes += data->getRawDataValues();
    bytes.append(size - data->getRawDataValues().size(), 0);
    return true;
  }
  uint64_t bits = 0;
  if (const auto *integer = llvm::dyn_cast<llvm::ConstantInt>(constant))
    bits = integer->getValue().getLimitedValue();
  else if (const auto *real = llvm::dyn_cast<llvm::ConstantFP>(constant))
    bits = real->getValueAPF().bitcastToAPInt().getLimitedValue();
  else if (llvm::isa<llvm::ConstantArray>(constant))
    return llvm::all_of(constant->operands(), [&](const llvm::Use &element) {
      return appendBytes(llvm::cast<llvm::Constant>(element.get()), layout, bytes);
    });
  else
    return false;
  bytes.append(reinterpret_cast<const char *>(&bits), size);
  return true;
}

static Operand addressOperand(uint64_t address, int32_t variable) {
  Operand operand = immediate(address);
  operand.variable = variable;
  return operand;
}

static Operand placeShared(Program &program, const llvm::GlobalVariable &global, uint64_t bytes) {
  uint64_t alignment = global.getAlign().valueOrOne().value();
  program.staticSharedBytes = uint32_t(alignTo(program.staticSharedBytes, alignment));
  program.hasDynamicShared |= bytes == 0;
  program.variables.push_back(
      {global.getName().str(), Space::Shared, program.staticSharedBytes, bytes, alignment});
  uint64_t address = kSharedBase + program.staticSharedBytes;
  program.staticSharedBytes += uint32_t(bytes);
  return addressOperand(address, int32_t(program.variables.size()) - 1);
}

/// Shared variables that have bytes come before those that begin where they end.
static bool placeGlobals(Program &program, llvm::Module &module, GlobalAddresses &addresses,
                         ImportError &error) {
  const llvm::DataLayout &layout = module.getDataLayout();
  std::vector<const llvm::GlobalVariable *> dynamic;
  for (llvm::GlobalVariable &global : module.globals()) {
    uint64_t bytes = layout.getTypeAllocSize(global.getValueType());
    if (global.getAddressSpace() == 3 && bytes == 0) {
      dynamic.push_back(&global);
    } else if (global.getAddressSpace() == 3) {
      addresses[&global] = placeShared(program, global, bytes);
    } else if (global.hasInitializer()) {
      std::string &image = global.isConstant() ? program.constImage : program.globalImage;
      image.resize(alignTo(image.size(), global.getAlign().valueOrOne().value()));
      uint64_t base = global.isConstant() ? kConstBase : kGlobalBase;
      addresses[&global] = addressOperand(base + image.size(), -1);
      if (!appendBytes(global.getInitializer(), layout, image)) {
        error.message = "the value of the variable " + global.getName().str();
        return false;
      }
    }
  }
  for (const llvm::GlobalVariable *global : dynamic)
    addresses[global] = placeShared(program, *global, 0);
  program.sharedBase = kSharedBase;
  program.globalBase = kGlobalBase;
  program.constBase = kConstBase;
  return true;
}

/// The lines of a function's instructions; as many as the text shows.
static std::vector<TextLine> linesOf(const llvm::Function &function, llvm::StringRef text) {
  std::vector<TextLine> lines;
  std::string name = ("@" + function.getName() + "(").str();
  int32_t number = 0;
  bool isInside = false;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    if (isInside && line.starts_with("}"))
      break;
    if (line.starts_with("define ") && line.contains(name))
      isInside = true;
    else if (isInside && line.size() > 2 && line.starts_with("  ") && line[2] != ' ' &&
             line[2] != ']' && line[2] != '#' && line[2] != ';')
      lines.push_back({number, line});
  }
  return lines;
}

/// The lines of a function whose text has another form than LLVM prints: they are printed.
static std::vector<TextLine> printLines(const llvm::Function &function, std::string &printed) {
  llvm::raw_string_ostream stream(printed);
  function.print(stream);
  return linesOf(function, printed);
}

std::optional<Program> tw::warpsim::importAmdgcn(const std::string &text, const std::string &arch,
                                                 ImportError &error) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseIR(llvm::MemoryBufferRef(text, "kernel"), diagnostic, context);
  if (!module) {
    error = {diagnostic.getMessage().str(), diagnostic.getLineNo()};
    return std::nullopt;
  }
  Program program;
  program.target = arch;
  program.isAmdgcn = true;
  program.waveSize = waveSizeOf(arch);
  if (program.waveSize == 0) {
    error.message = "the architecture " + arch;
    return std::nullopt;
  }
  GlobalAddresses globals;
  if (!placeGlobals(program, *module, globals, error))
    return std::nullopt;
  for (llvm::Function &function : *module) {
    llvm::CallingConv::ID convention = function.getCallingConv();
    if (convention != llvm::CallingConv::AMDGPU_KERNEL &&
        convention != llvm::CallingConv::SPIR_KERNEL)
      continue;
    std::string printed;
    std::vector<TextLine> lines = linesOf(function, text);
    if (lines.size() != function.getInstructionCount())
      lines = printLines(function, printed);
    lines.resize(function.getInstructionCount());
    FunctionImporter importer(program, function, globals, lines);
    if (!importer.run()) {
      error = importer.error;
      return std::nullopt;
    }
  }
  for (const Function &function : program.functions)
    ptx::findReconvergence(program, function);
  return program;
}
