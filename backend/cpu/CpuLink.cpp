// Links object files into this process, each kernel on its own, and unloads them again.
#include "backend/cpu/CpuLink.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "backend/cpu/NarrowFloats.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <dlfcn.h>
#include <mutex>

using namespace tw;
namespace orc = llvm::orc;

namespace {

/// The vector math library, and C's.
class MathLibraries {
public:
  MathLibraries() {
    for (const char *name : {"libmvec.so.1", "libm.so.6"})
      if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
        libraries.push_back(library);
  }
  ~MathLibraries() {
    for (void *library : libraries)
      dlclose(library);
  }
  MathLibraries(const MathLibraries &) = delete;

  /// dlsym also searches what a library depends on: only its own functions count.
  void *find(const char *name) const {
    for (void *library : libraries) {
      void *address = dlsym(library, name);
      Dl_info place;
      if (address && dladdr(address, &place) && strstr(place.dli_fname, "/libm"))
        return address;
    }
    return nullptr;
  }

private:
  std::vector<void *> libraries;
};

/// Finds math functions where a kernel asks for them.
class MathLibraryGenerator : public orc::DefinitionGenerator {
public:
  llvm::Error tryToGenerate(orc::LookupState &, orc::LookupKind, orc::JITDylib &dylib,
                            orc::JITDylibLookupFlags, const orc::SymbolLookupSet &names) override {
    orc::SymbolMap found;
    for (const auto &[name, flags] : names)
      if (void *address = libraries.find((*name).str().c_str()))
        found[name] = {orc::ExecutorAddr::fromPtr(address),
                       llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    if (found.empty())
      return llvm::Error::success();
    return dylib.define(orc::absoluteSymbols(std::move(found)));
  }

private:
  MathLibraries libraries;
};

/// Notes where the functions of what is linked come to lie.
class RangePlugin : public orc::ObjectLinkingLayer::Plugin {
public:
  explicit RangePlugin(std::vector<CodeRange> &ranges) : ranges(ranges) {}

