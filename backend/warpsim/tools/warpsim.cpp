// The command `warpsim`: runs a kernel from a file of PTX or of LLVM IR on made-up arguments and
// reports.
#include "backend/warpsim/ImplicitParameters.h"
#include "backend/warpsim/device/Simulate.h"
#include "backend/warpsim/llvmir/Import.h"
#include "backend/warpsim/ptx/Parse.h"
#include "backend/warpsim/tools/Arguments.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace tw::warpsim;

static const char kUsage[] =
    "warpsim run FILE.ptx | FILE.ll --arch gfx942 [--kernel NAME] [--grid X,Y,Z] [--block X,Y,Z] "
    "[--smem BYTES]\n"
    "            [--arg f32[1024]=random | i32=5 | i32[8]=random:10 | 'const f16[64]=iota'\n"
    "             | 'map=0,2;64,128;256;64,8;128']...\n"
    "            [--sched rr|greedy|reverse|random:SEED] [--ctas 0,5,last] [--threads N]\n"
    "            [--completion late|early|random:SEED] [--exact]\n"
    "            [--seed N] [--max-steps N] [--max-cta-steps N] [--max-launch-steps N] [--print N] "
    "[--no-races] [--json] [--time]\n"
    "Exit status: 0 nothing wrong, 1 findings, 2 the command or the file is.\n";

namespace {
struct Command {
  std::string file, kernel, ctas, arch;
  Launch launch;
  std::vector<std::string> argumentTexts;
  uint64_t seed = 0, numPrinted = 0;
  bool hasBlock = false, asJson = false, showsTime = false;
};
} // namespace

static int fail(const std::string &message) {
  fprintf(stderr, "warpsim: %s\n", message.c_str());
  return 2;
}

static bool parseNumber(const std::string &text, uint64_t &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

static std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

static bool parseExtents(const std::string &text, std::array<uint32_t, 3> &extents) {
  std::vector<std::string> parts = splitAtCommas(text);
  extents = {1, 1, 1};
  if (parts.empty() || parts.size() > 3)
    return false;
  for (size_t axis = 0; axis < parts.size(); ++axis) {
    uint64_t value = 0;
    if (!parseNumber(parts[axis], value) || value > 0xffffffff)
      return false;
    extents[axis] = uint32_t(value);
  }
  return true;
}

static bool parseSchedule(const std::string &text, LaunchOptions &options) {
  using Schedule = LaunchOptions::Schedule;
  if (text == "rr")
    options.schedule = Schedule::RoundRobin;
  else if (text == "greedy")
    options.schedule = Schedule::Greedy;
  else if (text == "reverse")
    options.schedule = Schedule::Reverse;
  else if (text.starts_with("random:") && parseNumber(text.substr(7), options.seed))
    options.schedule = Schedule::Random;
  else
    return false;
  return true;
}

static bool parseCompletion(const std::string &text, LaunchOptions &options) {
  using Completion = LaunchOptions::Completion;
  if (text == "late")
    options.completion = Completion::Late;
  else if (text == "early")
    options.completion = Completion::Early;
  else if (text.starts_with("random:") && parseNumber(text.substr(7), options.completionSeed))
    options.completion = Completion::Random;
  else
    return false;
  return true;
}

/// An option with a value; false when the value is not one.
/// Sets an option that is a number; false where it takes something else.
static bool setNumber(Command &command, const std::string &option, uint64_t number) {
  LaunchOptions &options = command.launch.options;
  if (option == "--smem")
    command.launch.dynamicSharedBytes = uint32_t(std::min<uint64_t>(number, 0x7fffffff));
  else if (option == "--threads")
    options.numThreads = unsigned(number);
  else if (option == "--seed")
    command.seed = number;
  else if (option == "--print")
    command.numPrinted = number;
  else if (option == "--max-steps")
    options.maxStepsPerWarp = number;
  else if (option == "--max-cta-steps")
    options.maxStepsPerCta = number;
  else if (option == "--max-launch-steps")
    options.maxStepsPerLaunch = number;
  else
    return false;
  return true;
}

/// Sets an option that is any text; false where it takes something else.
static bool setText(Command &command, const std::string &option, const std::string &value) {
  if (option == "--kernel")
    command.kernel = value;
  else if (option == "--arch")
    command.arch = value;
  else if (option == "--arg")
    command.argumentTexts.push_back(value);
  else if (option == "--ctas")
    command.ctas = value;
  else
    return false;
  return true;
}

static bool readOption(Command &command, const std::string &option, const std::string &value) {
  if (setText(command, option, value))
    return true;
  if (option == "--grid")
    return parseExtents(value, command.launch.grid);
  if (option == "--block")
    return command.hasBlock = parseExtents(value, command.launch.block);
  if (option == "--sched")
    return parseSchedule(value, command.launch.options);
  if (option == "--completion")
    return parseCompletion(value, command.launch.options);
  uint64_t number = 0;
  bool isNumber = parseNumber(value, number);
  return setNumber(command, option, number) && isNumber;
}

static bool readCommand(int argc, char **argv, Command &command) {
  if (argc < 3 || strcmp(argv[1], "run") != 0)
    return false;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--json")
      command.asJson = true;
    else if (word == "--time")
      command.showsTime = true;
    else if (word == "--exact")
      command.launch.options.arithmetic = LaunchOptions::Arithmetic::Exact;
    else if (word == "--no-races")
      command.launch.options.checksRaces = false;
    else if (!word.starts_with("--") && command.file.empty())
      command.file = word;
    else if (i + 1 >= argc || !readOption(command, word, argv[++i]))
      return false;
  }
  return !command.file.empty();
}

