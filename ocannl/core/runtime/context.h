// SPDX-License-Identifier: Apache-2.0
//
// Context: the arrays of a stream, by name, and the routines linked so far.
//
//   Context context(&stream);
//   OCANNL_RETURN_IF_ERROR(context.Write("x", points));
//   OCANNL_ASSIGN_OR_RETURN(Routine step, context.Link(program, executable));
//   OCANNL_RETURN_IF_ERROR(step.Run());
//   OCANNL_ASSIGN_OR_RETURN(NdArray loss, context.Read("loss"));
#ifndef OCANNL_CORE_RUNTIME_CONTEXT_H_
#define OCANNL_CORE_RUNTIME_CONTEXT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/lineage.h"
#include "ocannl/core/runtime/stream.h"

namespace ocannl {

class Routine;

// Cheap to copy. Copies, and the contexts of routines linked to it, share the
// arrays; they differ in their lineage. Not thread-safe.
class Context {
 public:
  // Without arrays. The stream must outlive every context made from this one.
  explicit Context(Stream* stream);

  Stream& stream() const { return *state_->stream; }

  // Binds `executable`, compiled from `program`, to arrays by name; those that
  // do not exist are allocated. The routine depends on the routines of this
  // context's lineage that conflict with it; routines linked to the same
  // context are independent of each other. A merge buffer "g.merge" is that of
  // the stream, when it holds the array g of another context. Errors, with
  // nothing changed: an array of that name but of another dtype or dims, two
  // merge buffers or one of another name, no memory.
  absl::StatusOr<Routine> Link(
      LoopProgram program, std::shared_ptr<const Executable> executable) const;

  // The same on the array `name_of(buffer)` in the place of buffer.name: code
  // of one program for many arrays. A merge buffer keeps its name.
  absl::StatusOr<Routine> LinkTo(
      std::shared_ptr<const LoopProgram> program,
      std::shared_ptr<const Executable> executable,
      absl::FunctionRef<absl::string_view(const loop_ir::Buffer&)> name_of)
      const;

  // The code of `program` on the device's backend. Errors: those of the
  // backend.
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(
      const LoopProgram& program) const;

  // Compile and Link.
  absl::StatusOr<Routine> CompileAndLink(LoopProgram program) const;

  // How to treat an array that no routine uses: its name may be a slip.
  // kIsError: runs of routines that read other arrays fail and name it, until a
  // routine is linked that uses it, or it is copied or forgotten. kIsLeft: it
  // stays for a later routine.
  enum class Unused { kIsError, kIsLeft };

  // Makes `values` the contents of the array `name`, which need not exist. The
  // first run of a routine that computes the array without reading it is an
  // error, unless something has read the values: they would be lost.
  // Errors: as of Link; the device failed; the array is another context's
  // (Share), or a merge buffer points at it (PointMerge).
  //
  //   OCANNL_RETURN_IF_ERROR(
  //       context.Write("later", points, Context::Unused::kIsLeft));
  absl::Status Write(absl::string_view name, const NdArray& values,
                     Unused unused = Unused::kIsError) const;

  // Writes all of `arrays`, no two of one name, or on an error none, unless it
  // is the device that failed. Those that nothing uses are left.
  absl::Status WriteAll(
      absl::Span<const std::pair<std::string, NdArray>> arrays) const;

  // Gives the array `name` the data that a routine has for it. Errors: as of
  // Write; the array has other values already, which would be lost.
  absl::Status WriteData(absl::string_view name, const NdArray& values) const;

  // Puts `values` into the merge buffer of the stream, in the place of what it
  // holds, as those of the array `name` of another context: routines that read
  // "NAME.merge" may run then. Errors: no memory, the device failed.
  absl::Status WriteMerge(absl::string_view name, const NdArray& values) const;

  // The same of what `buffer` of a program stands for: Write or WriteMerge.
  absl::Status WriteInput(const loop_ir::Buffer& buffer,
                          const NdArray& values) const;

  // Calls `use` with the bytes of an array, after the work of this stream so
  // far and on the thread that does that; its error is that of Stream::Do. They
  // are a copy on the host, or with kInPlace where the array is: addresses that
  // only code of the device may follow. Error: it was never written.
  using UseBytes =
      absl::AnyInvocable<absl::Status(absl::Span<const std::byte>)>;
  enum class Bytes { kOnHost, kInPlace };
  absl::Status Use(absl::string_view name, UseBytes use,
                   Bytes where = Bytes::kOnHost) const;

  // Write and WriteMerge of what `fill` leaves in the bytes, likewise, for an
  // array that is there. Errors: those of Write.
  using FillBytes = absl::AnyInvocable<absl::Status(absl::Span<std::byte>)>;
  absl::Status Fill(absl::string_view name, FillBytes fill,
                    Bytes where = Bytes::kOnHost) const;
  absl::Status FillMerge(absl::string_view name, FillBytes fill,
                         Bytes where = Bytes::kOnHost) const;

