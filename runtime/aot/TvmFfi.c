/* Kernels by the calling convention of TVM-FFI, for a package that is written with it: structures
 * as tvm/ffi/c_api.h of apache-tvm-ffi 0.1 and dlpack.h lay them out. Nothing of it is linked. */
#include "runtime/aot/Tables.h"
#include <dlfcn.h>
#include <string.h>

enum {
  TW_FFI_NONE = 0,
  TW_FFI_INT = 1,
  TW_FFI_BOOL = 2,
  TW_FFI_FLOAT = 3,
  TW_FFI_POINTER = 4,
  TW_FFI_DLTENSOR = 7,
  TW_FFI_TENSOR = 70,
  TW_FFI_OBJECT_BYTES = 24 /* before the DLTensor of a tensor */
};
enum {
  TW_DL_CPU = 1,
  TW_DL_CUDA = 2,
  TW_DL_CUDA_HOST = 3,
  TW_DL_ROCM = 10,
  TW_DL_ROCM_HOST = 11,
  TW_DL_CUDA_MANAGED = 13
};

/* An argument or a result: TVMFFIAny. */
struct tw_ffi_any {
  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void *pointer;
  } value;
};
/* DLTensor. */
struct tw_dl_tensor {
  void *data;
  int32_t device_type, device_id, num_dims;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

/* What a parameter takes: of a pointer DLPack's code and bits of the elements, of numbers 'i', 'u',
 * 'b' or 'f' with bits; brain floats have 17. */
struct tw_ffi_type {
  char kind; /* 'p' */
  uint8_t code, bits;
};

/* Of the library that called, whose symbols may be its own: found by its name, if not linked. */
static void *tw_ffi_function(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found) {
    void *library = dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
      found = dlsym(library, name);
      (void)dlclose(library); /* the caller holds it, too */
    }
  }
  return found;
}

static int tw_ffi_raise(const char *kind, const struct tilewright_error *error) {
  void (*raise)(const char *, const char *) = NULL;
  void *found = tw_ffi_function("TVMFFIErrorSetRaisedFromCStr");
  char message[sizeof(error->message) + 16];
  (void)snprintf(message, sizeof(message), "TW%04d: %s", error->code, error->message);
  memcpy(&raise, &found, sizeof(raise));
  if (raise)
    raise(kind, message);
  return -1;
}

static int tw_ffi_refuse(const struct tw_kernel *kernel, unsigned index, const char *why) {
  struct tilewright_error error;
  (void)tw_fail(&error, TILEWRIGHT_OPERATOR, "the argument `%s` of %s %s",
                kernel->arguments[index].name, kernel->name, why);
  return tw_ffi_raise("TypeError", &error);
}

/* Where the launch runs by a tensor's device; nonzero where it contradicts an earlier one. */
static int tw_ffi_place(const struct tw_dl_tensor *tensor, struct tilewright_launch *launch) {
  int place, is_number = tensor->device_id >= 0 && tensor->device_id < TW_MAX_GPUS;
  switch (tensor->device_type) {
  case TW_DL_CPU:
  case TW_DL_CUDA_HOST:
  case TW_DL_ROCM_HOST:
    place = TILEWRIGHT_CPU;
    break;
  case TW_DL_CUDA:
  case TW_DL_CUDA_MANAGED:
    place = TILEWRIGHT_CUDA_GPU(tensor->device_id);
    break;
  case TW_DL_ROCM:
    place = TILEWRIGHT_HIP_GPU(tensor->device_id);
    break;
  default:
    return 1;
  }
  if (!is_number || (launch->device != TILEWRIGHT_AUTO && launch->device != place))
    return 1;
  launch->device = place;
  return 0;
}

/* The bytes from a tensor's first element to the end of its last. */
static uint64_t tw_ffi_span(const struct tw_dl_tensor *tensor) {
  uint64_t last = 0, step = 1;
  for (int32_t i = tensor->num_dims; i-- > 0;) {
    uint64_t extent = (uint64_t)tensor->shape[i];
    int64_t stride = tensor->strides ? tensor->strides[i] : (int64_t)step;
    if (!extent)
      return 0;
    last += (extent - 1) * (uint64_t)(stride < 0 ? -stride : stride);
    step *= extent;
  }
  return (last + 1) * ((tensor->bits + 7U) / 8U);
}

