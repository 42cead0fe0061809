/* Kernels as custom operators of ONNX Runtime: the part of its C interface (onnxruntime_c_api.h,
 * API version 16 of release 1.16) that they take. The table of functions only grows at its end, so
 * that functions are found by their numbers in it, which no release changes. Nothing of it is
 * linked. */
#include "runtime/aot/Operators.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TW_ORT_API_VERSION = 16 };
enum { TW_ORT_FAIL = 1, TW_ORT_INVALID_ARGUMENT = 2 }; /* OrtErrorCode */
/* ONNXTensorElementDataType. */
enum { TW_ORT_FLOAT = 1, TW_ORT_INT64 = 7, TW_ORT_BOOL = 9, TW_ORT_DOUBLE = 11 };
/* The numbers of functions in OrtApi. */
enum {
  TW_ORT_CREATE_STATUS = 0,
  TW_ORT_CREATE_DOMAIN = 26,
  TW_ORT_ADD_TO_DOMAIN = 27,
  TW_ORT_ADD_DOMAIN = 28,
  TW_ORT_TENSOR_DATA = 51,
  TW_ORT_ELEMENT_TYPE = 60,
  TW_ORT_NUM_DIMENSIONS = 61,
  TW_ORT_DIMENSIONS = 62,
  TW_ORT_TYPE_AND_SHAPE = 65,
  TW_ORT_INPUT = 90,
  TW_ORT_OUTPUT = 91,
  TW_ORT_RELEASE_TYPE_AND_SHAPE = 99
};
typedef void (*tw_ort_function)(void);
struct tw_ort_status; /* null: success */
struct tw_ort_api {
  tw_ort_function functions[TW_ORT_RELEASE_TYPE_AND_SHAPE + 1];
};
/* OrtApiBase. */
struct tw_ort_base {
  const struct tw_ort_api *(*get_api)(uint32_t version);
  const char *(*version)(void);
};

typedef struct tw_ort_status *(*tw_ort_create_status)(int code, const char *message);
typedef struct tw_ort_status *(*tw_ort_create_domain)(const char *name, void **domain);
typedef struct tw_ort_status *(*tw_ort_join)(void *first, const void *second);
typedef struct tw_ort_status *(*tw_ort_get_pointer)(const void *of, void **out);
typedef struct tw_ort_status *(*tw_ort_get_element)(const void *of, int *out);
typedef struct tw_ort_status *(*tw_ort_get_count)(const void *of, size_t *out);
typedef struct tw_ort_status *(*tw_ort_get_extents)(const void *of, int64_t *out, size_t count);
typedef struct tw_ort_status *(*tw_ort_get_input)(const void *context, size_t index, void **out);
typedef struct tw_ort_status *(*tw_ort_get_output)(void *context, size_t index,
                                                   const int64_t *extents, size_t count,
                                                   void **out);
typedef void (*tw_ort_release)(void *object);

#define TW_ORT(api, type, number) ((type)(api)->functions[number])

/* OrtCustomOp of that version, and behind it what it is for. */
struct tw_ort_operator {
  uint32_t version;
  void *(*create)(const struct tw_ort_operator *, const struct tw_ort_api *, const void *);
  const char *(*name)(const struct tw_ort_operator *);
  const char *(*provider)(const struct tw_ort_operator *);
  int (*input_type)(const struct tw_ort_operator *, size_t);
  size_t (*num_inputs)(const struct tw_ort_operator *);
  int (*output_type)(const struct tw_ort_operator *, size_t);
  size_t (*num_outputs)(const struct tw_ort_operator *);
  void (*compute)(void *, void *);
  void (*destroy)(void *);
  int (*input_kind)(const struct tw_ort_operator *, size_t);
  int (*output_kind)(const struct tw_ort_operator *, size_t);
  int (*input_memory)(const struct tw_ort_operator *, size_t);
  int (*variadic[4])(const struct tw_ort_operator *);
  struct tw_ort_status *(*create_kernel)(const struct tw_ort_operator *, const struct tw_ort_api *,
                                         const void *, void **);
  struct tw_ort_status *(*compute_kernel)(void *, void *);
  void *later[8]; /* of later versions, which are not read */
  const struct tw_package *package;
  const struct tw_operator *operator_;
};
/* An operator of a session. */
struct tw_ort_kernel {
  const struct tw_ort_api *api;
  const struct tw_ort_operator *self;
};

static const char *tw_ort_name(const struct tw_ort_operator *self) { return self->operator_->name; }
static const char *tw_ort_provider(const struct tw_ort_operator *self) {
  (void)self;
  return NULL; /* the processor */
}
static size_t tw_ort_num_inputs(const struct tw_ort_operator *self) {
  return self->operator_->num_given;
}
static int tw_ort_input_type(const struct tw_ort_operator *self, size_t index) {
  return self->operator_->given[index].element;
}
static size_t tw_ort_num_outputs(const struct tw_ort_operator *self) {
  return self->operator_->num_results;
}
static int tw_ort_output_type(const struct tw_ort_operator *self, size_t index) {
  return self->operator_->results[index].element;
}
static int tw_ort_zero(const struct tw_ort_operator *self, size_t index) {
  (void)self;
  (void)index;
  return 0; /* required, and in memory of the operator's provider */
}
static int tw_ort_one(const struct tw_ort_operator *self) {
  (void)self;
  return 1;
}
static void tw_ort_destroy(void *kernel) { free(kernel); }

