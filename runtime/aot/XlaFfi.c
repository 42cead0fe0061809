/* Kernels as XLA calls foreign functions. Arrays are arguments and results in their order, numbers
 * the attributes a0, a1, ... by their arguments' numbers, and the grid is grid0 to grid2. */
#include "runtime/aot/XlaFfi.h"
#include "runtime/aot/Operators.h"
#include <stdio.h>

enum { TW_XLA_PRED = 1, TW_XLA_S64 = 5, TW_XLA_F64 = 12 }; /* XLA_FFI_DataType */

static const void *tw_xla_scalar(const struct tw_xla_frame *frame, const char *prefix,
                                 unsigned number, int32_t element) {
  char name[24];
  int length = snprintf(name, sizeof(name), "%s%u", prefix, number);
  const struct tw_xla_scalar *found = tw_xla_attribute(frame, TW_XLA_SCALAR, name, (size_t)length);
  return found && found->element == element ? found->value : NULL;
}

static int tw_xla_number(const struct tw_operator *self, const struct tw_given *row,
                         const struct tw_xla_frame *frame, uint64_t *value,
                         struct tilewright_error *error) {
  const void *found = tw_xla_scalar(frame, "a", row->argument, row->element);
  if (!found)
    return tw_fail(error, TILEWRIGHT_OPERATOR, "the call of %s lacks the number of argument %u",
                   self->name, (unsigned)row->argument);
  if (row->kind == 'f')
    *value = tw_float_bits(row->bits, *(const double *)found);
  else if (row->kind == 'b')
    *value = *(const uint8_t *)found != 0;
  else {
    *value = (uint64_t)*(const int64_t *)found;
    if (!tw_fits(row->kind, row->bits, *(const int64_t *)found))
      return tw_fail(error, TILEWRIGHT_OPERATOR,
                     "argument %u of %s is a number that its type does not have",
                     (unsigned)row->argument, self->name);
  }
  return TILEWRIGHT_SUCCESS;
}

static int tw_xla_array(const struct tw_operator *self, const struct tw_xla_buffer *buffer,
                        int32_t element, unsigned argument, uint64_t *values,
                        struct tw_shape *shape, struct tilewright_error *error) {
  if (buffer->element != element || buffer->rank > TW_MAX_OPERATOR_RANK)
    return tw_fail(error, TILEWRIGHT_OPERATOR, "argument %u of %s is of another element type",
                   argument, self->name);
  values[argument] = (uint64_t)(uintptr_t)buffer->data;
  shape->rank = (unsigned)buffer->rank;
  for (unsigned i = 0; i < shape->rank; ++i)
    shape->extents[i] = buffer->dims[i];
  return TILEWRIGHT_SUCCESS;
}

static int tw_xla_read(const struct tw_package *package, const struct tw_operator *self,
                       const struct tw_xla_frame *frame, uint64_t *values, struct tw_shape *shapes,
                       struct tilewright_error *error) {
  int64_t next = 0;
  int failure = TILEWRIGHT_SUCCESS;
  for (unsigned i = 0; i < self->num_given && !failure; ++i) {
    const struct tw_given *row = &self->given[i];
    if (row->kind != 'p')
      failure = tw_xla_number(self, row, frame, &values[row->argument], error);
    else if (next >= frame->arguments.count)
      break;
    else
      failure = tw_xla_array(self, frame->arguments.values[next], row->element, row->argument,
                             values, &shapes[row->argument], error);
    next += row->kind == 'p';
  }
  if (failure)
    return failure;
  if (next != frame->arguments.count || frame->results.count != (int64_t)self->num_results)
    return tw_fail(error, TILEWRIGHT_OPERATOR, "%s is called with another number of arrays",
                   self->name);
  for (unsigned i = 0; i < self->num_results && !failure; ++i) {
    const struct tw_result *row = &self->results[i];
    failure = tw_xla_array(self, frame->results.values[i], row->element, row->argument, values,
                           &shapes[row->argument], error);
  }
  return failure ? failure : tw_fill_strides(package, self, shapes, values, error);
}

/* Where the call runs: on the processor, or on the stream and the GPU that XLA names. */
static struct tw_xla_error *tw_xla_place(const struct tw_xla_frame *frame, int first_gpu,
                                         struct tilewright_launch *launch) {
  struct tw_xla_stream_args stream = {sizeof(stream), NULL, frame->context, NULL};
  struct tw_xla_ordinal_args ordinal = {sizeof(ordinal), NULL, frame->context, 0};
  struct tw_xla_error *error = NULL;
  launch->device = TILEWRIGHT_CPU;
  if (!first_gpu || (error = frame->api->get_stream(&stream)) ||
      (error = frame->api->get_ordinal(&ordinal)))
    return error;
  launch->stream = stream.stream;
  launch->device = first_gpu + ordinal.ordinal;
  return NULL;
}

/* A call; `first_gpu` is that of a maker, or 0 for the processor. */
static struct tw_xla_error *tw_xla_call(const struct tw_package *package,
                                        const struct tw_operator *self, int first_gpu,
                                        const struct tw_xla_frame *frame) {
  uint64_t values[TW_MAX_ARGUMENTS] = {0};
  struct tw_shape shapes[TW_MAX_ARGUMENTS] = {{0, {0}}};
  struct tilewright_launch launch = {{0, 0, 0}, TILEWRIGHT_AUTO, NULL};
  struct tilewright_error error;
  if (tw_xla_answer(frame) || frame->stage != TW_XLA_EXECUTE)
    return NULL;
  struct tw_xla_error *its = tw_xla_place(frame, first_gpu, &launch);
  if (its)
    return its;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const int64_t *extent = tw_xla_scalar(frame, "grid", axis, TW_XLA_S64);
    launch.grid[axis] = extent ? *extent : 0;
  }
  const struct tw_kernel *kernel = &package->kernels[self->kernel];
  if (!tw_xla_read(package, self, frame, values, shapes, &error) &&
      !tw_check_shapes(package, self, shapes, launch.device, &error) &&
      !tw_launch(package, self->kernel, kernel->interface, values, &launch, &error))
    return NULL;
  char message[sizeof(error.message) + 16];
  (void)snprintf(message, sizeof(message), "TW%04d: %s", error.code, error.message);
  return tw_xla_fail(frame, TW_XLA_INTERNAL, message);
}
