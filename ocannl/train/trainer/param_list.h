// SPDX-License-Identifier: Apache-2.0
//
// ParamList: the parameters of a loss, in order, on the host and on a device.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       ParamList params,
//       ParamList::Allocate({w, b}, {.requires_grad = {true, false}}));
//
// Whoever changes one copy makes the other stale; who reads gets the newer one.
#ifndef OCANNL_TRAIN_TRAINER_PARAM_LIST_H_
#define OCANNL_TRAIN_TRAINER_PARAM_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"

namespace ocannl::train {

struct ParamOptions {
  std::vector<bool> requires_grad = {};  // empty: all of them
  std::vector<std::string> names = {};   // empty: p0, p1, ...
};

// Moves, but does not copy. Not thread-safe.
class ParamList {
 public:
  // Errors: lists of other lengths than that of the values; two of one name; a
  // value that is to have a gradient and is not of floats; one without cells.
  static absl::StatusOr<ParamList> Allocate(std::vector<NdArray> values,
                                            const ParamOptions& options = {});
  ParamList(ParamList&&) = default;
  ParamList& operator=(ParamList&&) = default;

  size_t size() const { return params_.size(); }
  const std::string& name(size_t k) const { return params_[k].name; }
  bool requires_grad(size_t k) const { return params_[k].requires_grad; }
  // Of the host, perhaps stale: for its dtype and dims.
  const NdArray& like(size_t k) const { return params_[k].host; }

  // The values. Errors: those of Context::Read.
  absl::StatusOr<NdArray> Get(size_t k);
  absl::StatusOr<std::vector<NdArray>> Get();

  // Makes `values` the values, of frozen parameters too. Errors, with nothing
  // changed: another number of them, other dtypes or dims.
  absl::Status Set(absl::Span<const NdArray> values);

  // The device copies are arrays of `context` from now on. Error: they are
  // another one's.
  absl::Status Attach(const Context& context);
  // Makes the device copies current. Errors: those of Context::Write.
  absl::Status Upload() {
    return some_are_newer_on_host_ ? UploadNewer() : absl::OkStatus();
  }
  // That the device has changed those which require a gradient.
  void SetDeviceNewer() {
    if (!device_is_newer_) MarkDeviceNewer();
  }

 private:
  // Of two copies, the one that is current, or both.
  enum class Newer : uint8_t { kHost, kDevice, kNeither };
  struct Param {
    std::string name;
    NdArray host;
    bool requires_grad;
    Newer newer = Newer::kHost;
  };

  explicit ParamList(std::vector<Param> params) : params_(std::move(params)) {}
  absl::Status UploadNewer();
  void MarkDeviceNewer();

  std::vector<Param> params_;
  std::optional<Context> context_;
  bool some_are_newer_on_host_ = true;
  bool device_is_newer_ = false;  // for all that require a gradient
};

// p - rate * g, rounded once, of each cell of the parameters that require a
// gradient: on the host, with the bits of ScalarTrainer::Step and Sgd(), whose
// rate is an f32. Errors, with nothing changed: gradients of other shapes or
// dtypes than the parameters, or not as many; a rate that is negative or not
// finite.
absl::Status SgdStep(ParamList& params, double rate,
                     absl::Span<const NdArray> gradients);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_PARAM_LIST_H_
