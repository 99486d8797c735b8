// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/emulation/emulated_gpus.h"
#include "ocannl/emulation/emulated_kernels.h"

namespace ocannl::emulation {
namespace {

constexpr cuda::Result kNoBinary = 209;  // CUDA_ERROR_NO_BINARY_FOR_GPU
constexpr cuda::Result kNotFound = 500;  // CUDA_ERROR_NOT_FOUND

struct Module {
  Library code;
  std::vector<std::unique_ptr<Function>> functions;
};

using Calls = std::vector<Call>;

Call CallOf(cuda::FunctionHandle function, unsigned blocks, unsigned threads,
            void** extra) {
  const size_t bytes = *static_cast<const size_t*>(extra[3]);
  const auto* arguments = static_cast<const long*>(extra[1]);
  return {*reinterpret_cast<const Function*>(function),
          blocks,
          threads,
          {arguments, arguments + bytes / sizeof(long)},
          {}};
}

void SetGraphs(cuda::DriverFunctions& driver) {
  driver.GraphCreate =
      MayFail([](Gpus& gpus, cuda::GraphHandle* handle, unsigned) {
        return gpus.Register(new Calls(), handle);
      });
  driver.GraphDestroy = Releases([](Gpus& gpus, cuda::GraphHandle handle) {
    return gpus.Delete<Calls>(handle);
  });
  // A node is its number, from 1 on.
  driver.GraphAddKernelNode =
      MayFail([](Gpus&, cuda::NodeHandle* node, cuda::GraphHandle handle,
                 const cuda::NodeHandle* after, size_t num_after,
                 const cuda::KernelNode* parameters) {
        auto* graph = reinterpret_cast<Calls*>(handle);
        Call call = CallOf(parameters->function, parameters->grid_x,
                           parameters->block_x, parameters->extra);
        for (size_t k = 0; k < num_after; ++k) {
          call.after.push_back(reinterpret_cast<size_t>(after[k]) - 1);
        }
        graph->push_back(std::move(call));
        *node = reinterpret_cast<cuda::NodeHandle>(graph->size());
      });
  driver.GraphInstantiate = MayFail([](Gpus& gpus, cuda::GraphExecHandle* exec,
                                       cuda::GraphHandle handle, uint64_t) {
    return gpus.Register(new Calls(*reinterpret_cast<const Calls*>(handle)),
                         exec);
  });
  driver.GraphExecDestroy =
      Releases([](Gpus& gpus, cuda::GraphExecHandle handle) {
        return gpus.Delete<Calls>(handle);
      });
  driver.GraphLaunch = MayFail([](Gpus& gpus, cuda::GraphExecHandle exec,
                                  cuda::StreamHandle stream) {
    gpus.Give(stream, [&gpus, calls = *reinterpret_cast<const Calls*>(exec)] {
      RunGraph(calls, gpus.random);
    });
  });
}

}  // namespace

void SetKernels(cuda::DriverFunctions& driver) {
  driver.ModuleLoadData =
      MayFail([](Gpus& gpus, cuda::ModuleHandle* handle, const void* image) {
        absl::StatusOr<Library> code =
            CompileKernels(static_cast<const char*>(image));
        if (!code.ok()) return kNoBinary;
        return gpus.Register(new Module{*std::move(code), {}}, handle);
      });
  driver.ModuleUnload = Releases([](Gpus& gpus, cuda::ModuleHandle handle) {
    return gpus.Delete<Module>(handle);
  });
  driver.ModuleGetFunction = MayFail([](Gpus&, cuda::FunctionHandle* function,
                                        cuda::ModuleHandle handle,
                                        const char* name) {
    auto* module = reinterpret_cast<Module*>(handle);
    auto* kernel = module->code->Find<void()>(name);
    if (kernel == nullptr) return kNotFound;
    module->functions.push_back(std::make_unique<Function>(
        Function{module->code, kernel, std::make_shared<unsigned>(0)}));
    *function =
        reinterpret_cast<cuda::FunctionHandle>(module->functions.back().get());
    return cuda::kSuccess;
  });
  driver.FuncSetAttribute =
      MayFail([](Gpus&, cuda::FunctionHandle, int, int) {});
  driver.LaunchKernel =
      MayFail([](Gpus& gpus, cuda::FunctionHandle function, unsigned blocks,
                 unsigned, unsigned, unsigned threads, unsigned, unsigned,
                 unsigned, cuda::StreamHandle stream, void**, void** extra) {
        gpus.Give(stream, [call = CallOf(function, blocks, threads, extra)] {
          call.Run();
        });
      });
  SetGraphs(driver);
}

}  // namespace ocannl::emulation
