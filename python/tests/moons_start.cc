// SPDX-License-Identifier: Apache-2.0
//
// Writes what experiments/moons begins with: points.npy, labels.npy and
// first.npz with the first values of the parameters. Prints the hash of those
// that train::Fit of 2 shards leaves.
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/ocannl.h"
#include "ocannl/train/graph/params_hash.h"

namespace ocannl {
namespace {

absl::Status WriteStart(const std::string& folder) {
  OCANNL_ASSIGN_OR_RETURN(const LabelledPoints points, HalfMoons(400, 1));
  const auto count = static_cast<int64_t>(points.labels.size());
  OCANNL_RETURN_IF_ERROR(
      WriteNpy(folder + "/points.npy",
               NdArray::Of<float>({count, 2}, points.coordinates)));
  OCANNL_RETURN_IF_ERROR(WriteNpy(
      folder + "/labels.npy", NdArray::Of<float>({count, 1}, points.labels)));
  OCANNL_ASSIGN_OR_RETURN(const auto code, MakeMoons(points, {}));
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier("x86"));
  const Device device("host", backend);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(const Context started, code->Start(Context(&stream)));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> arrays,
                          train::ParamArrays(code->model, code->loss));
  OCANNL_RETURN_IF_ERROR(
      train::SaveParams(folder + "/first.npz", arrays, started));
  train::FitOptions options = MoonsFit({});
  options.shards = 2;
  options.quiet = true;
  OCANNL_ASSIGN_OR_RETURN(
      const auto fitted,
      train::Fit(backend, MoonsNet({}), MoonsData(points, 10), options));
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(*fitted->context, fitted->code->parameters));
  std::cout << hash << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  const absl::Status status = ocannl::WriteStart(argc > 1 ? argv[1] : ".");
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