static bool chooseCtas(Command &command) {
  const auto &grid = command.launch.grid;
  uint64_t count = uint64_t(grid[0]) * grid[1] * grid[2];
  for (const std::string &part : splitAtCommas(command.ctas)) {
    uint64_t number = count - 1;
    if (part != "last" && !parseNumber(part, number))
      return false;
    command.launch.options.ctas.push_back(number);
  }
  return true;
}

/// Gives a parameter the argument's bits, and the kernel the memory that it is the address of.
static void bind(Launch &launch, const Function &kernel, size_t index, const Argument &argument) {
  const Parameter &parameter = kernel.parameters[index];
  uint64_t bits =
      argument.isArray ? reinterpret_cast<uint64_t>(argument.data) : argument.scalarBits;
  memcpy(launch.parameters.data() + parameter.offset, &bits,
         std::min<size_t>(parameter.bytes, sizeof(bits)));
  if (!argument.isArray)
    return;
  launch.allocationOfParameter[index] = int(launch.allocations.size());
  launch.allocations.push_back({parameter.name, bits, argument.bytes(), argument.isReadOnly});
}

/// Passes a tensor map of an array by value.
static bool bindMap(Launch &launch, const Function &kernel, size_t index, const std::string &text,
                    const std::vector<Argument> &arguments, std::string &error) {
  MapArgument argument;
  if (!parseMap(text, argument, error))
    return false;
  const Parameter &parameter = kernel.parameters[index];
  if (argument.array >= arguments.size() || !arguments[argument.array].isArray ||
      parameter.bytes != sizeof(encode(argument.map))) {
    error = "a map describes an array before it, and is passed where the kernel takes 128 bytes";
    return false;
  }
  argument.map.base = reinterpret_cast<uint64_t>(arguments[argument.array].data);
  std::array<uint8_t, 128> bytes = encode(argument.map);
  memcpy(launch.parameters.data() + parameter.offset, bytes.data(), bytes.size());
  return true;
}

