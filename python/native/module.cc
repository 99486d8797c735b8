// SPDX-License-Identifier: Apache-2.0
//
// _native: what the Python modules of ocannl are made of.
#include <pybind11/pybind11.h>

#include "python/native/session.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "What ocannl's Python modules are made of; import ocannl.";
  // Messages of Python name types as users import them: ocannl.Array.
  const pybind11::object name = module.attr("__name__");
  module.attr("__name__") = "ocannl";
  ocannl::python::BindArrays(module);
  ocannl::python::BindTensors(module);
  ocannl::python::BindBlocks(module);
  ocannl::python::BindCode(module);
  ocannl::python::BindRules(module);
  ocannl::python::BindParameters(module);
  ocannl::python::BindSteps(module);
  ocannl::python::BindPredictions(module);
  ocannl::python::BindGeneration(module);
  ocannl::python::BindTuning(module);
  ocannl::python::BindOnnx(module);
  ocannl::python::BindText(module);
  module.attr("__name__") = name;
}
