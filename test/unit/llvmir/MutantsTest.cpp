// Compiled kernels with seeded faults: each is reported or computes wrong numbers. The kernels are
// what the compiler made of tutorials (test/golden/amdgcn); a mutant is one line changed.
#include "backend/warpsim/ImplicitParameters.h"
#include "backend/warpsim/Simulate.h"
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/llvmir/Import.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <regex>
#include <sstream>

using namespace tw::warpsim;

namespace {
/// An array as its element's bytes, or a scalar.
struct Bound {
  unsigned elementBytes; // 0: a scalar of 4 bytes
  size_t count;          // or the scalar's bits
  bool isOutput;
};
struct Kernel {
  std::string file, arch;
  std::array<uint32_t, 3> grid;
  std::vector<Bound> arguments;
  bool hasCopies = false;
};
struct Outcome {
  bool isImported = false, isReported = false;
  std::vector<float> numbers;
};
struct Mutant {
  std::string rule, text;
  int line;
};
} // namespace

static std::string readText(const std::string &file) {
  std::ifstream stream(std::string(TW_GOLDEN_AMDGCN) + "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

static float valueAt(const std::vector<uint8_t> &bytes, unsigned elementBytes, size_t i) {
  if (elementBytes == 2) {
    uint16_t half;
    memcpy(&half, &bytes[i * 2], 2);
    return floatFromHalf(half);
  }
  float value;
  memcpy(&value, &bytes[i * 4], 4);
  return value;
}

static std::vector<uint8_t> fill(const Bound &argument, std::mt19937 &random) {
  std::vector<uint8_t> bytes(argument.count * argument.elementBytes);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (size_t i = 0; i < argument.count && !argument.isOutput; ++i) {
    float value = numbers(random);
    uint16_t half = halfFromFloat(value);
    if (argument.elementBytes == 2)
      memcpy(&bytes[i * 2], &half, 2);
    else
      memcpy(&bytes[i * 4], &value, 4);
  }
  return bytes;
}

static Outcome runKernel(const Kernel &kernel, const std::string &text,
                         LaunchOptions::Completion completion = LaunchOptions::Completion::Late) {
  Outcome outcome;
  ImportError error;
  std::optional<Program> program = importAmdgcn(text, kernel.arch, error);
  if (!program)
    return outcome;
  outcome.isImported = true;
  const Function &entry = program->functions[0];
  Launch launch;
  launch.kernel = entry.name;
  launch.grid = kernel.grid;
  launch.block = entry.reqNtid;
  launch.dynamicSharedBytes = 48 << 10;
  launch.options.maxStepsPerWarp = 200'000;
  launch.options.completion = completion;
  launch.options.numThreads = 1;
  std::mt19937 random(7);
  std::vector<std::vector<uint8_t>> arrays;
  launch.parameters.assign(512, 0);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Bound &argument = kernel.arguments[i];
    uint64_t bits = argument.count;
    launch.allocationOfParameter.push_back(-1);
    if (argument.elementBytes) {
      arrays.push_back(fill(argument, random));
      bits = reinterpret_cast<uint64_t>(arrays.back().data());
      launch.allocationOfParameter.back() = int(launch.allocations.size());
      launch.allocations.push_back({"p" + std::to_string(i), bits, arrays.back().size()});
    }
    memcpy(&launch.parameters[entry.parameters[i].offset], &bits, entry.parameters[i].bytes);
  }
  addImplicitParameters(*program, launch);
  outcome.isReported = simulate(*program, launch).hasErrors();
  size_t array = 0;
  for (const Bound &argument : kernel.arguments) {
    if (!argument.elementBytes)
      continue;
    for (size_t i = 0; i < argument.count && argument.isOutput; ++i)
      outcome.numbers.push_back(valueAt(arrays[array], argument.elementBytes, i));
    ++array;
  }
  return outcome;
}

static bool isWrong(const Outcome &right, const Outcome &mutant) {
  for (size_t i = 0; i < right.numbers.size(); ++i)
    if (!(std::fabs(right.numbers[i] - mutant.numbers[i]) <=
          1e-3f * (1 + std::fabs(right.numbers[i]))))
      return true;
  return false;
}

/// A line that matches is replaced; an empty replacement drops it.
struct Rule {
  const char *name, *pattern, *replacement;
};
static constexpr Rule kRules[] = {
    {"fence dropped", R"(^  fence .*$)", ""},
    {"fence of global memory", R"(^(  fence .*), !mmra !\d+$)", "$1, !mmra !9999"},
    {"fence of another order", R"(^(  fence .*) release(.*)$)", "$1 acquire$2"},
    {"fence of another order", R"(^(  fence .*) acquire(.*)$)", "$1 release$2"},
    {"fence of a wave", R"(^(  fence syncscope\(")workgroup(.*)$)", "$1wavefront$2"},
    {"bounds of a buffer", R"(^(.*make\.buffer\.rsrc.*, i64 )4294967280(, .*)$)",
     "$01"
     "2147483652$2"},
    {"buffer's base off", R"(^(  %\d+ = getelementptr i8, .*, i64 )-2147483648$)",
     "$01"
     "-2147483632"},
    {"barrier dropped", R"(^  .*@llvm\.amdgcn\.s\.barrier\(\)$)", ""},
    {"another exchange", R"(^(.*update\.dpp.*, i32 )(177|78|27|321|296)(, i32 15.*)$)",
     "$01"
     "228$3"},
    {"another exchange", R"(^(.*ds\.swizzle.*), i32 16415\)(.*)$)", "$1, i32 8223)$2"},
    {"another exchange", R"(^(.*)permlanex16(.*)$)",
     "$01"
     "permlane16$2"},
    {"another lane", R"(^(  %\d+ = xor i32 %\d+, )128$)",
     "$01"
     "64"},
    {"operands swapped", R"(^(.*(?:mfma|wmma).*\()(<\d+ x half> %\d+), (<\d+ x half> %\d+)(.*)$)",
     "$1$3, $2$4"},
    {"accumulator lost", R"(^(.*(?:mfma|wmma).*)(<\d+ x float>) %\d+(.*)$)",
     "$1$2 zeroinitializer$3"},
    {"shared address off", R"(^(.*(?:load|store) .*)ptr addrspace\(3\) (%\d+)(,.*)$)",
     "  %mutant = getelementptr i8, ptr addrspace(3) $2, i32 32\n$1ptr addrspace(3) %mutant$3"},
    {"address off", R"(^(.*(?:load|store) .*)ptr addrspace\(1\) (%\d+)(,.*)$)",
     "  %mutant = getelementptr i8, ptr addrspace(1) $2, i64 32\n$1ptr addrspace(1) %mutant$3"},
    {"mask dropped", R"(^(  %[\w.]+ = icmp slt i32 %\d+, )%\d+$)",
     "$01"
     "2147483647"},
    {"mask dropped", R"(^(  %\d+ = select i1 )%\d+(, i32 %\d+, i32 -16)$)",
     "$01"
     "true$2"},
    {"buffer address off", R"(^(.*raw\.ptr\.buffer\..*, i32 %\d+), i32 0(, i32 0\).*)$)",
     "$1, i32 8$2"},
    {"mask turned", R"(^(  %[\w.]+ = icmp )slt( .*)$)", "$1sge$2"},
    {"transposed read dropped",
     R"(^(  %\d+ = )tail call (<4 x i16>) @llvm\.amdgcn\.ds\.read\.tr16\.b64\.v4i16\((.*)\)(.*)$)",
     "$1load $2, $3, align 8$4"},
    {"copy's place off",
     R"(^(.*load\.lds\(ptr addrspace\(8\) %\d+, )ptr addrspace\(3\) (%\d+)(, .*)$)",
     "  %mutant = getelementptr i8, ptr addrspace(3) $2, i32 1024\n$1ptr addrspace(3) %mutant$3"},
    {"lanes of a copy off", R"(^(.*load\.lds\(.*, i32 16, i32 )(%\d+)(, i32 %?-?\d+, i32 0, .*)$)",
     "  %mutant = xor i32 $2, 16\n$1%mutant$3"},
    {"copy not awaited", R"(^(.*s\.waitcnt\(i32 )3952(\).*)$)", ""},
    {"copy not awaited", R"(^(.*s\.waitcnt\(i32 )3952(\))$)",
     "$01"
     "3953$2"},
    {"copy not awaited", R"(^(.*s\.waitcnt\(i32 )3953(\))$)",
     "$01"
     "3954$2"},
};

