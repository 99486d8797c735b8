// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/linked_code.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {
namespace {

// If the array is shared, later work of `user` waits for the work that its
// owner has so far. `shared` is Context::State::shared.
template <class Shared>
void WaitForOwner(const Shared& shared, const DeviceArray& array,
                  Stream& user) {
  const auto found = shared.find(&array);
  if (found == shared.end()) return;
  if (const auto owner = found->second.lock()) {
    user.WaitFor((*owner)->Record());
  }
}

}  // namespace

Context::Context(Stream* stream)
    : state_(std::make_shared<State>(
          State{.stream = stream, .arrays = {}, .unused = {}, .shared = {}})) {
  CHECK(stream != nullptr) << "the stream of a Context is null";
}

absl::Status Context::CheckOwns(const DeviceArray& array,
                                absl::string_view user) const {
  if (!state_->shared.contains(&array)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(user, " cannot write `", array.name,
                   "`, which this context shares; write it in the one that ",
                   "it comes from"));
}

absl::Status Context::PrepareToWrite(const DeviceArray& array,
                                     absl::string_view user) const {
  OCANNL_RETURN_IF_ERROR(CheckOwns(array, user));
  return stream().WaitForReaders(array);
}

absl::Status Context::CheckGives(DeviceArray& array) const {
  if (!state_->shared.contains(&array)) {
    MarkUsed(array);
    array.unread = false;
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a context that shares `", array.name,
                   "` cannot give it away; take it from the one that it "
                   "comes from"));
}

bool Context::SharesMemoryWith(const Context& other) const {
  return &stream().device().backend().memory() ==
         &other.stream().device().backend().memory();
}

absl::Status Context::CheckMemory(absl::string_view name, const Context& from,
                                  absl::string_view copy) const {
  if (SharesMemoryWith(from)) return absl::OkStatus();
  return UserError("`", name, "` is in the memory of ",
                   from.stream().device().backend().memory().name(),
                   ", and this stream ", "works in that of ",
                   stream().device().backend().memory().name(), "; call ", copy,
                   "(\"", name, "\", from)");
}

absl::StatusOr<std::shared_ptr<DeviceArray>> Context::FindOrMake(
    absl::string_view name, DType dtype, const Dims& dims,
    absl::string_view user) const {
  auto found = state_->arrays.find(name);
  if (found != state_->arrays.end()) {
    const DeviceArray& array = *found->second;
    if (array.dtype == dtype && array.dims == dims) return found->second;
    return UserError(
        user, " needs `", name, "` as ", DescribeArray(dtype, dims),
        ", but the context has `", name, "` as ",
        DescribeArray(array.dtype, array.dims),
        "; give it so, or another name, or start from a new context");
  }
  return MakeDeviceArray(stream().device(), name, dtype, dims);
}

absl::StatusOr<Routine> Context::Link(
    LoopProgram program, std::shared_ptr<const Executable> executable) const {
  return LinkTo(
      std::make_shared<const LoopProgram>(std::move(program)),
      std::move(executable),
      [](const Buffer& buffer) -> absl::string_view { return buffer.name; });
}

