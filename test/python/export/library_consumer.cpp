// A program that compiles kernels while it runs: `library_consumer DIRECTORY [TEST ASSEMBLER...]`,
// where the directory has their source buffers. Prints "passed", or what is wrong.
#include "driver.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <tilewright/tilewright.h>

using tilewright::Argument;
using tilewright::Kernel;
using tilewright::Status;

static std::string folder;

static void check(bool holds, const std::string &what) {
  if (!holds) {
    printf("wrong: %s\n", what.c_str());
    exit(1);
  }
}

static Kernel load(const std::string &name) {
  std::ifstream file(folder + "/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return Kernel(text.str(), {folder + "/cache"});
}

static void checkScaled(const std::vector<float> &x, const std::vector<float> &y, int n, float by) {
  for (int i = 0; i < n; ++i)
    check(y[i] == by * x[i], "element " + std::to_string(i));
}

static void scaleOn(Kernel &kernel, const std::string &device, int n, float by) {
  std::vector<float> x(n), y(n, -1.0f);
  for (int i = 0; i < n; ++i)
    x[i] = float(i % 31 - 15);
  Status done = kernel.launch(
      {(n + 63) / 64},
      {{static_cast<const float *>(x.data()), x.size()}, {y.data(), y.size()}, n, by}, {device});
  check(bool(done), done.text());
  checkScaled(x, y, n, by);
}

static void testScale() {
  Kernel kernel = load("scale");
  check(bool(kernel.status()), kernel.status().text());
  check(kernel.name() == "scale" && kernel.parameters().size() == 5, "the signature");
  for (const char *device : {"cpu", "reference", "sim:sm_80"})
    for (int n : {1, 1000, 1024})
      scaleOn(kernel, device, n, 2.5f);
}

static void testThreads() {
  Kernel kernel = load("scale");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&kernel, t] {
      for (int i = 0; i < 50; ++i)
        scaleOn(kernel, "cpu", 100 + t + 16 * (i % 5), float(t));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Specializations that test_export_cmake.py compares with those that Python makes of the same
/// values.
static void testFacts() {
  Kernel kernel = load("scale");
  alignas(16) static float x[8] = {}, y[8] = {};
  auto prepare = [&](float *first, Argument n) {
    Status done = kernel.prepare({{first, 4}, {y, 4}, n, 1.0f}, {"reference"});
    check(bool(done), done.text());
  };
  for (int n : {0, 1, 3, 16, -1, -16, INT32_MAX, INT32_MIN})
    prepare(x, n);
  for (int64_t n : {INT64_C(1) << 31, -(INT64_C(1) << 31) - 1, INT64_MAX, INT64_MIN})
    prepare(x, n);
  for (uint64_t n : {UINT64_C(1) << 63, UINT64_MAX})
    prepare(x, n);
  prepare(x + 1, 3);
  prepare(y, 3);
  prepare(y + 2, 3);
}

static void checkError(const Status &status, const std::string &code, const std::string &words) {
  check(!status && status.reports.back().code.rfind(code, 0) == 0 &&
            status.text().find(words) != std::string::npos,
        code + " " + words + ", not " + status.text());
}

/// 1, 2, -3 and 0.5 as codes of 8 bits with three and with two bits of mantissa, without -0.
static void testNarrowFloats() {
  using tilewright::Type;
  Kernel kernel = load("scale");
  struct {
    Type type;
    unsigned char codes[4];
  } rows[] = {{Type::Float8E4M3FNUZ, {0x40, 0x48, 0xCC, 0x38}},
              {Type::Float8E5M2FNUZ, {0x40, 0x44, 0xC6, 0x3C}}};
  for (auto &[type, codes] : rows) {
    float y[4] = {};
    Argument x = Argument::array(codes, type, sizeof(codes));
    Status done = kernel.launch({1}, {x, {y, 4}, 4, 2.0f});
    check(bool(done), done.text());
    check(y[0] == 2 && y[1] == 4 && y[2] == -6 && y[3] == 1, "other numbers");
  }
}

static void testErrors() {
  Kernel kernel = load("scale");
  float x[4] = {};
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}}), "TW0404", "`n`");
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}, 4, 1.0, 64, 7}), "TW0404", "takes 5 arguments");
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}, 4, 1.0}, {"gpu:7"}), "TW0401", "gpu:7");
  const float *fixed = x;
  checkError(kernel.launch({1}, {{x, 4}, {fixed, 4}, 4, 1.0}), "TW0403", "read-only");
  checkError(kernel.launch({-1}, {{x, 4}, {x, 4}, 4, 1.0}), "TW0402", "negative");
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}, {x, 4}, 1.0}), "TW0", "export_kernels.py:");
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}, 4, 1.0, -4}), "TW0", "export_kernels.py:");
  checkError(Kernel("{}").launch({1}, {}), "TW0190", "source buffer");
  checkError(Kernel("[1").status(), "TW0190", "source buffer");
  Status outside = kernel.launch({1}, {{x, 4}, Argument(x, 1), 4, 1.0}, {"reference"});
  checkError(outside, "TW0601", "out");
}