  // Errors: no such array, or one that was never written; that of a run
  // (Backend::RunStatus) or of a copy (Stream::status).
  absl::StatusOr<NdArray> Read(absl::string_view name) const;

  // The dtype and dims of an array, and whether it was ever written. Error: no
  // such array.
  struct ArrayInfo {
    DType dtype;
    Dims dims;
    bool written;
  };
  absl::StatusOr<ArrayInfo> InfoOf(absl::string_view name) const;

  // Zeros of the dtype and dims of an array, which need not be written. Error:
  // no such array.
  absl::StatusOr<NdArray> ZerosLike(absl::string_view name) const;

  // Write(name, *from.Read(name)) without the detour, after the work of both
  // streams so far; those with a worker need no host to wait. Errors: those of
  // Write and Read; the array of `from` is itself shared.
  absl::Status Copy(absl::string_view name, const Context& from) const;

  // Makes the array `name` of `from` one of this context too, which its
  // routines may read and only those of `from` may write, after the work of
  // this stream so far. Work here is done after what Copy waits for, and Copy
  // copies nothing then. Errors: this context has an array of that name; `from`
  // has none; another kind of memory.
  absl::Status Share(absl::string_view name, const Context& from) const;

  // WriteMerge(name, *from.Read(name)), likewise.
  absl::Status CopyToMerge(absl::string_view name, const Context& from) const;

  // Whether arrays of both are in one kind of memory.
  bool SharesMemoryWith(const Context& other) const;

  // The same without a copy: routines that read "NAME.merge" read the array of
  // `from` itself, which may not be written until ReleaseMerge, or until the
  // merge buffer holds something else. Error: also another kind of memory.
  absl::Status PointMerge(absl::string_view name, const Context& from) const;

  // The merge buffer of the stream is empty then.
  void ReleaseMerge() const;

  // The context has no array `name` any more; routines that are linked to it
  // keep it.
  void Forget(absl::string_view name) const;

  // The names of all arrays, sorted.
  std::vector<std::string> ArrayNames() const;

 private:
  friend class Routine;

  using Arrays = absl::btree_map<std::string, std::shared_ptr<DeviceArray>>;
  struct State {
    Stream* stream;
    Arrays arrays;
    // Those that the host wrote and that no routine uses.
    absl::btree_set<std::string> unused;
    // Arrays of other contexts, and the streams of those, if they are there.
    absl::flat_hash_map<const DeviceArray*, std::weak_ptr<Stream*>> shared;
  };

  // Error: the array is another context's.
  absl::Status CheckOwns(const DeviceArray& array,
                         absl::string_view user) const;
  // To be called before `user` writes the array. Errors: it is another
  // context's; a merge buffer points at it.
  absl::Status PrepareToWrite(const DeviceArray& array,
                              absl::string_view user) const;
  // To be called before another context takes the array, which uses it. Error:
  // it is a third one's, in whose order it is written.
  absl::Status CheckGives(DeviceArray& array) const;
  // Error: the array of `from` is in other memory; the function `copy` helps.
  absl::Status CheckMemory(absl::string_view name, const Context& from,
                           absl::string_view copy) const;

  // The array `name`, or a new one that is not in the context yet.
  absl::StatusOr<std::shared_ptr<DeviceArray>> FindOrMake(
      absl::string_view name, DType dtype, const Dims& dims,
      absl::string_view user) const;
  absl::StatusOr<std::shared_ptr<DeviceArray>> Find(
      absl::string_view name) const;
  absl::StatusOr<std::shared_ptr<DeviceArray>> FindWritten(
      absl::string_view name) const;

  // From now on a routine or another context uses the array.
  void MarkUsed(DeviceArray& array) const {
    array.used = true;
    state_->unused.erase(array.name);
  }
  // Before a run of `user`, which reads what the host wrote. Error: the host
  // wrote an array that nothing uses.
  absl::Status ReadBy(const LinkedRoutine& user) const {
    if (!state_->unused.empty() && !user.reads.empty()) {
      return UnusedError(*state_->unused.begin(), user);
    }
    for (DeviceArray* array : user.reads) array->unread = false;
    return absl::OkStatus();
  }
  std::vector<const DeviceArray*> AllArrays() const;

  bool IsInPlace(Bytes where) const;
  absl::Status FillArray(const std::shared_ptr<DeviceArray>& array,
                         FillBytes fill, Bytes where) const;

  // Copies `array` of `from` into `to` of this one, in the order of both
  // streams.
  absl::Status CopyInto(const std::shared_ptr<DeviceArray>& to,
                        const std::shared_ptr<DeviceArray>& array,
                        const Context& from) const;

  std::shared_ptr<State> state_;
  Lineage lineage_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_CONTEXT_H_
