/* What the headers of all exported packages share: how to launch a kernel, and what went wrong. */
#ifndef TILEWRIGHT_AOT_ABI
#define TILEWRIGHT_AOT_ABI 2
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TILEWRIGHT_NOEXCEPT noexcept
extern "C" {
#else
#define TILEWRIGHT_NOEXCEPT
#endif

/* Where a launch runs. TILEWRIGHT_AUTO is the GPU of the calling thread's current CUDA context
 * where there is one and the package has code for such GPUs, else the processor where the package
 * has code for it, else GPU 0 of CUDA, else the thread's current HIP device, else OpenCL device 0.
 * The processor and OpenCL devices read and write memory of the host, a GPU its own.
 * TILEWRIGHT_CURRENT_GPU is that of the current CUDA context, else the thread's current HIP
 * device. */
enum tilewright_place { TILEWRIGHT_AUTO = 0, TILEWRIGHT_CPU = 1, TILEWRIGHT_CURRENT_GPU = 2 };
/* The GPU of that number, up to 4079: of CUDA (in its primary context) where its driver has GPUs
 * and the package has code for them, else of HIP. What is current in the calling thread stays as it
 * is. */
#define TILEWRIGHT_GPU(number) (16 + (number))
/* The same of one maker, for machines with GPUs of both. */
#define TILEWRIGHT_CUDA_GPU(number) (4096 + (number))
#define TILEWRIGHT_HIP_GPU(number) (8192 + (number))
/* The OpenCL device of that number, of those that take SPIR-V in the order of the driver, on arrays
 * of the host; such a launch has ended when it returns. With a cl_command_queue as the stream the
 * launch goes into it, whatever the number, on pointers of its context (shared virtual memory). */
#define TILEWRIGHT_OPENCL_DEVICE(number) (12288 + (number))

/* How to launch. All zero: the grid that the package computes, anywhere, the default stream. */
struct tilewright_launch {
  int64_t grid[3]; /* programs along each axis; behind the first, 0 is 1 */
  int device;      /* of tilewright_place, or TILEWRIGHT_GPU(n) and the like */
  void *stream;    /* of GPUs: the CUstream, cudaStream_t, hipStream_t or cl_command_queue */
};

/* What functions return, 0 for success: `tilewright explain TW0813` has the page of each. */
enum tilewright_result {
  TILEWRIGHT_SUCCESS = 0,
  TILEWRIGHT_NO_GPU = 811,       /* TW0811 */
  TILEWRIGHT_NO_ARCH = 812,      /* TW0812 */
  TILEWRIGHT_NO_VARIANT = 813,   /* TW0813 */
  TILEWRIGHT_NULL_POINTER = 814, /* TW0814 */
  TILEWRIGHT_MISALIGNED = 815,   /* TW0815 */
  TILEWRIGHT_NO_MEMORY = 816,    /* TW0816 */
  TILEWRIGHT_DRIVER = 817,       /* TW0817 */
  TILEWRIGHT_BAD_GRID = 818,     /* TW0818 */
  TILEWRIGHT_NO_PROCESSOR = 819, /* TW0819 */
  TILEWRIGHT_OVERLAP = 820,      /* TW0820 */
  TILEWRIGHT_INTERFACE = 821,    /* TW0821 */
  TILEWRIGHT_OPERATOR = 822,     /* TW0822 */
  TILEWRIGHT_NO_DRIVER = 823,    /* TW0823 */
  TILEWRIGHT_NO_PERMISSION = 824 /* TW0824 */
};

/* Filled where a function fails and it is not null. */
struct tilewright_error {
  int code; /* of tilewright_result */
  char message[508];
};

/* Calls `body(data, begin, end)` for ranges that cover [0, count) once, on any threads, and returns
 * when all calls have. */
typedef void (*tilewright_parallel_for)(void *context, size_t count,
                                        void (*body)(void *data, size_t begin, size_t end),
                                        void *data);

#ifdef __cplusplus
}
#endif
#elif TILEWRIGHT_AOT_ABI != 2
#error "two Tilewright packages of different versions are included together: export both again"
#endif
