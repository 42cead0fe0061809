// Python's view of compilation: kernel sources, specializations, compile and inspect.
#include "backend/api/Language.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/Interpreter.h"
#include <mutex>
#include <optional>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace tw;

namespace {

/// Calls a Python evaluator from the compiler. The compiler is built without exceptions, so
/// whatever Python raises (KeyboardInterrupt, too) is kept here, answered as an error and raised
/// afterwards.
class PythonEvaluator {
public:
  explicit PythonEvaluator(py::function function) : function(std::move(function)) {}

  std::string operator()(const std::string &request) {
    python::InterpreterLock lock;
    if (pending || PyErr_Occurred()) // a signal's handler has raised since
      return R"({"error": "the evaluation was interrupted"})";
    try {
      return py::cast<std::string>(function(request));
    } catch (py::error_already_set &raised) {
      pending.emplace(std::move(raised));
    } catch (py::cast_error &) {
      return R"({"error": "the evaluator answered with something other than text"})";
    }
    return R"({"error": "the evaluation was interrupted"})";
  }

  void raisePending() {
    if (PyErr_Occurred())
      throw py::error_already_set();
    if (pending)
      throw py::error_already_set(std::move(*pending));
  }

private:
  py::function function;
  std::optional<py::error_already_set> pending;
};

} // namespace

static Specialization makeSpecialization(std::vector<ArgumentSpec> arguments, int numWarps,
                                         int numStages, bool debug, std::string extra) {
  Specialization specialization;
  specialization.arguments = std::move(arguments);
  specialization.options.numWarps = numWarps;
  specialization.options.numStages = numStages;
  specialization.options.debug = debug;
  specialization.options.extra = std::move(extra);
  return specialization;
}

static ArgumentSpec makeConstexpr(std::string name, std::string json) {
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::Constexpr;
  spec.name = std::move(name);
  spec.constexprJson = std::move(json);
  return spec;
}

/// `facts` are the truth values of those that `argument_facts` lists for this kind of argument.
static ArgumentSpec makeArgument(ArgumentSpec::Kind kind, std::string name, std::string type,
                                 int64_t divisibility, const py::kwargs &facts) {
  ArgumentSpec spec;
  spec.kind = kind;
  spec.name = std::move(name);
  spec.type = std::move(type);
  spec.divisibility = divisibility;
  size_t numTaken = 0;
  for (const ArgumentFact &fact : kArgumentFacts)
    if (fact.kind == kind && facts.contains(fact.name)) {
      spec.*fact.value = py::cast<bool>(facts[fact.name]);
      ++numTaken;
    }
  if (numTaken != facts.size())
    throw py::type_error("a fact that arguments of this kind do not have");
  return spec;
}

static ArgumentSpec makeScalar(std::string name, std::string type, int64_t divisibility,
                               std::optional<int64_t> equals, const py::kwargs &facts) {
  ArgumentSpec spec = makeArgument(ArgumentSpec::Kind::Scalar, std::move(name), std::move(type),
                                   divisibility, facts);
  spec.equals = equals;
  return spec;
}

static ArgumentSpec makePointer(std::string name, std::string pointee, int64_t divisibility,
                                const py::kwargs &facts) {
  return makeArgument(ArgumentSpec::Kind::Pointer, std::move(name), std::move(pointee),
                      divisibility, facts);
}

static py::list toList(const std::vector<api::Report> &reports) {
  py::list list;
  for (const api::Report &report : reports)
    list.append(python::toDict(report));
  return list;
}

static DebugSettings makeDebugSettings(std::string dumpDirectory, std::string overrideDirectory,
                                       bool collectsRemarks, bool printsLocations,
                                       bool timesPasses) {
  DebugSettings debug;
  debug.dumpDirectory = std::move(dumpDirectory);
  debug.overrideDirectory = std::move(overrideDirectory);
  debug.collectsRemarks = collectsRemarks;
  debug.printsLocations = printsLocations;
  debug.timesPasses = timesPasses;
  return debug;
}

