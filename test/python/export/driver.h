/* The CUDA driver as a program uses it that has its own context and memory. */
#ifndef EXPORT_DRIVER_H
#define EXPORT_DRIVER_H
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define ALIGNED alignas(16)
#else
#define ALIGNED _Alignas(16)
#endif

struct driver {
  int (*init)(unsigned);
  int (*retain)(void **, int);
  int (*push)(void *);
  int (*pop)(void **);
  int (*current)(void **);
  int (*allocate)(uint64_t *, size_t);
  int (*to_device)(uint64_t, const void *, size_t);
  int (*to_host)(void *, uint64_t, size_t);
  const char *(*record)(void);
  void (*configure)(const char *);
  int (*live)(void);
};

static inline void find(void *library, const char *name, void *place) {
  void *function = dlsym(library, name);
  memcpy(place, &function, sizeof(function));
}

/* All null where there is no driver. */
static inline struct driver open_driver(void) {
  struct driver driver;
  memset(&driver, 0, sizeof(driver));
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return driver;
  find(library, "cuInit", &driver.init);
  find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
  find(library, "cuCtxPushCurrent_v2", &driver.push);
  find(library, "cuCtxPopCurrent_v2", &driver.pop);
  find(library, "cuCtxGetCurrent", &driver.current);
  find(library, "cuMemAlloc_v2", &driver.allocate);
  find(library, "cuMemcpyHtoD_v2", &driver.to_device);
  find(library, "cuMemcpyDtoH_v2", &driver.to_host);
  find(library, "cudaDoubleRecord", &driver.record);
  find(library, "cudaDoubleConfigure", &driver.configure);
  find(library, "cudaDoubleLiveObjects", &driver.live);
  return driver;
}

#endif
