// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/recording.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {
namespace {

// recorded[place, ...] := array[...]
LoopProgram AppendProgram(const std::string& array, const NdArray& like,
                          const std::string& recorded, int64_t capacity) {
  Dims dims = like.dims();
  dims.insert(dims.begin(), capacity);
  LoopProgram program;
  program.name = absl::StrCat("record_", array);
  program.statics = {{recorded + ".place", capacity}};
  program.buffers = {{array, like.dtype(), Role::kIn, like.dims()},
                     {recorded, like.dtype(), Role::kInOut, dims}};
  Access from{.buffer = {0}, .indices = {}};
  Access to{.buffer = {1}, .indices = {Affine(Static(0))}};
  const auto rank = static_cast<int32_t>(like.dims().size());
  for (int32_t axis = 0; axis < rank; ++axis) {
    from.indices.push_back(Iterator({axis}));
    to.indices.push_back(Iterator({axis}));
  }
  Stmt stmt = Set{.target = to, .value = program.Read(from).id()};
  for (int32_t axis = rank; axis-- > 0;) {
    For loop{.kind = LoopKind::kFor,
             .iterator = {axis},
             .extent = like.dims()[axis],
             .body = {}};
    loop.body.stmts.push_back(std::move(stmt));
    stmt = std::move(loop);
  }
  program.body.stmts.push_back(std::move(stmt));
  return program;
}

}  // namespace

absl::StatusOr<Recording> Recording::Make(const Context& context,
                                          absl::string_view name,
                                          int64_t capacity) {
  if (capacity < 1) {
    return UserError("a recording of `", name, "` cannot hold ", capacity,
                     " values; give it room for at least 1");
  }
  OCANNL_ASSIGN_OR_RETURN(NdArray like, context.ZerosLike(name));
  const std::vector<std::string> taken = context.ArrayNames();
  std::string recorded = absl::StrCat(name, ".recorded");
  for (int k = 2; absl::c_linear_search(taken, recorded); ++k) {
    recorded = absl::StrCat(name, ".recorded_", k);
  }
  LoopProgram program =
      AppendProgram(std::string(name), like, recorded, capacity);
  OCANNL_RETURN_IF_ERROR(context.Write(
      recorded, NdArray(like.dtype(), program.buffers[{1}].dims)));
  OCANNL_ASSIGN_OR_RETURN(Routine append,
                          context.CompileAndLink(std::move(program)));
  OCANNL_ASSIGN_OR_RETURN(StaticRef place, append.Static(recorded + ".place"));
  return Recording(std::move(append), std::move(place), std::move(recorded),
                   capacity);
}

absl::Status Recording::Append() {
  if (count_ == capacity_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "`", array_, "` is full: it holds ", capacity_,
        " values; call Take() before that, or make a larger recording"));
  }
  OCANNL_RETURN_IF_ERROR(place_.Set(count_));
  OCANNL_RETURN_IF_ERROR(append_.Run());
  ++count_;
  return absl::OkStatus();
}

absl::StatusOr<NdArray> Recording::Take() {
  if (count_ == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "`", array_, "` holds no value; call Append() after a run"));
  }
  OCANNL_ASSIGN_OR_RETURN(NdArray all, append_.context().Read(array_));
  Dims dims = all.dims();
  dims[0] = count_;
  NdArray taken(all.dtype(), dims);
  std::memcpy(taken.data(), all.data(), taken.bytes());
  count_ = 0;
  return taken;
}

}  // namespace ocannl
