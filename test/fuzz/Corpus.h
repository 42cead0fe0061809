// The texts that the fuzzer of IR starts from: the repository's .mlir tests, in parts.
#ifndef TEST_FUZZ_CORPUS_H
#define TEST_FUZZ_CORPUS_H
#include <string>
#include <vector>

namespace tw::fuzz {

/// What lies between two `// -----` of a file, without comments.
struct Part {
  std::string file, text;
  std::vector<std::string> pipelines; // that the file's RUN lines give to tile-opt
};

struct Corpus {
  std::vector<Part> parts;
  std::vector<std::string> pipelines; // of all files, each once
  std::vector<std::string> words;     // keywords and names of operations in them, each once
};

/// Reads files, and the .mlir files in folders and below. Exits with a message where one cannot be
/// read.
Corpus readCorpus(const std::vector<std::string> &paths);

} // namespace tw::fuzz
#endif
