// SPDX-License-Identifier: Apache-2.0
//
// The functions of the libraries are declared by hand, as their manuals do.
#include "experiments/bench/peers/gemm_peers.h"

#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "experiments/bench/peers/eigen_kernels.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/codegen/compile_c.h"

namespace ocannl {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;

absl::Status NoFunction(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("it has no ", name));
}

absl::Status OneThreadOnly(int threads) {
  if (threads == 1) return absl::OkStatus();
  return absl::UnimplementedError("its kernels use one thread");
}

absl::StatusOr<GemmPeer> Eigen(int threads) {
  OCANNL_RETURN_IF_ERROR(OneThreadOnly(threads));
  const EigenKernels* eigen = FindEigenKernels();
  if (eigen == nullptr) return absl::UnimplementedError("needs AVX2");
  return GemmPeer{.name = "eigen", .prepare = [eigen](const GemmTask& task) {
                    return [eigen, task] {
                      eigen->gemm(task.m, task.n, task.k, task.a, task.b,
                                  task.c);
                    };
                  }};
}

absl::StatusOr<GemmPeer> OpenBlas(int threads) {
  using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n,
                     int k, float alpha, const float* a, int lda,
                     const float* b, int ldb, float beta, float* c, int ldc);
  constexpr int kRowMajor = 101, kNoTranspose = 111;
  OCANNL_ASSIGN_OR_RETURN(Library library,
                          SharedLibrary::Open("libopenblas.so.0"));
  auto* sgemm = library->Find<Sgemm>("cblas_sgemm");
  auto* set_threads = library->Find<void(int)>("openblas_set_num_threads");
  if (sgemm == nullptr) return NoFunction("cblas_sgemm");
  if (set_threads == nullptr) return NoFunction("openblas_set_num_threads");
  set_threads(threads);
  return GemmPeer{
      .name = "openblas", .prepare = [library, sgemm](const GemmTask& t) {
        return [sgemm, t, m = static_cast<int>(t.m), n = static_cast<int>(t.n),
                k = static_cast<int>(t.k)] {
          sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, t.a, k, t.b,
                n, 0, t.c, n);
        };
      }};
}

absl::StatusOr<GemmPeer> OneDnn(int threads) {
  using Sgemm =
      int(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
          float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
          float beta, float* c, int64_t ldc);
  absl::StatusOr<Library> found = SharedLibrary::Open("libdnnl.so.3");
  if (!found.ok()) found = SharedLibrary::Open("libdnnl.so.2");
  OCANNL_ASSIGN_OR_RETURN(Library library, std::move(found));
  auto* sgemm = library->Find<Sgemm>("dnnl_sgemm");
  if (sgemm == nullptr) return NoFunction("dnnl_sgemm");
  // Debian's is built with OpenMP; another may not heed this.
  OCANNL_ASSIGN_OR_RETURN(Library omp, SharedLibrary::Open("libgomp.so.1"));
  auto* set_threads = omp->Find<void(int)>("omp_set_num_threads");
  if (set_threads == nullptr) return NoFunction("omp_set_num_threads");
  set_threads(threads);
  return GemmPeer{
      .name = "onednn", .prepare = [library, omp, sgemm](const GemmTask& t) {
        return [sgemm, t] {
          sgemm('N', 'N', t.m, t.n, t.k, 1, t.a, t.k, t.b, t.n, 0, t.c, t.n);
        };
      }};
}

// Debian has LIBXSMM as an archive, of which gcc makes a shared library.
absl::StatusOr<Library> OpenLibxsmm() {
  absl::StatusOr<Library> library = SharedLibrary::Open("libxsmm.so");
  if (library.ok()) return library;
  return CompileC("",
                  {"-Wl,--whole-archive", "-l:libxsmm.a", "-l:libxsmmnoblas.a",
                   "-Wl,--no-whole-archive", "-ldl -lm -lpthread -lrt"});
}

absl::StatusOr<GemmPeer> Libxsmm(int threads) {
  // Column-major; null for what has a default. A prefetch is none by default.
  using Kernel = void(const float* a, const float* b, float* c, ...);
  using Dispatch =
      Kernel*(int m, int n, int k, const int* lda, const int* ldb,
              const int* ldc, const float* alpha, const float* beta,
              const int* flags, const int* prefetch);
  // Beyond, it recommends to split the work into kernels.
  constexpr int64_t kMostWork = 256 * 256 * 256;
  OCANNL_RETURN_IF_ERROR(OneThreadOnly(threads));
  OCANNL_ASSIGN_OR_RETURN(Library library, OpenLibxsmm());
  auto* dispatch = library->Find<Dispatch>("libxsmm_smmdispatch");
  if (dispatch == nullptr) return NoFunction("libxsmm_smmdispatch");
  return GemmPeer{.name = "libxsmm",
                  .prepare = [library, dispatch](
                                 const GemmTask& t) -> std::function<void()> {
                    if (t.m * t.n * t.k > kMostWork) return nullptr;
                    const float zero = 0;
                    // The transposes: c' = b' a'.
                    Kernel* kernel =
                        dispatch(static_cast<int>(t.n), static_cast<int>(t.m),
                                 static_cast<int>(t.k), nullptr, nullptr,
                                 nullptr, nullptr, &zero, nullptr, nullptr);
                    if (kernel == nullptr) return nullptr;
                    return [kernel, t] { kernel(t.b, t.a, t.c); };
                  }};
}

GemmPeers Look(int threads) {
  GemmPeers found;
  auto look = [&](absl::string_view name, absl::StatusOr<GemmPeer> peer) {
    if (peer.ok()) {
      found.peers.push_back(*std::move(peer));
    } else {
      found.missing.push_back(
          absl::StrCat(name, ": ", peer.status().message()));
    }
  };
  look("eigen", Eigen(threads));
  look("openblas", OpenBlas(threads));
  look("onednn", OneDnn(threads));
  look("libxsmm", Libxsmm(threads));
  return found;
}

}  // namespace

const GemmPeers& FindGemmPeers(int threads) {
  static auto* found = new std::map<int, GemmPeers>();
  auto it = found->find(threads);
  if (it == found->end()) it = found->emplace(threads, Look(threads)).first;
  return it->second;
}

}  // namespace ocannl