static const char *tw_ffi_pointer(const struct tw_ffi_type *type, const struct tw_ffi_any *given,
                                  uint64_t *value, uint64_t *bytes,
                                  struct tilewright_launch *launch) {
  if (given->type == TW_FFI_POINTER || given->type == TW_FFI_NONE) {
    *value = given->type == TW_FFI_NONE ? 0 : (uint64_t)(uintptr_t)given->value.pointer;
    return NULL;
  }
  if (given->type != TW_FFI_TENSOR && given->type != TW_FFI_DLTENSOR)
    return "is not a tensor";
  const char *object = given->value.pointer;
  const struct tw_dl_tensor *tensor =
      (const void *)(object + (given->type == TW_FFI_TENSOR ? TW_FFI_OBJECT_BYTES : 0));
  if (tensor->code != type->code || tensor->bits != type->bits || tensor->lanes != 1)
    return "is a tensor of another element type";
  if (tw_ffi_place(tensor, launch))
    return "is on another device than others, or on one that the package does not run on";
  *value = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
  *bytes = tw_ffi_span(tensor);
  return NULL;
}

static const char *tw_ffi_integer(const struct tw_ffi_type *type, int64_t given, uint64_t *value) {
  *value = (uint64_t)given;
  return tw_fits(type->kind, type->bits, given) ? NULL : "is a number that its type does not have";
}

static const char *tw_ffi_number(const struct tw_ffi_type *type, const struct tw_ffi_any *given,
                                 uint64_t *value) {
  int is_integer = given->type == TW_FFI_INT || given->type == TW_FFI_BOOL;
  if (!is_integer && (given->type != TW_FFI_FLOAT || type->kind != 'f'))
    return "is not such a number";
  if (type->kind == 'b')
    *value = given->value.integer != 0;
  else if (type->kind != 'f')
    return tw_ffi_integer(type, given->value.integer, value);
  else
    *value =
        tw_float_bits(type->bits, is_integer ? (double)given->value.integer : given->value.real);
  return NULL;
}

/* The current stream of a GPU, as the caller's library knows it. */
static void *tw_ffi_stream(int device) {
  void *(*stream)(int32_t, int32_t) = NULL;
  void *found = tw_ffi_function("TVMFFIEnvGetStream");
  memcpy(&stream, &found, sizeof(stream));
  if (!stream || device < TILEWRIGHT_CUDA_GPU(0))
    return NULL;
  return device >= TILEWRIGHT_HIP_GPU(0) ? stream(TW_DL_ROCM, device - TILEWRIGHT_HIP_GPU(0))
                                         : stream(TW_DL_CUDA, device - TILEWRIGHT_CUDA_GPU(0));
}

/* A call: the kernel's arguments in order, then up to three extents of the grid. */
static int tw_ffi_call(const struct tw_package *package, unsigned number,
                       const struct tw_ffi_type *types, const struct tw_ffi_any *given,
                       int32_t count, struct tw_ffi_any *result) {
  const struct tw_kernel *kernel = &package->kernels[number];
  struct tilewright_launch launch = {{0, 0, 0}, TILEWRIGHT_AUTO, NULL};
  struct tilewright_error error;
  uint64_t values[TW_MAX_ARGUMENTS] = {0}, bytes[TW_MAX_ARGUMENTS] = {0};
  int32_t taken = (int32_t)kernel->num_arguments;
  if (count < taken || count > taken + 3) {
    (void)tw_fail(&error, TILEWRIGHT_OPERATOR,
                  "%s takes %d arguments and up to three extents of its grid, and %d are given",
                  kernel->name, (int)taken, (int)count);
    return tw_ffi_raise("TypeError", &error);
  }
  for (int32_t i = 0; i < taken; ++i) {
    const char *why = types[i].kind == 'p'
                          ? tw_ffi_pointer(&types[i], &given[i], &values[i], &bytes[i], &launch)
                          : tw_ffi_number(&types[i], &given[i], &values[i]);
    if (why)
      return tw_ffi_refuse(kernel, (unsigned)i, why);
  }
  for (int32_t i = 0; i < taken; ++i)
    if (tw_check_reach(kernel, (unsigned)i, bytes[i], launch.device, &error))
      return tw_ffi_raise("ValueError", &error);
  for (int32_t i = taken; i < count; ++i) {
    if (given[i].type != TW_FFI_INT) {
      (void)tw_fail(&error, TILEWRIGHT_OPERATOR, "an extent of the grid of %s is not an integer",
                    kernel->name);
      return tw_ffi_raise("TypeError", &error);
    }
    launch.grid[i - taken] = given[i].value.integer;
  }
  launch.stream = tw_ffi_stream(launch.device);
  if (tw_launch(package, number, kernel->interface, values, &launch, &error))
    return tw_ffi_raise("RuntimeError", &error);
  result->type = TW_FFI_NONE;
  result->padding = 0;
  result->value.integer = 0;
  return 0;
}
