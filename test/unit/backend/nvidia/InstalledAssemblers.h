// The assemblers that `make setup` installs for the tests; no others of the machine are used.
#ifndef TEST_UNIT_BACKEND_INSTALLEDASSEMBLERS_H
#define TEST_UNIT_BACKEND_INSTALLEDASSEMBLERS_H
#include "backend/nvidia/assemble/Assemblers.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace tw::test {

inline std::filesystem::path sourceTree() {
  return std::filesystem::path(__FILE__).parent_path() / "../../../..";
}

/// Returns the releases of test/assemblers.txt, "13.0.88" and so on.
inline std::vector<std::string> installedReleases() {
  std::vector<std::string> releases;
  std::ifstream file(sourceTree() / "test/assemblers.txt");
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      releases.push_back(line);
  EXPECT_EQ(releases.size(), 2u);
  releases.resize(2);
  return releases;
}

inline nvidia::Assembler installedPtxas(const std::string &release) {
  auto path = sourceTree() / ".venv/assemblers" / release / "nvidia/cu13/bin/ptxas";
  EXPECT_TRUE(std::filesystem::exists(path)) << path << ": make setup installs it";
  return {nvidia::Assembler::Kind::Ptxas, path.string()};
}

inline nvidia::Assembler installedJitLink() {
  std::string found;
  for (const auto &python : std::filesystem::directory_iterator(sourceTree() / ".venv/lib"))
    if (auto path = python.path() / "site-packages/nvidia/cu13/lib/libnvJitLink.so.13";
        std::filesystem::exists(path))
      found = path.string();
  EXPECT_NE(found, "") << "make setup installs nvidia-nvjitlink";
  return {nvidia::Assembler::Kind::JitLink, found};
}

/// Settings with which every target takes the installed programs and nothing else.
inline AssemblerSettings installedAssemblers() {
  AssemblerSettings settings;
  for (const std::string &release : installedReleases())
    settings.paths.push_back(installedPtxas(release).path);
  return settings;
}

} // namespace tw::test
#endif