static std::vector<Mutant> mutantsOf(const std::string &text) {
  std::vector<Mutant> mutants;
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  for (const Rule &rule : kRules) {
    std::regex pattern(rule.pattern);
    size_t numMatches = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      // Of long rows of alike lines, some.
      if (!std::regex_match(lines[i], pattern) || (numMatches++ >= 12 && numMatches % 8))
        continue;
      std::string changed;
      for (size_t k = 0; k < lines.size(); ++k)
        changed +=
            (k == i ? std::regex_replace(lines[k], pattern, rule.replacement) : lines[k]) + "\n";
      changed += "!9999 = !{!\"amdgpu-synchronize-as\", !\"global\"}\n";
      mutants.push_back({rule.name, changed, int(i) + 1});
    }
  }
  return mutants;
}

namespace {
struct Score {
  size_t numMutants = 0, numSilent = 0;
  std::map<std::string, std::vector<int>> missed; // lines by kernel and rule
};
} // namespace

static void judge(const Kernel &kernel, const std::string &text, Score &score) {
  Outcome right = runKernel(kernel, text);
  ASSERT_TRUE(right.isImported) << kernel.file;
  ASSERT_FALSE(right.isReported) << kernel.file;
  for (const Mutant &mutant : mutantsOf(text)) {
    Outcome outcome = runKernel(kernel, mutant.text);
    if (!outcome.isImported)
      continue; // not IR any more
    ++score.numMutants;
    bool wrong = isWrong(right, outcome);
    if (!outcome.isReported && !wrong)
      score.missed[kernel.file + ": " + mutant.rule].push_back(mutant.line);
    // Right by luck: everything that is under way arrives at once.
    if (outcome.isReported && wrong && kernel.hasCopies)
      wrong = isWrong(right, runKernel(kernel, mutant.text, LaunchOptions::Completion::Early));
    score.numSilent += outcome.isReported && !wrong;
  }
}

