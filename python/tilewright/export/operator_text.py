"""The text in C++ that every file of operators begins with."""

HEAD = """\
// {package}_torch.cpp: the kernels of {package} as torch.ops.{package}.NAME. C++ of the version that
// torch's headers ask for; link with {package}.a, libtorch, -ldl and -lpthread.
#include "{package}.h"
#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <optional>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>
#include <tuple>

namespace {{
/// Where the tensors of a call are, and whether any of them has no memory, as of torch's tracing.
struct Place {{
  const char *kernel;
  std::optional<c10::Device> device = std::nullopt;
  bool isMeta = false;

  void add(const at::Tensor &tensor, const char *name, at::ScalarType type) {{
    TORCH_CHECK(tensor.scalar_type() == type, "TW0822: the argument `", name, "` of ", kernel, " is of ",
                tensor.scalar_type(), ", and the package takes ", type);
    TORCH_CHECK(tensor.layout() == at::kStrided, "TW0822: the argument `", name, "` of ", kernel,
                " is not a dense tensor");
    TORCH_CHECK(!device || *device == tensor.device(), "TW0822: the argument `", name, "` of ", kernel,
                " is on ", tensor.device(), ", and others are on ", *device);
    device = tensor.device();
    isMeta = isMeta || tensor.is_meta();
  }}
}};

/// Elements that share memory, as those of an expanded tensor, would be written several times. Symbolic
/// sizes do not tell.
[[maybe_unused]] void checkWritten(const at::Tensor &tensor, const char *name, const char *kernel) {{
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    return;
  TORCH_CHECK(at::has_internal_overlap(tensor) != at::MemOverlap::Yes, "TW0822: the argument `", name,
              "` of ", kernel, " is written, and several of its elements share memory (strides ",
              tensor.strides(), " of sizes ", tensor.sizes(), "): pass a copy (clone, contiguous)");
}}

/// Code that is not for large arrays reaches memory by offsets of 32 bits, which count elements, but
/// bytes on AMD's GPUs. Of a view all memory counts, as a kernel may reach around it.
[[maybe_unused]] void checkReach(const at::Tensor &tensor, uint64_t elementBytes, const char *name,
                                 const char *kernel) {{
  if (!tensor.has_storage() || tensor.is_meta())
    return;
  uint64_t most = tensor.is_cuda() && at::Context::hasROCM() ? 0x7FFF0000 : 0x7FFFFFFF * elementBytes;
  TORCH_CHECK(tensor.storage().nbytes() <= most, "TW0822: the argument `", name, "` of ", kernel, " has ",
              tensor.storage().nbytes(), " bytes of memory, and code of the package reaches ", most,
              ": export it as :large");
}}

/// Code that is told no strides takes elements one after the other. Symbolic sizes do not tell.
[[maybe_unused]] void checkContiguous(const at::Tensor &tensor, const char *name, const char *kernel) {{
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    return;
  TORCH_CHECK(tensor.is_contiguous(), "TW0822: the argument `", name, "` of ", kernel, " has strides ",
              tensor.strides(), " of sizes ", tensor.sizes(),
              ", and the kernel takes a contiguous tensor: pass a copy (contiguous)");
}}

/// Each stride is a number that the kernel takes for granted, or -1 for one that it is told.
[[maybe_unused]] void checkStrides(const at::Tensor &tensor, std::initializer_list<int64_t> known,
                                   const char *name, const char *kernel) {{
  TORCH_CHECK(tensor.dim() == int64_t(known.size()), "TW0822: the argument `", name, "` of ", kernel, " has ",
              tensor.dim(), " dimensions, and the kernel takes ", known.size());
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    return;
  for (size_t dimension = 0; dimension < known.size(); ++dimension) {{
    int64_t stride = known.begin()[dimension];
    TORCH_CHECK(stride < 0 || tensor.size(dimension) < 2 || tensor.stride(dimension) == stride,
                "TW0822: the argument `", name, "` of ", kernel, " has the stride ", tensor.stride(dimension),
                " in dimension ", dimension, ", and the kernel takes ", stride, ": pass a copy (contiguous)");
  }}
}}

/// Refuses to write where torch's in-place operators would not.
[[maybe_unused]] void refuseLeaf(const at::Tensor &tensor, const char *name, const char *kernel) {{
  bool isKept = at::GradMode::is_enabled() && tensor.requires_grad() &&
                (tensor.is_leaf() || (tensor.is_view() && tensor._base().is_leaf()));
  TORCH_CHECK(!isKept, "TW0440: the operator ", kernel, " stores to `", name,
              "`, which is a leaf that requires grad, or a view of one: call it under torch.no_grad(), or pass "
              "tensor.detach()");
}}

/// Operators have no rule for forward derivatives.
[[maybe_unused]] void refuseTangent(const at::Tensor &tensor, const char *kernel) {{
  TORCH_CHECK(!torch::autograd::isFwGradDefined(tensor), "TW0445: a forward derivative of the operator ", kernel,
              " has no rule: use reverse mode (torch.func.vjp, backward)");
}}

/// Makes a node of autograd's graph; torch counts references to them in one of two ways.
template <typename Record> [[maybe_unused]] auto makeRecord() {{
  using Pointer = decltype(torch::autograd::Edge::function);
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
    return std::shared_ptr<Record>(new Record);
  else
    return c10::make_intrusive<Record>();
}}

/// The gradient of a result as kernels take it: contiguous, and zeros where there is none.
[[maybe_unused]] at::Tensor gradientOf(const torch::autograd::Node &record, const at::Tensor &gradient,
                                       size_t result) {{
  return gradient.defined() ? gradient.contiguous() : record.input_metadata(result).zeros_like();
}}

/// A batch of torch.func.vmap, the innermost of its arguments, for a kernel that computes all of it.
struct [[maybe_unused]] Batch {{
  int64_t level = 0;
  c10::SymInt count = 0;

  Batch(std::initializer_list<at::Tensor> tensors, const char *kernel, bool hasGrid) {{
    TORCH_CHECK(!hasGrid, "TW0441: the operator ", kernel, " is within torch.func.vmap with a grid of a single call");
    for (const at::Tensor &tensor : tensors) {{
      const auto *batched = at::functorch::maybeGetBatchedImpl(tensor);
      if (batched && batched->level() > level) {{
        level = batched->level();
        count = batched->value().sym_size(batched->bdim());
      }}
    }}
  }}

  const at::functorch::BatchedTensorImpl *memberOf(const at::Tensor &tensor) const {{
    const auto *batched = at::functorch::maybeGetBatchedImpl(tensor);
    return batched && batched->level() == level ? batched : nullptr;
  }}

  /// The tensor with the batch as its first dimension, contiguous; one that is the same for all is repeated.
  at::Tensor of(const at::Tensor &tensor) const {{
    if (const auto *batched = memberOf(tensor))
      return batched->value().movedim(batched->bdim(), 0).contiguous();
    at::Tensor one = tensor.unsqueeze(0);
    std::vector<c10::SymInt> sizes(one.dim(), -1);
    sizes[0] = count;
    return one.expand_symint(sizes).contiguous();
  }}
}};

// Sizes of results: quotients of numbers that are not negative.
[[maybe_unused]] c10::SymInt tw_floor_quotient(const c10::SymInt &a, const c10::SymInt &b) {{ return a / b; }}
[[maybe_unused]] c10::SymInt tw_floor_remainder(const c10::SymInt &a, const c10::SymInt &b) {{ return a % b; }}
[[maybe_unused]] c10::SymInt tw_ceiling_quotient(const c10::SymInt &a, const c10::SymInt &b) {{
  return (a + b - 1) / b;
}}
[[maybe_unused]] c10::SymInt tw_lesser(const c10::SymInt &a, const c10::SymInt &b) {{ return a.min(b); }}
[[maybe_unused]] c10::SymInt tw_greater(const c10::SymInt &a, const c10::SymInt &b) {{ return a.max(b); }}

/// Code that takes two arrays for apart; the launch itself compares where they begin.
[[maybe_unused]] void checkApart(const at::Tensor &written, const char *name, const at::Tensor &other,
                                 const char *otherName, const char *kernel) {{
  bool isPartial = at::get_overlap_status(written, other) == at::MemOverlapStatus::Partial &&
                   written.const_data_ptr() != other.const_data_ptr();
  TORCH_CHECK(!isPartial, "TW0822: the arguments `", name, "` and `", otherName, "` of ", kernel,
              " overlap, and the first is written: pass a copy of one of them");
}}

/// A tensor that is written gets memory of its own where it shares another's until then.
[[maybe_unused]] void *addressOf(const at::Tensor &tensor, bool isWritten) {{
  return isWritten ? tensor.mutable_data_ptr() : const_cast<void *>(tensor.const_data_ptr());
}}

/// Tells torch that a tensor has other values now, which a backward pass checks.
[[maybe_unused]] void markWritten(const at::Tensor &tensor) {{
  if (!tensor.is_inference())
    tensor.unsafeGetTensorImpl()->bump_version();
}}

/// Of 64 bits without a sign by its bits.
template <typename T>
[[maybe_unused]] T narrowed(int64_t value, const char *name, const char *kernel) {{
  TORCH_CHECK(int64_t(T(value)) == value, "TW0822: the argument `", name, "` of ", kernel,
              " is ", value, ", which its type does not have");
  return T(value);
}}

tilewright_launch launchOf(const Place &place, at::IntArrayRef grid) {{
  tilewright_launch launch = {{}};
  TORCH_CHECK(grid.size() <= 3, "TW0822: the grid of ", place.kernel, " has ", grid.size(), " extents");
  for (size_t axis = 0; axis < grid.size(); ++axis)
    launch.grid[axis] = grid[axis];
  if (!place.device)
    return launch;
  TORCH_CHECK(place.device->is_cpu() || place.device->is_cuda(), "TW0822: the tensors of ", place.kernel,
              " are on ", *place.device, ", where no kernel of the package runs");
  launch.device = TILEWRIGHT_CPU;
  if (place.device->is_cuda()) {{
    // torch for ROCm calls its GPUs "cuda", too.
    int number = place.device->index();
    launch.device = at::Context::hasROCM() ? TILEWRIGHT_HIP_GPU(number) : TILEWRIGHT_CUDA_GPU(number);
    launch.stream = c10::impl::VirtualGuardImpl(place.device->type()).getStream(*place.device).native_handle();
  }}
  return launch;
}}

void check(int code, const tilewright_error &error) {{
  TORCH_CHECK(code == 0, "TW0", code, ": ", error.message);
}}
"""
