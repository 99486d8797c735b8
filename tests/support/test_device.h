// SPDX-License-Identifier: Apache-2.0
#ifndef TESTS_SUPPORT_TEST_DEVICE_H_
#define TESTS_SUPPORT_TEST_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl {

// A device with one stream and a context without arrays.
struct TestDevice {
  // On the interpreter.
  TestDevice() : TestDevice(Interpreter()) {}
  // The backend must outlive it.
  explicit TestDevice(const Backend* backend, bool traces = true)
      : device("host", backend), stream(&device, {.traces = traces}) {}

  static const Backend* Interpreter() {
    static const interp::InterpBackend backend;
    return &backend;
  }

  Device device;
  Stream stream;
  Context context{&stream};
};

// The cells of an array that the context has.
inline std::vector<double> CellsOf(const Context& context,
                                   const std::string& name) {
  auto array = context.Read(name);
  CHECK_OK(array) << name;
  std::vector<double> cells;
  for (int64_t k = 0; k < array->size(); ++k) {
    cells.push_back(array->AsDouble(k));
  }
  return cells;
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_TEST_DEVICE_H_