  void modifyPassConfig(orc::MaterializationResponsibility &, llvm::jitlink::LinkGraph &,
                        llvm::jitlink::PassConfiguration &passes) override {
    passes.PostFixupPasses.push_back([this](llvm::jitlink::LinkGraph &graph) {
      for (llvm::jitlink::Symbol *symbol : graph.defined_symbols())
        if (symbol->isCallable() && symbol->hasName())
          ranges.push_back({(*symbol->getName()).str(), symbol->getAddress().getValue(),
                            uint64_t(symbol->getSize())});
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(orc::JITDylib &, orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib &, orc::ResourceKey, orc::ResourceKey) override {}

private:
  std::vector<CodeRange> &ranges;
};

/// Returns true if an object was compiled for profilers: with tables of lines.
bool hasLineTables(const std::string &object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (file)
    return llvm::any_of((*file)->sections(), [](const llvm::object::SectionRef &section) {
      return llvm::cantFail(section.getName()) == ".debug_line";
    });
  llvm::consumeError(file.takeError());
  return false;
}

class OrcLinker final : public CpuLinker {
public:
  explicit OrcLinker(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)), layer(session), host(session.createBareJITDylib("host")) {
    session.setErrorReporter(
        [this](llvm::Error error) { reported += llvm::toString(std::move(error)) + "; "; });
    llvm::cantFail(host.define(orc::absoluteSymbols(hostFunctions())));
    host.addGenerator(std::make_unique<MathLibraryGenerator>());
    layer.addPlugin(std::make_shared<RangePlugin>(ranges));
  }
  /// Opens perf's dump of code ("jitdump"), into which everything that is linked from now on goes.
  void startDump() {
    orc::JITDylib &dylib = session.createBareJITDylib("perf");
    auto functions = {
        std::pair("llvm_orc_registerJITLoaderPerfStart", &llvm_orc_registerJITLoaderPerfStart),
        std::pair("llvm_orc_registerJITLoaderPerfImpl", &llvm_orc_registerJITLoaderPerfImpl),
        std::pair("llvm_orc_registerJITLoaderPerfEnd", &llvm_orc_registerJITLoaderPerfEnd)};
    orc::SymbolMap symbols;
    for (auto [name, function] : functions)
      symbols[session.intern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                       llvm::JITSymbolFlags::Exported |
                                           llvm::JITSymbolFlags::Callable};
    llvm::cantFail(dylib.define(orc::absoluteSymbols(std::move(symbols))));
    auto plugin = orc::PerfSupportPlugin::Create(session.getExecutorProcessControl(), dylib,
                                                 /*EmitDebugInfo=*/true, /*EmitUnwindInfo=*/false);
    if (!plugin) { // the file cannot be written: kernels run without
      llvm::consumeError(plugin.takeError());
      return;
    }
    layer.addPlugin(std::make_shared<orc::DebugInfoPreservationPlugin>());
    layer.addPlugin(std::move(*plugin));
  }
  ~OrcLinker() override { llvm::consumeError(session.endSession()); }

  std::unique_ptr<LinkedCode> link(const std::string &object, const std::string &symbol,
                                   std::string &error) override;
  /// Takes no lock: it also runs when a link fails half way.
  void unload(orc::JITDylib &dylib) { llvm::consumeError(session.removeJITDylib(dylib)); }

private:
  orc::SymbolMap hostFunctions() {
    orc::SymbolMap symbols;
    auto add = [&](const char *name, auto *function) {
      symbols[session.intern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                       llvm::JITSymbolFlags::Exported |
                                           llvm::JITSymbolFlags::Callable};
    };
    for (const HostFunction *table : {narrowFloatFunctions(), emulatedMatrixFunctions()})
      for (const HostFunction *function = table; function->name; ++function)
        add(function->name, function->address);
    add("tw_poll", tw_poll);
    add("tw_device_print", tw_device_print);
    add("tw_device_assert", tw_device_assert);
    add("tw_device_assert_of", tw_device_assert_of);
    add("tw_device_outside", tw_device_outside);
    add("tw_device_gather", tw_device_gather);
    add("tw_device_clock", tw_device_clock);
    add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(memcpy));
    add("memmove", static_cast<void *(*)(void *, const void *, size_t)>(memmove));
    add("memset", static_cast<void *(*)(void *, int, size_t)>(memset));
    return symbols;
  }
  llvm::Expected<TwKernel> add(orc::JITDylib &dylib, const std::string &object,
                               const std::string &symbol);

  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  orc::JITDylib &host;
  std::mutex mutex;              // guards what follows, and with it one link at a time
  std::string reported;          // what the session said about the link that runs
  std::vector<CodeRange> ranges; // of the functions of that link
  uint64_t numLinked = 0;
  bool isDumping = false; // for perf
};

class OrcCode final : public LinkedCode {
public:
  OrcCode(std::shared_ptr<OrcLinker> linker, orc::JITDylib &dylib)
      : linker(std::move(linker)), dylib(dylib) {}
  ~OrcCode() override { linker->unload(dylib); }

private:
  std::shared_ptr<OrcLinker> linker;
  orc::JITDylib &dylib;
};

llvm::Expected<TwKernel> OrcLinker::add(orc::JITDylib &dylib, const std::string &object,
                                        const std::string &symbol) {
  dylib.addToLinkOrder(host);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, symbol);
  if (llvm::Error error = layer.add(dylib, std::move(buffer)))
    return std::move(error);
  auto found = session.lookup({&dylib}, session.intern(symbol));
  if (!found)
    return found.takeError();
  return found->getAddress().toPtr<TwKernel>();
}

std::unique_ptr<LinkedCode> OrcLinker::link(const std::string &object, const std::string &symbol,
                                            std::string &error) {
  std::lock_guard lock(mutex);
  reported.clear();
  ranges.clear();
  if (!isDumping && hasLineTables(object)) {
    isDumping = true;
    startDump();
  }
  orc::JITDylib &dylib = session.createBareJITDylib("kernel" + std::to_string(++numLinked));
  auto code =
      std::make_unique<OrcCode>(std::static_pointer_cast<OrcLinker>(shared_from_this()), dylib);
  llvm::Expected<TwKernel> entry = add(dylib, object, symbol);
  if (!entry) {
    error = reported + llvm::toString(entry.takeError());
    return nullptr; // `code` unloads what there is of it
  }
  code->entry = *entry;
  code->ranges = std::move(ranges);
  return code;
}
} // namespace

std::shared_ptr<CpuLinker> CpuLinker::create(std::string &error) {
  auto control = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (control)
    return std::make_shared<OrcLinker>(std::move(*control));
  error = llvm::toString(control.takeError());
  return nullptr;
}

bool tw::linksFunction(std::string_view name) {
  return name == "memcpy" || name == "memmove" || name == "memset" ||
         MathLibraries().find(std::string(name).c_str());
}