static py::tuple compileKernel(const api::KernelSource &source,
                               const Specialization &specialization, const std::string &target,
                               py::function evaluate, const std::string &cacheDirectory,
                               bool cacheEnabled, const DebugSettings &debug) {
  PythonEvaluator evaluator(std::move(evaluate));
  api::CompileResult result;
  python::withoutLock([&] {
    result = api::compile(source, specialization, target, std::ref(evaluator),
                          api::CacheSettings{cacheDirectory, cacheEnabled}, debug);
  });
  evaluator.raisePending();
  py::object kernel = py::none();
  if (result.kernel)
    kernel = py::cast(std::make_shared<python::Kernel>(result.kernel));
  return py::make_tuple(kernel, toList(result.reports));
}

/// Without the lock of the interpreter: another thread may be compiling the same kernel.
static py::object findKernel(const std::string &meaning, const std::string &exact,
                             const Specialization &specialization, const std::string &target,
                             const std::string &cacheDirectory, bool cacheEnabled) {
  std::shared_ptr<api::CompiledKernel> kernel;
  python::withoutLock([&] {
    kernel = api::find({meaning, exact}, specialization, target,
                       api::CacheSettings{cacheDirectory, cacheEnabled});
  });
  if (PyErr_Occurred()) // a signal's handler has raised while another thread made the kernel
    throw py::error_already_set();
  if (!kernel)
    return py::none();
  return py::cast(std::make_shared<python::Kernel>(std::move(kernel)));
}

/// (key, content, reports) of a kernel that another process unpacks.
static py::tuple packKernel(const api::KernelSource &source, const Specialization &specialization,
                            const std::string &target, py::function evaluate) {
  PythonEvaluator evaluator(std::move(evaluate));
  api::PackedKernel packed;
  python::withoutLock(
      [&] { packed = api::pack(source, specialization, target, std::ref(evaluator)); });
  evaluator.raisePending();
  return py::make_tuple(packed.key, py::bytes(packed.content), toList(packed.reports));
}

static py::object unpackKernel(const std::string &meaning, const std::string &exact,
                               const Specialization &specialization, const std::string &target,
                               const std::string &key, const py::bytes &content,
                               const std::string &cacheDirectory, bool cacheEnabled) {
  const std::string bytes = content;
  std::shared_ptr<api::CompiledKernel> kernel;
  python::withoutLock([&] {
    kernel = api::unpack({meaning, exact}, specialization, target, key, bytes,
                         api::CacheSettings{cacheDirectory, cacheEnabled});
  });
  if (PyErr_Occurred()) // as for `find`
    throw py::error_already_set();
  if (!kernel)
    return py::none();
  return py::cast(std::make_shared<python::Kernel>(std::move(kernel)));
}

static py::object readRecord(const std::string &cacheDirectory, const std::string &key) {
  std::optional<std::string> content = api::readRecord(key, api::CacheSettings{cacheDirectory});
  return content ? py::object(py::bytes(*content)) : py::none();
}

/// Returns what an entry of the cache says of its kernel (JSON), or None where it is not whole.
static py::object describeStored(const std::string &key, const py::bytes &file) {
  std::optional<std::string> text = api::describeStored(key, file);
  return text ? py::object(py::str(*text)) : py::none();
}

static void writeRecord(const std::string &cacheDirectory, const std::string &key,
                        const py::bytes &content) {
  api::writeRecord(key, content, api::CacheSettings{cacheDirectory});
}

static py::tuple inspectKernel(const api::KernelSource &source,
                               const Specialization &specialization, const std::string &target,
                               const std::string &stage, py::function evaluate,
                               const DebugSettings &debug) {
  PythonEvaluator evaluator(std::move(evaluate));
  std::string text;
  api::CompileResult result;
  python::withoutLock([&] {
    result = api::inspect(source, specialization, target, stage, std::ref(evaluator), text, debug);
  });
  evaluator.raisePending();
  if (stage == "object" || stage == "cubin" || stage == "hsaco")
    return py::make_tuple(py::bytes(text), toList(result.reports));
  return py::make_tuple(text, toList(result.reports));
}

