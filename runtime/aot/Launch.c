/* What the functions of a package's header do: check, choose, launch. */
#include "runtime/aot/Tables.h"

static int tw_read_grid(const struct tw_kernel *kernel, const struct tw_variant *variant,
                        const struct tilewright_launch *launch, const uint64_t *values,
                        int64_t *grid, struct tilewright_error *error) {
  const int64_t *given = launch->grid;
  if (!given[0] && (given[1] || given[2]))
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid (0, %lld, %lld) of %s has no first extent: leave all three 0 for the "
                   "grid of the package, and launch nothing for an empty one",
                   (long long)given[1], (long long)given[2], kernel->name);
  if (given[0]) {
    for (int axis = 0; axis < 3; ++axis)
      grid[axis] = axis > 0 && given[axis] == 0 ? 1 : given[axis];
  } else if (variant->grid)
    variant->grid(values, grid);
  else
    return tw_fail(error, TILEWRIGHT_BAD_GRID, "the launch of %s has no grid: set launch.grid",
                   kernel->name);
  for (int axis = 0; axis < 3; ++axis)
    if (grid[axis] < 0 || grid[axis] > INT32_MAX)
      return tw_fail(error, TILEWRIGHT_BAD_GRID,
                     "the grid (%lld, %lld, %lld) of %s is out of range in dimension %d",
                     (long long)grid[0], (long long)grid[1], (long long)grid[2], kernel->name,
                     axis);
  return TILEWRIGHT_SUCCESS;
}

static int tw_launch_at(const struct tw_gpu_launch *job, int device,
                        struct tilewright_error *error) {
  if (device == TILEWRIGHT_CPU || (device == TILEWRIGHT_AUTO && job->variant->num_gpu == 0))
    return tw_launch_on_cpu(job, error);
  if (device == TILEWRIGHT_AUTO)
    return tw_launch_anywhere(job, error);
  if (device != TILEWRIGHT_CURRENT_GPU &&
      (device < TILEWRIGHT_GPU(0) || device >= TILEWRIGHT_OPENCL_DEVICE(TW_MAX_GPUS)))
    return tw_fail(error, TILEWRIGHT_NO_GPU, "launch.device is %d, which is no place", device);
  if (job->variant->num_gpu == 0)
    return tw_fail(error, TILEWRIGHT_NO_ARCH, "the package has no code of %s for GPUs",
                   job->kernel->name);
  if (device == TILEWRIGHT_CURRENT_GPU)
    return tw_launch_current(job, error);
  if (device >= TILEWRIGHT_OPENCL_DEVICE(0))
    return tw_launch_on_opencl(job, device - TILEWRIGHT_OPENCL_DEVICE(0), error);
  if (device >= TILEWRIGHT_HIP_GPU(0))
    return tw_launch_numbered(job, TW_HIP, device - TILEWRIGHT_HIP_GPU(0), error);
  if (device >= TILEWRIGHT_CUDA_GPU(0))
    return tw_launch_numbered(job, TW_CUDA, device - TILEWRIGHT_CUDA_GPU(0), error);
  return tw_launch_numbered(job, TW_NUM_MAKERS, device - TILEWRIGHT_GPU(0), error);
}

/* Runs the chosen variant where the launch says; `grid` is null to load it only. A place that was
 * tried before may have left its words. */
static int tw_dispatch(const struct tw_gpu_launch *job, int device,
                       struct tilewright_error *error) {
  tw_watch_forks();
  int failure = tw_launch_at(job, device, error);
  if (!failure && error)
    error->code = TILEWRIGHT_SUCCESS;
  return failure;
}

/* `values` is null where the caller gave no arguments of a kernel that takes some. */
static int tw_launch(const struct tw_package *package, unsigned number, uint64_t interface,
                     const uint64_t *values, const struct tilewright_launch *launch,
                     struct tilewright_error *error) {
  static const struct tilewright_launch anywhere;
  const struct tw_kernel *kernel = &package->kernels[number];
  int64_t grid[3] = {1, 1, 1};
  if (error)
    error->code = TILEWRIGHT_SUCCESS;
  if (interface != kernel->interface)
    return tw_fail(error, TILEWRIGHT_INTERFACE,
                   "the program was compiled with the header of another export of %s",
                   kernel->name);
  if (!values)
    return tw_fail(error, TILEWRIGHT_NULL_POINTER,
                   "the structure of arguments of %s is a null pointer", kernel->name);
  launch = launch ? launch : &anywhere;
  const struct tw_variant *variant = tw_choose(kernel, values);
  if (!variant)
    return tw_refuse(kernel, values, error);
  int failure = tw_read_grid(kernel, variant, launch, values, grid, error);
  if (failure || grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return failure;
  for (unsigned i = 0; i < kernel->num_arguments; ++i)
    if (kernel->arguments[i].is_pointer && values[i] == 0)
      return tw_fail(error, TILEWRIGHT_NULL_POINTER, "the argument `%s` of %s is a null pointer",
                     kernel->arguments[i].name, kernel->name);
  struct tw_gpu_launch job = {package, kernel, variant, values, grid, launch->stream};
  return tw_dispatch(&job, launch->device, error);
}

/* Loads every variant of a package where launches will run, so that none has to: a launch within
 * the capture of a CUDA graph, for example. */
static int tw_load(const struct tw_package *package, const struct tilewright_launch *launch,
                   struct tilewright_error *error) {
  if (error)
    error->code = TILEWRIGHT_SUCCESS;
  for (unsigned i = 0; i < package->num_kernels; ++i)
    for (unsigned j = 0; j < package->kernels[i].num_variants; ++j) {
      const struct tw_kernel *kernel = &package->kernels[i];
      struct tw_gpu_launch job = {package, kernel, &kernel->variants[j], NULL, NULL, NULL};
      int failure = tw_dispatch(&job, launch ? launch->device : TILEWRIGHT_AUTO, error);
      if (failure)
        return failure;
    }
  return TILEWRIGHT_SUCCESS;
}

/* Frees code, threads and contexts. Nothing of the package may run. A later launch loads anew. */
static void tw_unload(const struct tw_package *package) {
  tw_watch_forks();
  tw_gpu_unload(package);
  tw_opencl_unload();
  tw_pool_unload();
}