static struct tw_ort_status *tw_ort_fail(const struct tw_ort_api *api,
                                         const struct tilewright_error *error) {
  char message[sizeof(error->message) + 16];
  (void)snprintf(message, sizeof(message), "TW%04d: %s", error->code, error->message);
  return TW_ORT(api, tw_ort_create_status, TW_ORT_CREATE_STATUS)(TW_ORT_FAIL, message);
}

static struct tw_ort_status *tw_ort_create(const struct tw_ort_operator *self,
                                           const struct tw_ort_api *api, const void *info,
                                           void **out) {
  struct tw_ort_kernel *kernel = malloc(sizeof(*kernel));
  (void)info;
  if (!kernel)
    return TW_ORT(api, tw_ort_create_status, TW_ORT_CREATE_STATUS)(TW_ORT_FAIL, "no memory");
  kernel->api = api;
  kernel->self = self;
  *out = kernel;
  return NULL;
}

/* The memory, shape and element type of a tensor. */
static struct tw_ort_status *tw_ort_tensor(const struct tw_ort_api *api, void *tensor, void **data,
                                           int *element, struct tw_shape *shape) {
  void *info = NULL;
  size_t rank = 0;
  struct tw_ort_status *status =
      TW_ORT(api, tw_ort_get_pointer, TW_ORT_TYPE_AND_SHAPE)(tensor, &info);
  if (status)
    return status;
  status = TW_ORT(api, tw_ort_get_element, TW_ORT_ELEMENT_TYPE)(info, element);
  if (!status)
    status = TW_ORT(api, tw_ort_get_count, TW_ORT_NUM_DIMENSIONS)(info, &rank);
  if (!status && rank > TW_MAX_OPERATOR_RANK)
    status = TW_ORT(api, tw_ort_create_status, TW_ORT_CREATE_STATUS)(TW_ORT_INVALID_ARGUMENT,
                                                                     "too many dimensions");
  shape->rank = (unsigned)rank;
  if (!status)
    status = TW_ORT(api, tw_ort_get_extents, TW_ORT_DIMENSIONS)(info, shape->extents, rank);
  TW_ORT(api, tw_ort_release, TW_ORT_RELEASE_TYPE_AND_SHAPE)(info);
  return status ? status : TW_ORT(api, tw_ort_get_pointer, TW_ORT_TENSOR_DATA)(tensor, data);
}

/* The bits of a number, which comes as a tensor of one element. */
static int tw_ort_number(const struct tw_kernel *kernel, const struct tw_given *row,
                         const struct tw_shape *shape, const void *data, uint64_t *value,
                         struct tilewright_error *error) {
  int64_t count = 1;
  for (unsigned i = 0; i < shape->rank; ++i)
    count *= shape->extents[i];
  if (count != 1)
    return tw_fail(error, TILEWRIGHT_OPERATOR,
                   "the argument `%s` of %s is a number, and has %lld elements",
                   kernel->arguments[row->argument].name, kernel->name, (long long)count);
  if (row->element == TW_ORT_BOOL)
    *value = *(const uint8_t *)data != 0;
  else if (row->element == TW_ORT_FLOAT)
    *value = tw_float_bits(row->bits, (double)*(const float *)data);
  else if (row->element == TW_ORT_DOUBLE)
    *value = tw_float_bits(row->bits, *(const double *)data);
  else {
    int64_t integer = *(const int64_t *)data;
    *value = (uint64_t)integer;
    if (!tw_fits(row->kind, row->bits, integer))
      return tw_fail(error, TILEWRIGHT_OPERATOR,
                     "the argument `%s` of %s is a number that its type does not have",
                     kernel->arguments[row->argument].name, kernel->name);
  }
  return TILEWRIGHT_SUCCESS;
}

static struct tw_ort_status *tw_ort_read(const struct tw_ort_kernel *called, void *context,
                                         uint64_t *values, struct tw_shape *shapes) {
  const struct tw_operator *self = called->self->operator_;
  const struct tw_kernel *kernel = &called->self->package->kernels[self->kernel];
  struct tilewright_error error;
  for (unsigned i = 0; i < self->num_given; ++i) {
    const struct tw_given *row = &self->given[i];
    void *tensor = NULL, *data = NULL;
    int element = 0;
    struct tw_ort_status *status =
        TW_ORT(called->api, tw_ort_get_input, TW_ORT_INPUT)(context, i, &tensor);
    if (!status)
      status = tw_ort_tensor(called->api, tensor, &data, &element, &shapes[row->argument]);
    if (status)
      return status;
    if (element != row->element) {
      (void)tw_fail(&error, TILEWRIGHT_OPERATOR,
                    "the argument `%s` of %s is of another element type",
                    kernel->arguments[row->argument].name, kernel->name);
      return tw_ort_fail(called->api, &error);
    }
    if (row->kind == 'p')
      values[row->argument] = (uint64_t)(uintptr_t)data;
    else if (tw_ort_number(kernel, row, &shapes[row->argument], data, &values[row->argument],
                           &error))
      return tw_ort_fail(called->api, &error);
  }
  if (tw_fill_strides(called->self->package, self, shapes, values, &error))
    return tw_ort_fail(called->api, &error);
  return NULL;
}

