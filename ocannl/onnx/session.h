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
#ifndef OCANNL_ONNX_SESSION_H_
#define OCANNL_ONNX_SESSION_H_

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
#include "ocannl/core/runtime/routine.h"
#include "ocannl/onnx/import.h"

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
  // At addresses that stay: each refers to the one before it.
  struct Machine {
    explicit Machine(const Backend& backend)
        : device("host", &backend), stream(&device), context(&stream) {}

    Device device;
    Stream stream;
    Context context;
  };

  Session(ImportedModel net, std::unique_ptr<Machine> machine,
          std::optional<Routine> routine)
      : net_(std::move(net)),
        machine_(std::move(machine)),
        routine_(std::move(routine)) {}

  absl::Status Check(const std::map<std::string, NdArray>& inputs) const;

  ImportedModel net_;
  std::unique_ptr<Machine> machine_;
  std::optional<Routine> routine_;  // none: no output has cells
};

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_SESSION_H_
