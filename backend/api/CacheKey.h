// The key under which a compiled kernel is kept: a hash of everything that its binary depends on.
#ifndef BACKEND_API_CACHEKEY_H
#define BACKEND_API_CACHEKEY_H
#include "runtime/Specialization.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tw::api {

/// BLAKE3, 256 bits.
std::array<uint8_t, 32> hashBytes(std::string_view bytes);
std::string hexOf(const std::array<uint8_t, 32> &hash);

/// Digest of what a kernel source buffer means: file names, line numbers and the quoted source are
/// left out, so that a comment or a move of the file changes nothing; unless the kernel has
/// assertions, whose compiled messages name the line.
std::string digestSource(const std::string &json);

/// `sourceDigest` with the rest; `target` describes the machine too. 64 hex digits.
std::string makeKey(const std::string &sourceDigest, const Specialization &specialization,
                    const std::string &target, const std::string &buildId);

} // namespace tw::api
#endif