absl::StatusOr<Routine> Context::LinkTo(
    std::shared_ptr<const LoopProgram> shared_program,
    std::shared_ptr<const Executable> executable,
    absl::FunctionRef<absl::string_view(const Buffer&)> name_of) const {
  const LoopProgram& program = *shared_program;
  if (executable == nullptr) {
    return UserError("the code of ", program.name,
                     " is null; give that of Compile");
  }
  auto record = std::make_shared<LinkedRoutine>();
  record->name = program.name;
  DeviceArrays arrays;
  arrays.reserve(program.buffers.size());
  const std::string user = absl::StrCat("routine `", program.name, "`");
  for (const Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) {
      arrays.push_back(nullptr);
      continue;
    }
    if (buffer.role == Role::kMerge) {
      OCANNL_ASSIGN_OR_RETURN(std::string name, MergedArray(program, buffer));
      OCANNL_ASSIGN_OR_RETURN(
          std::shared_ptr<DeviceArray> place,
          stream().merge().PlaceOf(name, buffer.dtype, buffer.dims));
      record->merges = place.get();
      arrays.push_back(std::move(place));
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(
        std::shared_ptr<DeviceArray> array,
        FindOrMake(name_of(buffer), buffer.dtype, buffer.dims, user));
    if (IsInput(buffer.role)) record->reads.push_back(array.get());
    if (IsResult(buffer.role)) {
      OCANNL_RETURN_IF_ERROR(CheckOwns(*array, user));
      record->writes.push_back(array.get());
    }
    arrays.push_back(std::move(array));
  }
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<const LinkedCode> code,
                          LinkCode(stream().device(), std::move(shared_program),
                                   std::move(executable), std::move(arrays)));
  for (const std::shared_ptr<DeviceArray>& array : code->arrays) {
    if (array == nullptr || array.get() == record->merges) continue;
    state_->arrays.emplace(array->name, array);
    MarkUsed(*array);
  }

  Context after = *this;
  after.lineage_ = std::make_shared<LineageNode>(
      LineageNode{.routine = record, .before = lineage_});
  Routine routine(std::move(code), std::move(after));
  routine.conflicts_ = Conflicts(lineage_, *record);
  routine.record_ = std::move(record);
  return routine;
}

absl::StatusOr<std::shared_ptr<const Executable>> Context::Compile(
    const LoopProgram& program) const {
  DefaultFloatEnvironment guard;  // a tier may fold constants
  OCANNL_RETURN_IF_ERROR(CheckNotCancelled());
  return stream().device().backend().Compile(program);
}

absl::StatusOr<Routine> Context::CompileAndLink(LoopProgram program) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Compile(program));
  return Link(std::move(program), std::move(executable));
}

absl::Status Context::WriteAll(
    absl::Span<const std::pair<std::string, NdArray>> arrays) const {
  std::vector<std::shared_ptr<DeviceArray>> found;
  for (const auto& [name, values] : arrays) {
    OCANNL_ASSIGN_OR_RETURN(
        found.emplace_back(),
        FindOrMake(name, values.dtype(), values.dims(), "the write"));
    OCANNL_RETURN_IF_ERROR(PrepareToWrite(*found.back(), "the host"));
  }
  for (const auto& array : found) state_->arrays.emplace(array->name, array);
  for (const auto& [name, values] : arrays) {
    OCANNL_RETURN_IF_ERROR(Write(name, values, Unused::kIsLeft));
  }
  return absl::OkStatus();
}

absl::Status Context::Write(absl::string_view name, const NdArray& values,
                            Unused unused) const {
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> array,
      FindOrMake(name, values.dtype(), values.dims(), "the write"));
  OCANNL_RETURN_IF_ERROR(PrepareToWrite(*array, "the host"));
  OCANNL_RETURN_IF_ERROR(
      stream().DoNow([&] { return array->memory.CopyIn(values.data()); }));
  array->written = true;
  array->unread = true;
  state_->arrays.emplace(array->name, array);
  if (unused == Unused::kIsLeft) {
    state_->unused.erase(array->name);
  } else if (!array->used) {
    state_->unused.insert(array->name);
  }
  return absl::OkStatus();
}

absl::Status Context::WriteData(absl::string_view name,
                                const NdArray& values) const {
  const auto found = state_->arrays.find(name);
  if (found == state_->arrays.end() || !found->second->written) {
    OCANNL_RETURN_IF_ERROR(Write(name, values, Unused::kIsLeft));
    state_->arrays.find(name)->second->unread = false;
    return absl::OkStatus();
  }
  OCANNL_RETURN_IF_ERROR(
      FindOrMake(name, values.dtype(), values.dims(), "the data").status());
  OCANNL_ASSIGN_OR_RETURN(const NdArray present, Read(name));
  if (SameBits(present, values)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "`", name, "` has values already, which the data that its tensor was ",
      "made with would replace; make the tensor by Input to write values of ",
      "your own, or call Forget(\"", name, "\") to drop them"));
}

