// Keys, entries and their files for tests of the disk cache.
#ifndef TEST_UNIT_RUNTIME_DISKCACHEENTRIES_H
#define TEST_UNIT_RUNTIME_DISKCACHEENTRIES_H
#include "runtime/DiskCache.h"
#include <cstring>
#include <fstream>
#include <iterator>

/// FNV-1a in four lanes: enough to tell damaged entries in tests that know of no attacker.
inline std::array<uint8_t, 32> testHash(std::string_view bytes) {
  std::array<uint8_t, 32> result{};
  for (unsigned lane = 0; lane < 4; ++lane) {
    uint64_t state = 0xcbf29ce484222325ull + lane;
    for (unsigned char byte : bytes)
      state = (state ^ byte) * 0x100000001b3ull;
    memcpy(result.data() + lane * 8, &state, 8);
  }
  return result;
}

inline tw::DiskCacheSettings settingsFor(const std::string &directory) {
  tw::DiskCacheSettings settings;
  settings.directory = directory;
  settings.hash = testHash;
  return settings;
}

inline std::string keyOf(unsigned number) {
  char text[65];
  snprintf(text, sizeof(text), "%08x%056x", number * 2654435761u, number);
  return text;
}

inline std::string entryPath(const std::string &directory, const std::string &key) {
  return directory + "/v1/" + key.substr(0, 2) + "/" + key;
}

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

#endif
