// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/peers/cublas.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;

constexpr int kNoTranspose = 0;  // CUBLAS_OP_N

absl::Status Check(int result, const char* what) {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cuBLAS, ", what, ": ", result));
}

}  // namespace

struct Cublas::Functions {
  Library cublas, driver;
  void* handle = nullptr;
  int (*sgemm)(void* handle, int transpose_a, int transpose_b, int m, int n,
               int k, const float* alpha, const float* a, int lda,
               const float* b, int ldb, const float* beta, float* c, int ldc);
  int (*synchronize)();
};

absl::StatusOr<Cublas> Cublas::Open() {
  absl::StatusOr<Library> found =
      SharedLibrary::Open("libcublas.so.13", /*stays=*/true);
  if (!found.ok()) found = SharedLibrary::Open("libcublas.so.12", true);
  auto functions = std::make_shared<Functions>();
  OCANNL_ASSIGN_OR_RETURN(functions->cublas, std::move(found));
  OCANNL_ASSIGN_OR_RETURN(functions->driver,
                          SharedLibrary::Open("libcuda.so.1", true));
  auto* create = functions->cublas->Find<int(void**)>("cublasCreate_v2");
  functions->sgemm =
      functions->cublas
          ->Find<std::remove_pointer_t<decltype(functions->sgemm)>>(
              "cublasSgemm_v2");
  functions->synchronize = functions->driver->Find<int()>("cuCtxSynchronize");
  if (create == nullptr || functions->sgemm == nullptr ||
      functions->synchronize == nullptr) {
    return absl::NotFoundError("cuBLAS lacks functions");
  }
  OCANNL_RETURN_IF_ERROR(Check(create(&functions->handle), "start"));
  Cublas cublas;
  cublas.functions_ = std::move(functions);
  return cublas;
}

absl::Status Cublas::Multiply(int m, int n, int k, const std::byte* a,
                              const std::byte* b, std::byte* c) const {
  // It is column-major: c transposed is b transposed times a transposed.
  const float one = 1, zero = 0;
  return Check(
      functions_->sgemm(functions_->handle, kNoTranspose, kNoTranspose, n, m, k,
                        &one, reinterpret_cast<const float*>(b), n,
                        reinterpret_cast<const float*>(a), k, &zero,
                        reinterpret_cast<float*>(c), n),
      "sgemm");
}

absl::Status Cublas::Synchronize() const {
  return Check(functions_->synchronize(), "end");
}

}  // namespace ocannl