std::vector<const DeviceArray*> Context::AllArrays() const {
  std::vector<const DeviceArray*> all;
  for (const auto& [name, array] : state_->arrays) all.push_back(array.get());
  return all;
}

absl::Status Context::WriteMerge(absl::string_view name,
                                 const NdArray& values) const {
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> place,
      stream().merge().PlaceOf(name, values.dtype(), values.dims()));
  OCANNL_RETURN_IF_ERROR(
      stream().DoNow([&] { return place->memory.CopyIn(values.data()); }));
  stream().HoldMerge(std::move(place));
  return absl::OkStatus();
}

absl::Status Context::WriteInput(const Buffer& buffer,
                                 const NdArray& values) const {
  if (buffer.role != Role::kMerge) return Write(buffer.name, values);
  return WriteMerge(absl::StripSuffix(buffer.name, kMergeSuffix), values);
}

absl::StatusOr<std::shared_ptr<DeviceArray>> Context::Find(
    absl::string_view name) const {
  auto found = state_->arrays.find(name);
  if (found != state_->arrays.end()) return found->second;
  const std::vector<std::string> names = ArrayNames();
  const std::string all = absl::StrJoin(names, ", ");
  return absl::NotFoundError(
      absl::StrCat("the context has no array `", name, "`; it has",
                   all.empty() ? " none" : ": " + all,
                   NearNamesHint(name, names), KeepHint(name)));
}

absl::StatusOr<std::shared_ptr<DeviceArray>> Context::FindWritten(
    absl::string_view name) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, Find(name));
  if (array->written) return array;
  return absl::FailedPreconditionError(absl::StrCat(
      "the array `", name, "` was never written; run the routine that ",
      "computes it, or call Write(\"", name, "\", values)", KeepHint(name)));
}

absl::StatusOr<Context::ArrayInfo> Context::InfoOf(
    absl::string_view name) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, Find(name));
  return ArrayInfo{
      .dtype = array->dtype, .dims = array->dims, .written = array->written};
}

absl::StatusOr<NdArray> Context::ZerosLike(absl::string_view name) const {
  OCANNL_ASSIGN_OR_RETURN(const ArrayInfo info, InfoOf(name));
  return NdArray(info.dtype, info.dims);
}

absl::StatusOr<NdArray> Context::Read(absl::string_view name) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                          FindWritten(name));
  NdArray values(array->dtype, array->dims);
  WaitForOwner(state_->shared, *array, stream());
  absl::Status copied = stream().DoNow([&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(stream().status());
    return array->memory.CopyOut(values.data());
  });
  OCANNL_RETURN_IF_ERROR(copied);
  OCANNL_RETURN_IF_ERROR(stream().device().backend().RunStatus());
  array->unread = false;
  return values;
}

bool Context::IsInPlace(Bytes where) const {
  return where == Bytes::kInPlace ||
         stream().device().backend().memory().is_host();
}

absl::Status Context::Use(absl::string_view name, UseBytes use,
                          Bytes where) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                          FindWritten(name));
  array->unread = false;
  WaitForOwner(state_->shared, *array, stream());
  const Backend& backend = stream().device().backend();
  return stream().Do([array, &backend, in_place = IsInPlace(where),
                      use = std::move(use)]() mutable -> absl::Status {
    OCANNL_RETURN_IF_ERROR(backend.RunStatus());
    const DeviceMemory& memory = array->memory;
    if (in_place) return use({memory.address(), memory.size()});
    std::vector<std::byte> bytes(memory.size());
    OCANNL_RETURN_IF_ERROR(memory.CopyOut(bytes.data()));
    return use(bytes);
  });
}

absl::Status Context::FillArray(const std::shared_ptr<DeviceArray>& array,
                                FillBytes fill, Bytes where) const {
  return stream().Do([array, in_place = IsInPlace(where),
                      fill = std::move(fill)]() mutable -> absl::Status {
    const DeviceMemory& memory = array->memory;
    if (in_place) return fill({memory.address(), memory.size()});
    std::vector<std::byte> bytes(memory.size());
    OCANNL_RETURN_IF_ERROR(fill(absl::MakeSpan(bytes)));
    return memory.CopyIn(bytes.data());
  });
}