static const Bound kSource16 = {2, 112 * 112, false}, kTarget16 = {2, 112 * 80, true};

static Kernel matmul(const std::string &arch) {
  // [112, 112] by [112, 80] in tiles of 64 and steps of 32: masks decide at all edges.
  return {"matmul." + arch + ".ll",
          arch,
          {4, 1, 1},
          {kSource16,
           {2, 112 * 80, false},
           kTarget16,
           {0, 112, false},
           {0, 80, false},
           {0, 112, false},
           {0, 112, false},
           {0, 80, false},
           {0, 80, false}}};
}
static Kernel norm(const std::string &arch) {
  float eps = 1e-5f;
  uint32_t epsBits;
  memcpy(&epsBits, &eps, 4);
  return {"norm." + arch + ".ll",
          arch,
          {3, 1, 1},
          {{4, 3 * 400, false},
           {4, 400, false},
           {4, 400, false},
           {4, 3 * 400, true},
           {4, 3, true},
           {4, 3, true},
           {0, 400, false},
           {0, 400, false},
           {0, epsBits, false}},
          false};
}

/// Two buffers, filled by direct copies one step ahead; every lane reads what another wave copied.
static std::string pipelinedText() {
  std::string fenceIn = "  fence syncscope(\"workgroup\") release, !mmra !0\n",
              barrier = "  call void @llvm.amdgcn.s.barrier()\n",
              fenceOut = "  fence syncscope(\"workgroup\") acquire, !mmra !0\n", body;
  constexpr int kSteps = 5;
  auto copy = [&](int step) {
    std::string n = std::to_string(step);
    body += "  %i" + n + " = add i32 %tid, " + std::to_string(step * 128) + "\n  %s" + n +
            " = getelementptr i32, ptr addrspace(1) %0, i32 %i" + n +
            "\n  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %s" + n +
            ", ptr addrspace(3) %b" + std::to_string(step % 2) + ", i32 4, i32 0, i32 0)\n";
  };
  copy(0);
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps)
      copy(step + 1);
    std::string n = std::to_string(step), buffer = std::to_string(step % 2);
    body += "  call void @llvm.amdgcn.s.waitcnt(i32 " +
            std::string(step + 1 < kSteps ? "3953" : "3952") + ")\n" + fenceIn + barrier +
            fenceOut + "  %r" + n + " = getelementptr i32, ptr addrspace(3) %o" + buffer +
            ", i32 0\n  %v" + n + " = load float, ptr addrspace(3) %r" + n + ", align 4\n  %a" +
            std::to_string(step + 1) + " = fadd float %a" + n + ", %v" + n + "\n";
    if (step + 2 < kSteps) // the next copy but one overwrites what was read
      body += fenceIn + barrier + fenceOut;
  }
  return "target triple = \"amdgcn-amd-amdhsa\"\n@lds = external addrspace(3) global [0 x i32], "
         "align "
         "16\ndefine amdgpu_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {\n"
         "  %tid = call i32 @llvm.amdgcn.workitem.id.x()\n  %wave = and i32 %tid, 64\n"
         "  %b0 = getelementptr i32, ptr addrspace(3) @lds, i32 %wave\n"
         "  %b1 = getelementptr i32, ptr addrspace(3) %b0, i32 128\n  %other = xor i32 %tid, 65\n"
         "  %o0 = getelementptr i32, ptr addrspace(3) @lds, i32 %other\n"
         "  %o1 = getelementptr i32, ptr addrspace(3) %o0, i32 128\n  %a0 = fadd float 0.0, 0.0\n" +
         body + "  %d = getelementptr i32, ptr addrspace(1) %1, i32 %tid\n  store float %a" +
         std::to_string(kSteps) +
         ", ptr addrspace(1) %d, align 4\n  ret void\n}\n"
         "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"128,128\" }\n"
         "!0 = !{!\"amdgpu-synchronize-as\", !\"local\"}\n";
}