static const char *nameOf(api::Origin origin) {
  switch (origin) {
  case api::Origin::Compiled:
    return "compiled";
  case api::Origin::Disk:
    return "disk";
  case api::Origin::Memory:
    return "memory";
  }
  return "compiled";
}

static py::list describeParameters(const python::Kernel &kernel) {
  py::list list;
  for (const ArtifactParameter &parameter : kernel.compiled->artifact.parameters)
    list.append(
        py::make_tuple(parameter.name, parameter.type, parameter.isStored, parameter.sourceIndex));
  return list;
}

/// A factor, and the numbers of the parameters that are multiplied by it, for each product.
static py::list describeProducts(const std::vector<LaunchProduct> &products) {
  py::list list;
  for (const LaunchProduct &product : products)
    list.append(py::make_tuple(product.factor, product.parameters));
  return list;
}

/// How launches fill in what the kernel gets behind its parameters: TensorMapRecipe, as dicts.
static py::list describeTensorMaps(const python::Kernel &kernel) {
  py::list list;
  for (const TensorMapRecipe &recipe : kernel.compiled->artifact.tensorMaps) {
    py::dict entry;
    entry["parameter"] = recipe.parameter;
    entry["element"] = uint32_t(recipe.element);
    entry["element_bytes"] = mapElementBytes(recipe.element);
    entry["extents"] = describeProducts(recipe.extents);
    entry["strides"] = describeProducts(recipe.strides);
    entry["box"] = recipe.box;
    entry["span_bytes"] = recipe.spanBytes;
    list.append(std::move(entry));
  }
  return list;
}

/// The positions in the Python signature of the arrays that the kernel both reads and writes.
static py::list findUpdated(const python::Kernel &kernel) {
  py::list list;
  for (const ArtifactParameter &parameter : kernel.compiled->artifact.parameters)
    if (parameter.isStored && parameter.isLoaded)
      list.append(parameter.sourceIndex);
  return list;
}

/// Name, address and bytes of each function that the kernel has in this process's memory.
static py::list describeCodeRanges(const python::Kernel &kernel) {
  py::list list;
  for (const CodeRange &range : kernel.compiled->loaded->codeRanges())
    list.append(py::make_tuple(range.name, range.address, range.bytes));
  return list;
}

static void defineKernel(py::module_ &module) {
  using python::Kernel;
  py::class_<Kernel, std::shared_ptr<Kernel>>(module, "Kernel")
      .def_property_readonly("key", [](const Kernel &kernel) { return kernel.compiled->key; })
      .def_property_readonly("origin",
                             [](const Kernel &kernel) { return nameOf(kernel.compiled->origin); })
      .def_property_readonly("target",
                             [](const Kernel &kernel) { return kernel.compiled->artifact.target; })
      .def_property_readonly("symbol",
                             [](const Kernel &kernel) { return kernel.compiled->artifact.symbol; })
      .def_property_readonly(
          "binary",
          [](const Kernel &kernel) { return py::bytes(kernel.compiled->artifact.binary); })
      .def_property_readonly(
          "assembler", [](const Kernel &kernel) { return kernel.compiled->artifact.assembler; })
      .def_property_readonly(
          "assembled",
          [](const Kernel &kernel) { return py::bytes(kernel.compiled->artifact.assembled); })
      .def_property_readonly(
          "build_options",
          [](const Kernel &kernel) { return kernel.compiled->artifact.buildOptions; })
      .def_property_readonly(
          "resources", [](const Kernel &kernel) { return kernel.compiled->artifact.resources; })
      .def_property_readonly("parameters", &describeParameters)
      .def_property_readonly("tensor_maps", &describeTensorMaps)
      .def_property_readonly("updated", &findUpdated)
      .def_property_readonly(
          "scratch_bytes",
          [](const Kernel &kernel) { return kernel.compiled->artifact.scratchBytes; })
      .def_property_readonly(
          "code_bytes", [](const Kernel &kernel) { return kernel.compiled->artifact.codeBytes; })
      .def_property_readonly("code_ranges", &describeCodeRanges)
      .def_property_readonly(
          "needs_memory",
          [](const python::Kernel &kernel) { return kernel.compiled->loaded->needsMemory(); })
      .def_property_readonly("milliseconds", [](const Kernel &kernel) {
        return kernel.compiled->artifact.milliseconds;
      });
}