static bool bindArguments(const Function &kernel, Command &command,
                          std::vector<Argument> &arguments, std::string &error) {
  Launch &launch = command.launch;
  if (kernel.parameters.size() != command.argumentTexts.size()) {
    error = "kernel " + kernel.name + " takes " + std::to_string(kernel.parameters.size()) +
            " arguments, " + std::to_string(command.argumentTexts.size()) + " were given";
    return false;
  }
  uint32_t size = 0;
  for (const Parameter &parameter : kernel.parameters)
    size = std::max(size, parameter.offset + parameter.bytes);
  launch.parameters.assign(size, 0);
  launch.allocationOfParameter.assign(kernel.parameters.size(), -1);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (isMapText(command.argumentTexts[i])) {
      if (!bindMap(launch, kernel, i, command.argumentTexts[i], arguments, error))
        return false;
      continue;
    }
    Argument argument;
    if (!parseArgument(command.argumentTexts[i], command.seed + i, argument, error))
      return false;
    bind(launch, kernel, i, argument);
    arguments.push_back(std::move(argument));
  }
  return true;
}

static void printArrays(const Command &command, const Function &kernel,
                        const std::vector<Argument> &arguments) {
  for (size_t i = 0; command.numPrinted && i < arguments.size(); ++i) {
    if (!arguments[i].isArray)
      continue;
    printf("%s:", kernel.parameters[i].name.c_str());
    for (uint64_t k = 0; k < std::min(command.numPrinted, arguments[i].numElements); ++k)
      printf(" %.9g", arguments[i].element(k));
    printf("\n");
  }
}

/// The kernel asked for, or the only one.
static const Function *chooseKernel(const Program &program, const std::string &name) {
  if (!name.empty())
    return program.findKernel(name);
  const Function *chosen = nullptr;
  for (const Function &function : program.functions) {
    if (!function.isKernel)
      continue;
    if (chosen)
      return nullptr;
    chosen = &function;
  }
  return chosen;
}

/// LLVM IR where an architecture is named for it, else PTX.
static std::optional<Program> readProgram(const Command &command, const std::string &text,
                                          std::string &error) {
  ParseError refusal;
  ImportError importRefusal;
  std::optional<Program> program = command.arch.empty()
                                       ? parsePtx(text, refusal)
                                       : importAmdgcn(text, command.arch, importRefusal);
  if (!program && command.arch.empty())
    error = command.file + ":" + std::to_string(refusal.line) + ": " + refusal.message;
  else if (!program)
    error = command.file + ": cannot be executed: " + importRefusal.message;
  return program;
}

static int run(Command &command) {
  std::ifstream input(command.file, std::ios::binary);
  std::stringstream text;
  text << input.rdbuf();
  if (!input)
    return fail("cannot read " + command.file);
  std::string error;
  std::optional<Program> program = readProgram(command, text.str(), error);
  if (!program)
    return fail(error);
  const Function *kernel = chooseKernel(*program, command.kernel);
  if (!kernel)
    return fail("no such kernel, or several: name one with --kernel");
  command.launch.kernel = kernel->name;
  if (!command.hasBlock && kernel->reqNtid[0])
    command.launch.block = kernel->reqNtid;
  std::vector<Argument> arguments;
  if (!bindArguments(*kernel, command, arguments, error))
    return fail(error);
  addImplicitParameters(*program, command.launch);
  if (!chooseCtas(command))
    return fail("--ctas takes numbers and `last`");
  if (std::string obstacle = findObstacle(*program, command.launch); !obstacle.empty())
    return fail(command.file + " cannot be launched: " + obstacle);
  auto start = std::chrono::steady_clock::now();
  SimulationReport report = simulate(*program, command.launch);
  std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  std::string shown = command.asJson ? report.json(*program) + "\n" : report.text(*program);
  fputs(shown.c_str(), stdout);
  if (command.showsTime)
    printf("%.1f us, %.1f ns a warp instruction\n", elapsed.count(),
           elapsed.count() * 1000 /
               double(std::max<uint64_t>(1, report.statistics.warpInstructions)));
  printArrays(command, *kernel, arguments);
  return report.hasErrors() ? 1 : 0;
}

int main(int argc, char **argv) {
  Command command;
  if (readCommand(argc, argv, command))
    return run(command);
  fputs(kUsage, stderr);
  return 2;
}
