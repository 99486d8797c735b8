// SPDX-License-Identifier: Apache-2.0
//
// Session: an ONNX model that runs.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       onnx::Session session,
//       onnx::Session::Load("resnet18.onnx", {.dims = {{"batch", 1}}},
//                           *backend));
//   OCANNL_ASSIGN_OR_RETURN(auto outputs, session.Run({{"images", array}}));
//   NdArray logits = outputs.at("logits");
//
// SessionTable: the same for inputs of any dims that the file allows. It
// compiles the model once for each.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto table, onnx::SessionTable::Load("resnet18.onnx", {}, *backend));
//   OCANNL_ASSIGN_OR_RETURN(auto outputs, table.Run({{"images", array}}));
#ifndef OCANNL_ONNX_SESSION_H_
#define OCANNL_ONNX_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// Moves, but does not copy. Not thread-safe.
class Session {
 public:
  // Reads and imports the file and compiles the code of all outputs, once. The
  // backend must outlive the session. Errors: as of ImportFile and
  // ToRoutine.
  static absl::StatusOr<Session> Load(const std::string& path,
                                      const ImportOptions& options,
                                      const Backend& backend);
  // The same for a model that is imported; its code is not made yet.
  static absl::StatusOr<Session> Make(ImportedModel net,
                                      const Backend& backend);

  const std::vector<NamedTensor>& inputs() const { return net_.inputs; }
  const std::vector<NamedTensor>& outputs() const { return net_.outputs; }
  const std::vector<NamedTensor>& parameters() const { return net_.parameters; }

  // The outputs for these inputs, all by their names in the file. Errors: an
  // input that is missing, unknown, or of another dtype or other dims; as of
  // Routine::Run.
  absl::StatusOr<std::map<std::string, NdArray>> Run(
      const std::map<std::string, NdArray>& inputs);

 private:
  friend class SessionTable;

  // What sessions of one file share. At an address that stays: each member
  // refers to the one before it.
  struct Machine {
    explicit Machine(const Backend& backend)
        : device("host", &backend), stream(&device), parameters(&stream) {}

    Device device;
    Stream stream;
    Context parameters;
  };

  // With the parameters of the machine, which gets those that it lacks.
  static absl::StatusOr<Session> MakeOn(std::shared_ptr<Machine> machine,
                                        ImportedModel net);

  Session(ImportedModel net, std::shared_ptr<Machine> machine)
      : net_(std::move(net)),
        machine_(std::move(machine)),
        context_(&machine_->stream) {}

  // The machine's parameter, if it has these values. Others are of a branch:
  // the dims of inputs choose one, and two may use one name.
  absl::Status AddParameter(const std::string& name, const NdArray& values);

  absl::Status Check(const std::map<std::string, NdArray>& inputs) const;

  ImportedModel net_;
  std::shared_ptr<Machine> machine_;
  // Of its own: inputs of other dims have the same names.
  Context context_;
  std::optional<Routine> routine_ = std::nullopt;  // none: no output has cells
};

// Moves, but does not copy. Not thread-safe.
class SessionTable {
 public:
  // Reads the file, and compiles it if the options leave no dimension free.
  // Keeps sessions for the last `most` dims that were used, and one at least;
  // parameters are in memory twice, however many there are. The backend must
  // outlive the table. Errors: as of Session::Load, but a free dimension may
  // have no size.
  static absl::StatusOr<SessionTable> Load(const std::string& path,
                                           ImportOptions options,
                                           const Backend& backend,
                                           size_t most = 16);
  // The same for a file that is read.
  static absl::StatusOr<SessionTable> Make(OnnxModel file,
                                           ImportOptions options,
                                           const Backend& backend,
                                           size_t most = 16);

  const OnnxModel& file() const { return file_; }

  // The session of a file without free dimensions; else none.
  const Session* only() const {
    return has_free_dims_ ? nullptr : &sessions_.back().second;
  }

  // How many sessions were made so far.
  int64_t compilations() const { return compilations_; }

  // The session for inputs of these dims, by name. It is good until the next
  // call. Errors: dims of another rank or of other sizes than the file or the
  // options say; two sizes for one free dimension; as of Session::Load.
  absl::StatusOr<Session*> For(const std::map<std::string, Dims>& dims);

  // As Session::Run, for the dims that the inputs have.
  absl::StatusOr<std::map<std::string, NdArray>> Run(
      const std::map<std::string, NdArray>& inputs);

 private:
  using Sizes = std::map<std::string, int64_t>;  // of free dimensions

  SessionTable(OnnxModel file, ImportOptions options, const Backend& backend,
               size_t most)
      : file_(std::move(file)),
        options_(std::move(options)),
        machine_(std::make_shared<Session::Machine>(backend)),
        most_(most) {}

  absl::StatusOr<Session*> ForSizes(Sizes sizes);

  OnnxModel file_;
  ImportOptions options_;
  std::shared_ptr<Session::Machine> machine_;
  size_t most_;
  bool has_free_dims_ = false;
  int64_t compilations_ = 0;
  // The last one used is the last.
  std::vector<std::pair<Sizes, Session>> sessions_ = {};
};

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_SESSION_H_