void python::defineCompiler(py::module_ &module) {
  py::class_<api::KernelSource>(module, "KernelSource")
      .def(py::init<std::string>(), py::arg("json"))
      .def(py::init([](std::string json, std::string meaning, std::string exact) {
             return api::KernelSource(std::move(json), {std::move(meaning), std::move(exact)});
           }),
           py::arg("json"), py::arg("meaning"), py::arg("exact"))
      .def_property_readonly("json", &api::KernelSource::json)
      .def_property_readonly("digest", &api::KernelSource::digest);
  py::class_<ArgumentSpec>(module, "ArgumentSpec")
      .def_static("constexpr", &makeConstexpr, py::arg("name"), py::arg("json"))
      .def_static("scalar", &makeScalar, py::arg("name"), py::arg("type"), py::arg("divisibility"),
                  py::arg("equals") = py::none())
      .def_static("pointer", &makePointer, py::arg("name"), py::arg("pointee"),
                  py::arg("divisibility"));
  py::class_<Specialization>(module, "Specialization")
      .def(py::init(&makeSpecialization), py::arg("arguments"), py::arg("num_warps"),
           py::arg("num_stages"), py::arg("debug"), py::arg("extra"));
  py::class_<DebugSettings>(module, "DebugSettings")
      .def(py::init(&makeDebugSettings), py::arg("dump_directory"), py::arg("override_directory"),
           py::arg("collects_remarks"), py::arg("prints_locations") = false,
           py::arg("times_passes") = false);
  defineKernel(module);
  module.def("compile", &compileKernel, py::arg("source"), py::arg("specialization"),
             py::arg("target"), py::arg("evaluator"), py::arg("cache_directory"),
             py::arg("cache_enabled"), py::arg("debug") = DebugSettings());
  module.def("find", &findKernel, py::arg("meaning"), py::arg("exact"), py::arg("specialization"),
             py::arg("target"), py::arg("cache_directory"), py::arg("cache_enabled"));
  module.def("pack", &packKernel, py::arg("source"), py::arg("specialization"), py::arg("target"),
             py::arg("evaluator"));
  module.def("unpack", &unpackKernel, py::arg("meaning"), py::arg("exact"),
             py::arg("specialization"), py::arg("target"), py::arg("key"), py::arg("content"),
             py::arg("cache_directory"), py::arg("cache_enabled"));
  module.def("builtin_signatures", &api::builtinSignatures);
  module.def("read_record", &readRecord, py::arg("cache_directory"), py::arg("key"));
  module.def("write_record", &writeRecord, py::arg("cache_directory"), py::arg("key"),
             py::arg("content"));
  // Bytes: a directory's name need not be text.
  module.def("take_damaged_entries", [] {
    py::list problems;
    for (const std::string &problem : api::takeDamagedEntries())
      problems.append(py::bytes(problem));
    return problems;
  });
  module.def(
      "set_cache_layers",
      [](const std::vector<py::bytes> &directories) {
        return api::setCacheLayers({directories.begin(), directories.end()});
      },
      py::arg("directories"));
  module.def("describe_stored", &describeStored, py::arg("key"), py::arg("file"));
  module.def("inspect", &inspectKernel, py::arg("source"), py::arg("specialization"),
             py::arg("target"), py::arg("stage"), py::arg("evaluator"),
             py::arg("debug") = DebugSettings());
}
