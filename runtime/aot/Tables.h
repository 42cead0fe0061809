/* The tables that an export writes of a package, for the functions beside this file. */
#ifndef RUNTIME_AOT_TABLES_H
#define RUNTIME_AOT_TABLES_H
#include "runtime/aot/Public.h"

/* What a variant assumes of an argument. */
enum tw_assumption {
  TW_EQUALS,    /* the integer is `value` */
  TW_DIVISIBLE, /* by `value`, a power of two: an integer or an address */
  TW_RULE,      /* the integer is as the rule of number `value` says */
  TW_DISJOINT,  /* no other pointer is equal */
  TW_AT_LEAST,  /* the integer, as a signed number, is `value` or more */
  TW_AT_MOST    /* ... or less */
};
struct tw_fact {
  uint8_t assumption, argument;
  int64_t value;
};

/* What a kernel on the processor knows of the program that it runs as: the layout of TwProgram in
 * passes/simd/ProgramLayout.h, which test/unit/runtime/AotLayoutTest.cpp compares. */
struct tw_program {
  int32_t program_id[3], num_programs[3];
  void *scratch, *launch;
  int32_t until_poll;
  const void *arguments;
  uint32_t *locks;
};
enum { TW_LOCK_BYTES = 512 * 64 }; /* of all `locks` */
typedef void (*tw_cpu_entry)(const uint64_t *arguments, struct tw_program *program);

struct tw_cpu_code {
  int level; /* of x86-64: 2, 3, 4 */
  tw_cpu_entry entry;
  uint64_t scratch_bytes; /* of each running program */
  const uint8_t *parameters;
  unsigned num_parameters;
};

/* The makers of GPUs with memory of their own, and OpenCL behind them. */
enum { TW_CUDA, TW_HIP, TW_NUM_MAKERS, TW_OPENCL = TW_NUM_MAKERS };

/* An integer argument, of which the lower bits count: `bits` is negative for one without a sign. */
struct tw_factor {
  uint8_t argument;
  int8_t bits;
};
/* `factor` times the values of arguments. */
struct tw_product {
  int64_t factor;
  const struct tw_factor *arguments;
  unsigned num_arguments;
};

/* A tensor map of which each launch gives the numbers: TensorMapRecipe in runtime/TensorMaps.h.
 * Dimensions are innermost first; the innermost has stride 1. Without a box (0) the code loads
 * blocks of the array, and gets no map. */
enum { TW_MAX_RANK = 5 };
struct tw_map {
  unsigned argument;               /* the array */
  unsigned element, element_bytes; /* element: CUtensorMapDataType */
  unsigned span_bytes, rank;
  struct tw_product extents[TW_MAX_RANK], strides[TW_MAX_RANK - 1]; /* elements */
  uint32_t box[TW_MAX_RANK];
};

struct tw_gpu_code {
  unsigned maker;   /* TW_CUDA, TW_HIP, TW_OPENCL */
  unsigned arch;    /* of CUDA: compute capability times ten; of HIP: 0x90a of gfx90a; of OpenCL:
                       lanes of a subgroup */
  unsigned is_ptx;  /* else machine code, or SPIR-V */
  unsigned is_only; /* for exactly this architecture */
  const uint64_t *image;
  const char *symbol;
  unsigned num_threads, shared_bytes;
  const uint8_t *parameters; /* the arguments that the code takes, by number */
  unsigned num_parameters;
  const struct tw_map *maps; /* what the code gets behind its parameters */
  unsigned num_maps;
  unsigned launches_early; /* it waits by itself for the launches before it */
  unsigned cluster[3];     /* programs along each axis that it is launched with together */
  size_t image_bytes;      /* of SPIR-V */
  /* Of OpenCL: the machine that it is for ("xe2"), words for the driver's compiler, and the
   * versions of Intel's GPUs that are that machine; 0: any device may be. */
  const char *row, *build_options;
  uint32_t first_version, last_version;
};

/* One specialization. Variants of a kernel stand in the order in which they are tried. */
struct tw_variant {
  const char *name; /* for messages */
  const struct tw_fact *facts;
  unsigned num_facts;
  const struct tw_cpu_code *cpu; /* the highest level first */
  unsigned num_cpu;
  const struct tw_gpu_code *gpu; /* in no order */
  unsigned num_gpu;
  void (*grid)(const uint64_t *values, int64_t *programs); /* null where none was declared */
};

struct tw_argument {
  const char *name;
  unsigned is_pointer;
  unsigned bits;  /* of a number, for its sign */
  unsigned bytes; /* of a number */
  /* Of an array that some code accesses by offsets of 32 bits: the bytes of an element; else 0. */
  unsigned element_bytes;
};

struct tw_kernel {
  const char *name;
  uint64_t interface; /* digest of the C function's type */
  const struct tw_argument *arguments;
  unsigned num_arguments;
  const struct tw_variant *variants;
  unsigned num_variants;
  unsigned first_slot; /* of the package's variants, counted over its kernels */
};

struct tw_package {
  const char *name;
  const struct tw_kernel *kernels;
  unsigned num_kernels, num_slots;
};

enum {
  TW_MAX_ARGUMENTS = 64,
  TW_MAX_MAPS = 16,  /* of a kernel */
  TW_MAX_GPUS = 4080 /* of a maker: numbers below it have a place */
};

#endif
