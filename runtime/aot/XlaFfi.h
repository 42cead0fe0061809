/* The part of XLA's interface for foreign functions that kernels are called by: structures as
 * xla/ffi/api/c_api.h of jaxlib 0.10 (version 0.3) lays them out; fields are only added at ends.
 * Nothing of it is linked. */
#ifndef RUNTIME_AOT_XLAFFI_H
#define RUNTIME_AOT_XLAFFI_H
#include <stddef.h>
#include <stdint.h>

enum { TW_XLA_METADATA = 1 };                  /* XLA_FFI_Extension_Type */
enum { TW_XLA_EXECUTE = 3 };                   /* XLA_FFI_ExecutionStage */
enum { TW_XLA_BUFFER = 1 };                    /* XLA_FFI_ArgType, XLA_FFI_RetType */
enum { TW_XLA_SCALAR = 3, TW_XLA_STRING = 4 }; /* XLA_FFI_AttrType */
enum { TW_XLA_INVALID_ARGUMENT = 3, TW_XLA_FAILED_PRECONDITION = 9, TW_XLA_INTERNAL = 13 };

struct tw_xla_extension {
  size_t bytes;
  int32_t type;
  struct tw_xla_extension *next;
};
struct tw_xla_version {
  size_t bytes;
  struct tw_xla_extension *extensions;
  int32_t major_version, minor_version;
};
struct tw_xla_metadata {
  size_t bytes;
  struct tw_xla_version version; /* out */
  uint32_t traits;               /* out */
};
struct tw_xla_metadata_extension {
  struct tw_xla_extension base;
  struct tw_xla_metadata *metadata;
};

struct tw_xla_error; /* XLA's own */
struct tw_xla_error_args {
  size_t bytes;
  struct tw_xla_extension *extensions;
  const char *message;
  int32_t code;
};
struct tw_xla_context; /* XLA's own */
struct tw_xla_stream_args {
  size_t bytes;
  struct tw_xla_extension *extensions;
  struct tw_xla_context *context;
  void *stream; /* out */
};
struct tw_xla_ordinal_args {
  size_t bytes;
  struct tw_xla_extension *extensions;
  struct tw_xla_context *context;
  int32_t ordinal; /* out */
};
/* XLA_FFI_Api. */
struct tw_xla_api {
  size_t bytes;
  struct tw_xla_extension *extensions;
  struct tw_xla_version version;
  const void *internals;
  struct tw_xla_error *(*create_error)(struct tw_xla_error_args *args);
  void (*get_message)(void *args);
  void (*destroy_error)(void *args);
  void *register_handler;
  struct tw_xla_error *(*get_stream)(struct tw_xla_stream_args *args);
  void *unused[12]; /* Type_Register to RunId_Get */
  struct tw_xla_error *(*get_ordinal)(struct tw_xla_ordinal_args *args);
};

/* XLA_FFI_Buffer: dense, the last dimension innermost. */
struct tw_xla_buffer {
  size_t bytes;
  struct tw_xla_extension *extensions;
  int32_t element; /* XLA_FFI_DataType */
  void *data;
  int64_t rank, *dims;
};
/* XLA_FFI_ByteSpan. */
struct tw_xla_text {
  const char *data;
  size_t size;
};
/* XLA_FFI_Scalar. */
struct tw_xla_scalar {
  int32_t element;
  void *value;
};
/* XLA_FFI_Args, XLA_FFI_Rets. */
struct tw_xla_values {
  size_t bytes;
  struct tw_xla_extension *extensions;
  int64_t count;
  int32_t *types;
  void **values;
};
struct tw_xla_attributes {
  size_t bytes;
  struct tw_xla_extension *extensions;
  int64_t count;
  int32_t *types;
  struct tw_xla_text **names;
  void **values;
};
/* XLA_FFI_CallFrame. */
struct tw_xla_frame {
  size_t bytes;
  struct tw_xla_extension *extensions;
  const struct tw_xla_api *api;
  struct tw_xla_context *context;
  int32_t stage;
  struct tw_xla_values arguments, results;
  struct tw_xla_attributes attributes;
};

/* Answers XLA's question for the version that a handler was written for; nonzero where the call
 * asks that. Later minor versions only add fields, so the answer is the one that asks. */
static inline int tw_xla_answer(const struct tw_xla_frame *frame) {
  struct tw_xla_extension *extension = frame->extensions;
  if (!extension || extension->type != TW_XLA_METADATA)
    return 0;
  struct tw_xla_metadata *metadata = ((struct tw_xla_metadata_extension *)extension)->metadata;
  metadata->version.major_version = 0;
  metadata->version.minor_version = frame->api ? frame->api->version.minor_version : 3;
  return 1;
}

static inline struct tw_xla_error *tw_xla_fail(const struct tw_xla_frame *frame, int32_t code,
                                               const char *message) {
  struct tw_xla_error_args args = {sizeof(args), NULL, message, code};
  return frame->api->create_error(&args);
}

/* The value of an attribute of a type; null where there is none. */
static inline const void *tw_xla_attribute(const struct tw_xla_frame *frame, int32_t type,
                                           const char *name, size_t length) {
  const struct tw_xla_attributes *all = &frame->attributes;
  for (int64_t i = 0; i < all->count; ++i) {
    const struct tw_xla_text *its = all->names[i];
    int is_same = its->size == length && all->types[i] == type;
    for (size_t k = 0; is_same && k < length; ++k)
      is_same = its->data[k] == name[k];
    if (is_same)
      return all->values[i];
  }
  return NULL;
}

#endif
