// A directory of a test's own, removed with all it holds.
#ifndef TEST_UNIT_RUNTIME_TEMPORARYDIRECTORY_H
#define TEST_UNIT_RUNTIME_TEMPORARYDIRECTORY_H
#include <cstdlib>
#include <filesystem>
#include <string>

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};
#endif