/// How many mutants of a rule change nothing that can be seen, and why.
static const std::map<std::string, size_t> kHarmless = {
    // Rows beyond the last are computed from whatever is read, and not stored; one comparison is
    // for an overflow that no launch has.
    {"matmul.gfx942.ll: mask dropped", 2},
    {"matmul.gfx942.ll: mask turned", 1},
    {"matmul.gfx1100.ll: mask dropped", 6},
    {"matmul.gfx1100.ll: mask turned", 1},
    // The upper half of the last step is zeros times zeros.
    {"matmul.gfx1100.ll: operands swapped", 4},
    {"matmul.gfx1100.ll: shared address off", 4},
    {"matmul.gfx1100.ll: address off", 1},
    // Columns beyond the last, and the zeros behind the last step, as above; of offsets that 32
    // bits
    // do not hold there are none; there is one pair of iterations, which begins with sums of zero.
    // The wait behind the loop finds no copy that another has not waited for.
    {"matmul.gfx950.ll: mask dropped", 6},
    {"matmul.gfx950.ll: mask turned", 9},
    {"matmul.gfx950.ll: accumulator lost", 1},
    {"matmul.gfx950.ll: operands swapped", 1},
    {"matmul.gfx950.ll: shared address off", 1},
    {"matmul.gfx950.ll: copy not awaited", 2},
    // The first columns exist in every row, and all lanes would store the same sum. Lanes whose
    // numbers differ in bits 0 to 2 have what those have that differ in bit 2 only, by then.
    {"norm.gfx942.ll: mask dropped", 1},
    {"norm.gfx942.ll: another exchange", 2},
    {"norm.gfx1100.ll: mask dropped", 10},
};

TEST(Mutants, EachIsReportedOrWrong) {
  Score score;
  for (const char *arch : {"gfx942", "gfx1100"})
    for (const Kernel &kernel : {matmul(arch), norm(arch)})
      judge(kernel, readText(kernel.file), score);
  Kernel copying = matmul("gfx950");
  copying.hasCopies = true;
  judge(copying, readText(copying.file), score);
  judge({"pipelined", "gfx950", {1, 1, 1}, {{4, 5 * 128, false}, {4, 128, true}}, true},
        pipelinedText(), score);
  for (const auto &[mutant, lines] : score.missed)
    if (auto found = kHarmless.find(mutant);
        found == kHarmless.end() || lines.size() > found->second)
      ADD_FAILURE() << mutant << ", lines " << ::testing::PrintToString(lines);
  EXPECT_GE(score.numMutants, 80u);
  EXPECT_GE(score.numSilent, 25u);
  RecordProperty("mutants", int(score.numMutants));
  RecordProperty("silent", int(score.numSilent));
  printf("%zu mutants, of which %zu compute right numbers where all arrives at once\n",
         score.numMutants, score.numSilent);
}
