/* The tables that an export writes of kernels that are operators of a framework: which arguments
 * callers pass, and which arrays are results. */
#ifndef RUNTIME_AOT_OPERATORS_H
#define RUNTIME_AOT_OPERATORS_H
#include "runtime/aot/Tables.h"

/* An argument that callers pass: an array, or a number. */
struct tw_given {
  uint8_t argument;
  char kind; /* 'p' of arrays; of numbers 'i', 'u', 'b', 'f' */
  uint8_t bits;
  int32_t element; /* of the framework's enumeration: of an array, or as which a number comes */
};
/* An integer that is the stride of an array, whose elements are row-major. */
struct tw_stride {
  uint8_t argument, array, dimension, rank; /* rank: of the array */
};
/* An array that is a result. */
struct tw_result {
  uint8_t argument;
  int32_t element;
  int32_t like;  /* the argument whose shape it has, or -1 */
  unsigned rank; /* else: of the shape that the function computes of all arguments */
  void (*shape)(const uint64_t *values, int64_t *extents);
};
struct tw_operator {
  const char *name;
  unsigned kernel; /* its number in the package */
  const struct tw_given *given;
  unsigned num_given;
  const struct tw_result *results;
  unsigned num_results;
  const struct tw_stride *strides;
  unsigned num_strides;
};
enum { TW_MAX_OPERATOR_RANK = 32 };

/* The extents of an array that is passed. */
struct tw_shape {
  unsigned rank;
  int64_t extents[TW_MAX_OPERATOR_RANK];
};

/* Refuses arrays that are larger than the kernel's code reaches. */
static int tw_check_shapes(const struct tw_package *package, const struct tw_operator *self,
                           const struct tw_shape *shapes, int device,
                           struct tilewright_error *error) {
  const struct tw_kernel *kernel = &package->kernels[self->kernel];
  int failure = TILEWRIGHT_SUCCESS;
  for (unsigned i = 0; i < kernel->num_arguments && !failure; ++i) {
    uint64_t bytes = kernel->arguments[i].element_bytes;
    for (unsigned k = 0; bytes && k < shapes[i].rank; ++k)
      bytes *= (uint64_t)shapes[i].extents[k];
    failure = tw_check_reach(kernel, i, bytes, device, error);
  }
  return failure;
}

/* Fills in the numbers that are strides of the arrays, whose shapes stand by argument. */
static int tw_fill_strides(const struct tw_package *package, const struct tw_operator *self,
                           const struct tw_shape *shapes, uint64_t *values,
                           struct tilewright_error *error) {
  for (unsigned i = 0; i < self->num_strides; ++i) {
    const struct tw_stride *row = &self->strides[i];
    const struct tw_shape *shape = &shapes[row->array];
    if (shape->rank != row->rank)
      return tw_fail(error, TILEWRIGHT_OPERATOR,
                     "the argument `%s` of %s has %u dimensions, not %u",
                     package->kernels[self->kernel].arguments[row->array].name, self->name,
                     shape->rank, (unsigned)row->rank);
    int64_t step = 1;
    for (unsigned k = row->dimension + 1U; k < shape->rank; ++k)
      step *= shape->extents[k];
    values[row->argument] = (uint64_t)step;
  }
  return TILEWRIGHT_SUCCESS;
}
#endif