static void testNull() {
  Kernel kernel = load("scale");
  float x[4] = {}, *none = nullptr;
  Argument nothing = Argument::array(nullptr, tilewright::Type::Float32);
  for (const char *device : {"cpu", "reference", "sim:sm_80"}) {
    checkError(kernel.launch({1}, {{none, 4}, {x, 4}, 4, 1.0f}, {device}), "TW0409", "`x`");
    checkError(kernel.launch({1}, {{x, 4}, nothing, 4, 1.0f}, {device}), "TW0409", "`out`");
    // No program reads them.
    Status done = kernel.launch({0}, {{none, 4}, nothing, 4, 1.0f}, {device});
    check(bool(done), done.text());
    done = kernel.launch({1}, {{none, 0}, {none, 0}, 0, 1.0f}, {device});
    check(bool(done), done.text());
  }
  checkError(kernel.launch({1}, nullptr, 4), "TW0404", "null pointer");
  const char *text = nullptr;
  checkError(kernel.launch({1}, {{x, 4}, {x, 4}, 4, 1.0f, text}), "TW0405", "`BLOCK`");
}

/// What no tensor map describes, as rows that are 0 apart, runs code without maps.
static void testMaps() {
  using tilewright::Type;
  constexpr int depth = 128, size = 64;
  Kernel kernel = load("product");
  check(bool(kernel.status()), kernel.status().text());
  alignas(16) static uint16_t a[size * depth], b[depth * size];
  for (int i = 0; i < size * depth; ++i) { // 1 and 2
    a[i] = i % 3 ? 0x3C00 : 0x4000;
    b[i] = i % 5 ? 0x3C00 : 0x4000;
  }
  auto number = [](uint16_t half) { return half == 0x3C00 ? 1.0f : 2.0f; };
  for (int row : {depth, 0, depth}) {
    std::vector<float> c(size * size, -1.0f);
    tilewright::LaunchOptions there;
    there.device = "sim:sm_90a";
    there.launchPdl = row == 0;
    Status done = kernel.launch({1},
                                {depth,
                                 Argument::array(a, Type::Float16, sizeof(a)),
                                 Argument::array(b, Type::Float16, sizeof(b)),
                                 {c.data(), c.size()},
                                 size,
                                 row,
                                 int64_t(size),
                                 size,
                                 size,
                                 64},
                                there);
    check(bool(done), done.text());
    for (int i = 0; i < size * size; ++i) {
      float sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += number(a[i / size * row + k]) * number(b[k * size + i % size]);
      check(c[i] == sum, "element " + std::to_string(i) + " of the product");
    }
  }
}

/// Programs of a cluster are launched together, where the device has clusters.
static void testClusters() {
  Kernel kernel = load("scale");
  std::vector<float> x(1024, 2.0f), out(1024, -1.0f);
  auto launch = [&](const char *device, int programs, int size) {
    tilewright::LaunchOptions there;
    there.device = device;
    there.cluster = {size, 1, 1};
    return kernel.launch({programs}, {{x.data(), x.size()}, {out.data(), out.size()}, 1024, 3.0f},
                         there);
  };
  Status done = launch("sim:sm_90a", 4, 2);
  check(bool(done), done.text());
  done = launch("cpu", 3, 2); // a program runs on one core
  check(bool(done), done.text());
  checkError(launch("sim:sm_90a", 3, 2), "TW0402", "clusters of (2, 1, 1)");
  checkError(launch("sim:sm_90a", 16, 16), "TW0415", "cluster of (16, 1, 1)");
  checkError(launch("sim:sm_80", 4, 2), "TW0415", "asks for clusters");
}

