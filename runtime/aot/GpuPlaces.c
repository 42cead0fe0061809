/* Which GPU a launch runs on, of which maker. */
#include "runtime/aot/Tables.h"

static int tw_launch_on_cpu(const struct tw_gpu_launch *job, struct tilewright_error *error) {
  return job->grid ? tw_cpu_launch(job->kernel, job->variant, job->values, job->grid, error)
                   : TILEWRIGHT_SUCCESS;
}

static int tw_has_code(const struct tw_variant *variant, unsigned maker) {
  for (unsigned i = 0; i < variant->num_gpu; ++i)
    if (variant->gpu[i].maker == maker)
      return 1;
  return 0;
}

/* The failures of two drivers as one, whose number is that of the one that is more of a driver. */
static int tw_add_failure(int failure, const struct tilewright_error *added,
                          struct tilewright_error *error) {
  char earlier[240] = "";
  if (failure && error)
    (void)snprintf(earlier, sizeof(earlier), "%.235s; ", error->message);
  int code = failure && failure != TILEWRIGHT_NO_DRIVER ? failure : added->code;
  return tw_fail(error, code, "%s%.255s", earlier, added->message);
}

/* The first maker whose driver opens, of those that the variant has code for. */
static int tw_open_any(const struct tw_variant *variant, struct tw_gpus **gpus,
                       struct tilewright_error *error) {
  int failure = TILEWRIGHT_SUCCESS;
  for (unsigned maker = 0; maker < TW_NUM_MAKERS; ++maker) {
    struct tilewright_error told = {0, ""};
    *gpus = &tw_all_gpus[maker];
    if (!tw_has_code(variant, maker))
      continue;
    if (!tw_open_driver(*gpus, &told))
      return TILEWRIGHT_SUCCESS;
    failure = tw_add_failure(failure, &told, error);
  }
  return failure;
}

/* On the GPU of a number, of one maker, or of the first that there is (`maker` is TW_NUM_MAKERS).
 */
static int tw_launch_numbered(const struct tw_gpu_launch *job, unsigned maker, int number,
                              struct tilewright_error *error) {
  struct tw_gpus *gpus = NULL;
  int failure;
  if (maker == TW_NUM_MAKERS)
    failure = tw_open_any(job->variant, &gpus, error);
  else {
    gpus = &tw_all_gpus[maker];
    if (!tw_has_code(job->variant, maker))
      return tw_fail(error, TILEWRIGHT_NO_ARCH, "the package has no code of %s for the %s",
                     job->kernel->name, gpus->maker->driver);
    failure = tw_open_driver(gpus, error);
  }
  return failure ? failure : tw_gpu_launch_on(gpus, job, number, error);
}

/* In the calling thread's current CUDA context; `is_there` tells whether it has one. */
static int tw_launch_in_context(const struct tw_gpu_launch *job, int *is_there,
                                struct tilewright_error *error) {
  struct tw_gpus *gpus = &tw_all_gpus[TW_CUDA];
  struct tw_gpu_current current = {NULL, 0, 0};
  struct tw_gpu_context *context = NULL;
  *is_there = 0;
  int failure = tw_open_driver(gpus, error);
  if (!failure)
    failure = tw_find_current(gpus, &current, job->kernel->name, error);
  if (failure)
    return failure;
  *is_there = current.is_there;
  return *is_there ? tw_gpu_launch_here(gpus, job, &current, &context, error)
                   : tw_fail(error, TILEWRIGHT_NO_GPU,
                             "the calling thread has no current CUDA context: make one current, or "
                             "launch on TILEWRIGHT_GPU(0)");
}

/* On the calling thread's current HIP device, which every thread has; after `failure` of CUDA's. */
static int tw_launch_on_hip(const struct tw_gpu_launch *job, int failure,
                            struct tilewright_error *error) {
  struct tw_gpus *gpus = &tw_all_gpus[TW_HIP];
  struct tw_gpu_current current = {NULL, 0, 0};
  struct tw_gpu_context *context = NULL;
  struct tilewright_error told = {0, ""};
  if (tw_open_driver(gpus, &told))
    return tw_add_failure(failure, &told, error);
  failure = tw_find_current(gpus, &current, job->kernel->name, error);
  return failure ? failure : tw_gpu_launch_here(gpus, job, &current, &context, error);
}

static int tw_launch_current(const struct tw_gpu_launch *job, struct tilewright_error *error) {
  int is_there = 0, failure = TILEWRIGHT_SUCCESS;
  if (tw_has_code(job->variant, TW_CUDA))
    failure = tw_launch_in_context(job, &is_there, error);
  if (is_there || !tw_has_code(job->variant, TW_HIP))
    return failure;
  return tw_launch_on_hip(job, failure, error);
}

/* In a current CUDA context, else on the processor, else on the first GPU that there is, else on the
 * first OpenCL device. */
static int tw_launch_anywhere(const struct tw_gpu_launch *job, struct tilewright_error *error) {
  struct tw_gpus *cuda = &tw_all_gpus[TW_CUDA];
  int is_there = 0, failure = TILEWRIGHT_SUCCESS;
  if (tw_has_code(job->variant, TW_CUDA))
    failure = tw_launch_in_context(job, &is_there, error);
  if (is_there)
    return failure;
  if (job->variant->num_cpu)
    return tw_launch_on_cpu(job, error);
  if (tw_has_code(job->variant, TW_CUDA) && tw_open_driver(cuda, NULL) == 0)
    return tw_gpu_launch_on(cuda, job, 0, error);
  if (!tw_has_code(job->variant, TW_HIP) && tw_has_code(job->variant, TW_OPENCL))
    return tw_launch_on_opencl(job, 0, error);
  return tw_has_code(job->variant, TW_HIP) ? tw_launch_on_hip(job, failure, error) : failure;
}