static struct tw_ort_status *tw_ort_allocate(const struct tw_ort_kernel *called, void *context,
                                             uint64_t *values, struct tw_shape *shapes) {
  const struct tw_operator *self = called->self->operator_;
  struct tilewright_error error;
  for (unsigned i = 0; i < self->num_results; ++i) {
    const struct tw_result *row = &self->results[i];
    struct tw_shape shape = {row->rank, {0}};
    void *tensor = NULL, *data = NULL;
    if (row->like >= 0)
      shape = shapes[row->like];
    else
      row->shape(values, shape.extents);
    for (unsigned k = 0; k < shape.rank; ++k)
      if (shape.extents[k] < 0) {
        (void)tw_fail(&error, TILEWRIGHT_OPERATOR, "a result of %s has a negative extent",
                      self->name);
        return tw_ort_fail(called->api, &error);
      }
    struct tw_ort_status *status = TW_ORT(called->api, tw_ort_get_output, TW_ORT_OUTPUT)(
        context, i, shape.extents, shape.rank, &tensor);
    if (!status)
      status = TW_ORT(called->api, tw_ort_get_pointer, TW_ORT_TENSOR_DATA)(tensor, &data);
    if (status)
      return status;
    values[row->argument] = (uint64_t)(uintptr_t)data;
    shapes[row->argument] = shape;
  }
  return NULL;
}

static struct tw_ort_status *tw_ort_compute(void *kernel, void *context) {
  const struct tw_ort_kernel *called = kernel;
  const struct tw_operator *self = called->self->operator_;
  uint64_t values[TW_MAX_ARGUMENTS] = {0};
  struct tw_shape shapes[TW_MAX_ARGUMENTS] = {{0, {0}}};
  struct tilewright_launch launch = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  struct tw_ort_status *status = tw_ort_read(called, context, values, shapes);
  if (!status)
    status = tw_ort_allocate(called, context, values, shapes);
  if (status)
    return status;
  if (tw_check_shapes(called->self->package, self, shapes, launch.device, &error) ||
      tw_launch(called->self->package, self->kernel,
                called->self->package->kernels[self->kernel].interface, values, &launch, &error))
    return tw_ort_fail(called->api, &error);
  return NULL;
}

/* The operators of a process: sessions keep pointers to them. */
static struct tw_ort_status *tw_ort_register(const struct tw_package *package,
                                             const struct tw_operator *operators,
                                             struct tw_ort_operator *made, unsigned count,
                                             void *options, const struct tw_ort_base *base) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static void *domain;
  struct tw_ort_status *status = NULL;
  const struct tw_ort_api *api = base->get_api(TW_ORT_API_VERSION);
  if (!api) /* an older release, whose first functions are the same */
    return TW_ORT(base->get_api(1), tw_ort_create_status, TW_ORT_CREATE_STATUS)(
        TW_ORT_FAIL, "the operators need ONNX Runtime 1.16 or later");
  (void)pthread_mutex_lock(&lock);
  if (!domain) {
    void *fresh = NULL;
    status = TW_ORT(api, tw_ort_create_domain, TW_ORT_CREATE_DOMAIN)(package->name, &fresh);
    for (unsigned i = 0; i < count && !status; ++i) {
      const struct tw_ort_operator filled = {TW_ORT_API_VERSION,
                                             NULL,
                                             tw_ort_name,
                                             tw_ort_provider,
                                             tw_ort_input_type,
                                             tw_ort_num_inputs,
                                             tw_ort_output_type,
                                             tw_ort_num_outputs,
                                             NULL,
                                             tw_ort_destroy,
                                             tw_ort_zero,
                                             tw_ort_zero,
                                             tw_ort_zero,
                                             {tw_ort_one, tw_ort_one, tw_ort_one, tw_ort_one},
                                             tw_ort_create,
                                             tw_ort_compute,
                                             {NULL},
                                             package,
                                             &operators[i]};
      made[i] = filled;
      status = TW_ORT(api, tw_ort_join, TW_ORT_ADD_TO_DOMAIN)(fresh, &made[i]);
    }
    domain = status ? NULL : fresh;
  }
  (void)pthread_mutex_unlock(&lock);
  return status ? status : TW_ORT(api, tw_ort_join, TW_ORT_ADD_DOMAIN)(options, domain);
}
