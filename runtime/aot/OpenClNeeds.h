/* What modules of SPIR-V need of OpenCL devices, by the modules' capabilities: for the launcher of
 * packages, and for the devices of backend/spirv. */
#ifndef RUNTIME_AOT_OPENCLNEEDS_H
#define RUNTIME_AOT_OPENCLNEEDS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A capability with the extension of OpenCL that devices with it have. */
struct tw_cl_need {
  uint32_t capability;
  const char *extension;
  const char *what, *hint; /* for users */
};

#define TW_CL_NARROWER "use fp32"
#define TW_CL_COMPARE_AND_SWAP "use integers, or fp32 sums by tw.sum"
#define TW_CL_OTHER "run it on another device, or on the cpu"

/* Numbers of the SPIR-V specification, enumeration "Capability", and of its extensions. */
static const struct tw_cl_need tw_cl_needs[] = {
    {9, "cl_khr_fp16", "floats of 16 bits (fp16)", TW_CL_NARROWER},
    {10, "cl_khr_fp64", "floats of 64 bits (fp64)", TW_CL_NARROWER},
    {12, "cl_khr_int64_base_atomics", "atomics of 64 bits", TW_CL_COMPARE_AND_SWAP},
    {63, "cl_khr_subgroup_non_uniform_arithmetic", "reductions of a subgroup", TW_CL_OTHER},
    {64, "cl_khr_subgroup_ballot", "ballots of a subgroup", TW_CL_OTHER},
    {65, "cl_khr_subgroup_shuffle", "shuffles within a subgroup", TW_CL_OTHER},
    {66, "cl_khr_subgroup_shuffle_relative", "relative shuffles within a subgroup", TW_CL_OTHER},
    {67, "cl_khr_subgroup_clustered_reduce", "reductions of parts of a subgroup", TW_CL_OTHER},
    {5568, "cl_intel_subgroups", "Intel's shuffles within a subgroup", TW_CL_OTHER},
    {6026, "cl_khr_subgroup_rotate", "rotations of a subgroup", TW_CL_OTHER},
    {6141, "cl_intel_split_work_group_barrier", "barriers in two parts", TW_CL_OTHER},
    {6228, "cl_intel_subgroup_2d_block_io", "loads of blocks of arrays by a subgroup", TW_CL_OTHER},
    {6236, "cl_intel_subgroup_matrix_multiply_accumulate", "the matrix unit of Intel's GPUs",
     TW_CL_OTHER},
};

/* A capability that a bit of a fact of cl_ext_float_atomics stands for. */
struct tw_cl_atomic_need {
  uint32_t capability;
  unsigned position; /* fact: 0 of fp16, 1 of fp32, 2 of fp64 */
  uint64_t bit;
  const char *what;
};

enum { TW_CL_GLOBAL_ADD = 1 << 1, TW_CL_GLOBAL_MIN_MAX = 1 << 2 };

static const struct tw_cl_atomic_need tw_cl_atomic_needs[] = {
    {6095, 0, TW_CL_GLOBAL_ADD, "atomic sums of fp16"},
    {6033, 1, TW_CL_GLOBAL_ADD, "atomic sums of fp32"},
    {6034, 2, TW_CL_GLOBAL_ADD, "atomic sums of fp64"},
    {5616, 0, TW_CL_GLOBAL_MIN_MAX, "atomic minima and maxima of fp16"},
    {5612, 1, TW_CL_GLOBAL_MIN_MAX, "atomic minima and maxima of fp32"},
    {5613, 2, TW_CL_GLOBAL_MIN_MAX, "atomic minima and maxima of fp64"},
};

/* Whether a module of SPIR-V declares a capability: they come before all else. */
static inline int tw_cl_uses(const void *module, size_t bytes, uint32_t capability) {
  enum { HEADER_BYTES = 20, OP_CAPABILITY = 2 << 16 | 17 };
  uint32_t words[2];
  for (size_t at = HEADER_BYTES; at + sizeof(words) <= bytes; at += sizeof(words)) {
    memcpy(words, (const char *)module + at, sizeof(words));
    if (words[0] != OP_CAPABILITY)
      return 0;
    if (words[1] == capability)
      return 1;
  }
  return 0;
}

#endif