absl::Status Context::Fill(absl::string_view name, FillBytes fill,
                           Bytes where) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, Find(name));
  OCANNL_RETURN_IF_ERROR(PrepareToWrite(*array, "the host"));
  OCANNL_RETURN_IF_ERROR(FillArray(array, std::move(fill), where));
  array->written = true;
  return absl::OkStatus();
}

absl::Status Context::FillMerge(absl::string_view name, FillBytes fill,
                                Bytes where) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, Find(name));
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> place,
      stream().merge().PlaceOf(name, array->dtype, array->dims));
  OCANNL_RETURN_IF_ERROR(FillArray(place, std::move(fill), where));
  stream().HoldMerge(std::move(place));
  return absl::OkStatus();
}

absl::Status Context::CopyInto(const std::shared_ptr<DeviceArray>& to,
                               const std::shared_ptr<DeviceArray>& array,
                               const Context& from) const {
  stream().WaitFor(from.stream().Record());
  const Backend& backend = from.stream().device().backend();
  auto copy = [to, array, &backend]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(backend.RunStatus());
    return to->memory.CopyFrom(array->memory);
  };
  OCANNL_RETURN_IF_ERROR(stream().Do(copy));
  from.stream().AddReader(array, stream().Record());
  return absl::OkStatus();
}

absl::Status Context::Copy(absl::string_view name, const Context& from) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                          from.FindWritten(name));
  OCANNL_RETURN_IF_ERROR(from.CheckGives(*array));
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> to,
      FindOrMake(name, array->dtype, array->dims, "the write"));
  if (to == array) {
    stream().WaitFor(from.stream().Record());
    return absl::OkStatus();
  }
  OCANNL_RETURN_IF_ERROR(PrepareToWrite(*to, "the copy"));
  OCANNL_RETURN_IF_ERROR(CopyInto(to, array, from));
  to->written = true;
  state_->arrays.emplace(to->name, to);
  return absl::OkStatus();
}

absl::Status Context::Share(absl::string_view name, const Context& from) const {
  OCANNL_RETURN_IF_ERROR(CheckMemory(name, from, "Copy"));
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, from.Find(name));
  OCANNL_RETURN_IF_ERROR(from.CheckGives(*array));
  if (!state_->arrays.emplace(array->name, array).second) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the context has an array `", name, "` of its own; share that of ",
        "another one before a routine is linked that has it"));
  }
  state_->shared.emplace(array.get(), from.stream().handle());
  stream().WaitFor(from.stream().Record());
  from.stream().AddSharer(std::move(array), stream());
  return absl::OkStatus();
}

absl::Status Context::CopyToMerge(absl::string_view name,
                                  const Context& from) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                          from.FindWritten(name));
  OCANNL_RETURN_IF_ERROR(from.CheckGives(*array));
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> to,
      stream().merge().PlaceOf(name, array->dtype, array->dims));
  OCANNL_RETURN_IF_ERROR(CopyInto(to, array, from));
  stream().HoldMerge(std::move(to));
  return absl::OkStatus();
}

absl::Status Context::PointMerge(absl::string_view name,
                                 const Context& from) const {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                          from.FindWritten(name));
  OCANNL_RETURN_IF_ERROR(from.CheckGives(*array));
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> place,
      stream().merge().PlaceOf(name, array->dtype, array->dims));
  OCANNL_RETURN_IF_ERROR(CheckMemory(name, from, "CopyToMerge"));
  stream().WaitFor(from.stream().Record());
  stream().PointMerge(std::move(place), std::move(array), from.stream());
  return absl::OkStatus();
}

void Context::ReleaseMerge() const { stream().ReleaseMerge(); }

void Context::Forget(absl::string_view name) const {
  const auto found = state_->arrays.find(name);
  if (found == state_->arrays.end()) return;
  state_->shared.erase(found->second.get());
  state_->unused.erase(found->first);
  state_->arrays.erase(found);
}

std::vector<std::string> Context::ArrayNames() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : state_->arrays) names.push_back(name);
  return names;
}

}  // namespace ocannl