/// With a context and memory of the program's own, as beside another library.
static void testGpu() {
  driver cuda = open_driver();
  void *context = nullptr;
  check(cuda.init && cuda.init(0) == 0 && cuda.retain(&context, 0) == 0 && cuda.push(context) == 0,
        "no driver");
  constexpr int n = 1000;
  float x[n], y[n];
  uint64_t onGpu[2] = {};
  for (uint64_t &address : onGpu)
    check(cuda.allocate(&address, sizeof(x)) == 0, "no memory of the GPU");
  for (int i = 0; i < n; ++i)
    x[i] = float(i % 31 - 15);
  check(cuda.to_device(onGpu[0], x, sizeof(x)) == 0, "a copy to the GPU");
  auto array = [&](int which) {
    return Argument::array(reinterpret_cast<void *>(uintptr_t(onGpu[which])),
                           tilewright::Type::Float32, sizeof(x));
  };
  tilewright::LaunchOptions there;
  there.device = "cuda:0";
  there.stream = reinterpret_cast<void *>(0x70);
  Status done = load("scale").launch({(n + 63) / 64}, {array(0), array(1), n, 3.0f}, there);
  check(bool(done), done.text());
  done = tilewright::synchronize("cuda:0");
  check(bool(done), done.text());
  check(cuda.to_host(y, onGpu[1], sizeof(y)) == 0, "a copy back");
  checkScaled({x, x + n}, {y, y + n}, n, 3.0f);
  check(std::string(cuda.record()).find("stream=0x70") != std::string::npos, "another stream");
}

/// On the thread's current HIP device, by what the runtime is told of it.
static void testHip() {
  void *library = dlopen("libamdhip64.so.6", RTLD_NOW);
  check(library, "no libamdhip64");
  const char *(*record)() = nullptr;
  int (*choose)(int) = nullptr, (*current)(int *) = nullptr;
  find(library, "hipDoubleRecord", &record);
  find(library, "hipSetDevice", &choose);
  find(library, "hipGetDevice", &current);
  int device = -1;
  check(choose(1) == 0, "no second GPU");
  tilewright::LaunchOptions there;
  there.device = "hip:0";
  there.stream = reinterpret_cast<void *>(0x70);
  auto array = [&](uintptr_t address) {
    return Argument::array(reinterpret_cast<void *>(address), tilewright::Type::Float32, 4000);
  };
  Kernel kernel = load("scale");
  for (int round = 0; round < 2; ++round) {
    Status done = kernel.launch({16}, {array(0x7000), array(0x9000), 1000, 3.0f}, there);
    check(bool(done), done.text());
  }
  Status done = tilewright::synchronize("hip:0");
  check(bool(done), done.text());
  check(current(&device) == 0 && device == 1, "another device was left current");
  std::string calls = record(), launch = "hipModuleLaunchKernel scale grid=16,1,1 threads=256,1,1 "
                                         "shared=0 stream=0x70 parameters=0070000000000000,"
                                         "0090000000000000,e8030000,00004040";
  size_t first = calls.find(launch);
  check(first != std::string::npos && calls.find(launch, first + 1) != std::string::npos, calls);
  check(calls.find("hipModuleLoadDataEx") == calls.rfind("hipModuleLoadDataEx"), "loaded twice");
  there.device = "hip:7";
  checkError(kernel.launch({16}, {array(0x7000), array(0x9000), 1000, 3.0f}, there), "TW0623",
             "hip:7");
}

int main(int count, char **words) {
  if (count < 2)
    return 2;
  folder = words[1];
  if (count > 2) {
    std::string test = words[2];
    tilewright::setAssemblers({words + 3, words + count});
    test == "gpu" ? testGpu() : test == "hip" ? testHip() : testFacts();
    puts("passed");
    return 0;
  }
  testScale();
  testThreads();
  testNarrowFloats();
  testErrors();
  testNull();
  testMaps();
  testClusters();
  puts("passed");
}
