// SPDX-License-Identifier: Apache-2.0
//
// ParamList: the parameters of a loss, in order, on the host and on a device.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       ParamList params,
//       ParamList::Allocate({w, b}, {.requires_grad = {true, false}}));
//
// Whoever changes one copy makes the other stale; who reads gets the newer one.
#ifndef OCANNL_TRAIN_EAGER_PARAM_LIST_H_
#define OCANNL_TRAIN_EAGER_PARAM_LIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"

namespace ocannl::train {

struct ParamOptions {
  std::vector<bool> requires_grad = {};  // empty: all of them
  std::vector<std::string> names = {};   // empty: p0, p1, ...
};

// Copies are the same parameters. Not thread-safe.
class ParamList {
 public:
  // Errors: lists of other lengths than that of the values; two of one name, or
  // one that begins with "session_"; a value that is to have a gradient and is
  // not of floats; one without cells.
  static absl::StatusOr<ParamList> Allocate(std::vector<NdArray> values,
                                            const ParamOptions& options = {});

  // Adds a parameter that a block makes by that name, which gets this value; a
  // session adds those that are not there. Errors: those of Allocate.
  absl::Status Add(std::string name, NdArray value) const;

  // All of them, and those that a step is given as arguments: the first, which
  // Allocate made.
  size_t size() const { return state_->params.size(); }
  size_t num_args() const { return state_->num_args; }
  std::optional<size_t> Find(absl::string_view name) const;
  const std::string& name(size_t k) const { return state_->params[k].name; }
  bool requires_grad(size_t k) const { return state_->params[k].requires_grad; }
  // Of the host, perhaps stale: for its dtype and dims.
  const NdArray& like(size_t k) const { return state_->params[k].host; }
  // Whether they are the same parameters.
  bool Is(const ParamList& other) const { return state_ == other.state_; }

  // The values. Errors: those of Context::Read; they were those of a session
  // that is gone, and could not be read at its end.
  absl::StatusOr<NdArray> Get(size_t k) const;
  absl::StatusOr<std::vector<NdArray>> Get() const;

  // Makes `values` the values, of frozen parameters too. Errors, with nothing
  // changed: another number of them, other dtypes or dims.
  absl::Status Set(absl::Span<const NdArray> values) const;
  // Error: `values`, each a `what` of messages, do not have the number, dtypes
  // and dims of the parameters.
  absl::Status CheckAlike(absl::Span<const NdArray> values,
                          absl::string_view what) const;
  // How often they were set.
  int64_t sets() const { return state_->sets; }

  // For sessions. The device copies are arrays of `context`, until Detach.
  // Error: they are another one's.
  absl::Status Attach(const Context& context) const;
  void Detach() const;
  // Makes the device copies current. Errors: those of Context::Write.
  absl::Status Upload() const {
    return state_->is_newer_on_host ? UploadNewer() : absl::OkStatus();
  }
  // That the device has changed those which require a gradient.
  void SetDeviceNewer() const {
    if (!state_->is_newer_on_device) MarkDeviceNewer();
  }

 private:
  ParamList() = default;

  // Of two copies, the one that is current, or both.
  enum class Newer : uint8_t { kHost, kDevice, kNeither };
  struct Param {
    std::string name;
    NdArray host;
    bool requires_grad;
    Newer newer = Newer::kHost;
  };
  struct State {
    std::vector<Param> params;
    size_t num_args = 0;
    std::optional<Context> context = std::nullopt;
    bool is_newer_on_host = true;     // some
    bool is_newer_on_device = false;  // all that require a gradient
    int64_t sets = 0;
  };

  absl::Status Append(Param param) const;
  absl::Status UploadNewer() const;
  void MarkDeviceNewer() const;

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Error: a learning rate that is negative, or not finite as an f32.
absl::Status CheckRate(double rate);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_PARAM_LIST_H_
