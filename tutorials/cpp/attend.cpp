// Attention on data from a file: `attend FILE LENGTH DEPTH` reads three matrices of LENGTH x DEPTH floats
// (queries, keys, values), and writes FILE.out and the largest number in it.
#include "attention.h"        // the kernel, compiled when this program was built, for DEPTH 64
#include "attention_source.h" // the kernel's source, for any other DEPTH
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tilewright/tilewright.h>
#include <vector>

struct Problem {
  int length, depth;
  float scale;
  std::vector<float> q, k, v, out;
};

// Compiled ahead of time. No compiler and no Python is needed, and nothing is loaded but this code. The
// launch goes to the GPU of the current CUDA context where there is one; here are host arrays.
static bool attendAhead(Problem &p) {
  attention_arguments arguments{};
  arguments.out = p.out.data();
  arguments.q = p.q.data();
  arguments.k = p.k.data();
  arguments.v = p.v.data();
  arguments.length = p.length;
  arguments.scale = p.scale;
  tilewright_launch launch{};
  launch.device = TILEWRIGHT_CPU;
  tilewright_error error;
  if (attention_launch(&arguments, &launch, &error) == TILEWRIGHT_SUCCESS)
    return true;
  std::fprintf(stderr, "TW%04d: %s\n", error.code, error.message);
  return false;
}

// Compiled now, for this depth, and kept in a directory: the next process finds it there. Arguments
// stand in the order of the kernel's parameters; numbers for constexpr parameters are constants.
static bool attendNow(Problem &p) {
  tilewright::Settings settings;
  if (const char *directory = std::getenv("ATTEND_CACHE"))
    settings.cacheDirectory = directory;
  tilewright::Kernel kernel(attention_source, settings);
  constexpr int rows = 16;
  tilewright::Grid grid{(p.length + rows - 1) / rows};
  tilewright::Status status = kernel.launch(
      grid, {{p.out.data(), p.out.size()}, {p.q.data(), p.q.size()}, {p.k.data(), p.k.size()},
             {p.v.data(), p.v.size()}, p.length, p.scale, p.depth, rows});
  if (!status)
    std::fprintf(stderr, "%s", status.text().c_str());
  return bool(status);
}

static bool read(std::ifstream &file, std::vector<float> &matrix) {
  return bool(file.read(reinterpret_cast<char *>(matrix.data()),
                        std::streamsize(matrix.size() * sizeof(float))));
}

int main(int count, char **words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: attend FILE LENGTH DEPTH\n");
    return 2;
  }
  Problem p;
  p.length = std::atoi(words[2]);
  p.depth = std::atoi(words[3]);
  if (p.length < 1 || p.depth < 1)
    return 2;
  p.scale = 1.0f / std::sqrt(float(p.depth));
  for (std::vector<float> *matrix : {&p.q, &p.k, &p.v, &p.out})
    matrix->resize(size_t(p.length) * size_t(p.depth));
  std::ifstream file(words[1], std::ios::binary);
  if (!read(file, p.q) || !read(file, p.k) || !read(file, p.v)) {
    std::fprintf(stderr, "%s is too short\n", words[1]);
    return 1;
  }
  bool isForeseen = p.depth == 64;
  if (!(isForeseen ? attendAhead(p) : attendNow(p)))
    return 1;
  std::ofstream(std::string(words[1]) + ".out", std::ios::binary)
      .write(reinterpret_cast<const char *>(p.out.data()),
             std::streamsize(p.out.size() * sizeof(float)));
  std::printf("%s, largest %.4f\n", isForeseen ? "ahead of time" : "compiled now",
              double(*std::max_element(p.out.begin(), p.out.end())));
}
