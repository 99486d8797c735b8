// SPDX-License-Identifier: Apache-2.0
//
// WordPiece: the tokenizer of BERT.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::WordPiece;

std::pair<py::object, py::object> Encode(const WordPiece& pieces,
                                         const std::vector<std::string>& texts,
                                         int64_t most, int64_t multiple) {
  if (texts.empty()) Raise("there is no text; give one or more");
  if (most < 2 || multiple < 1) {
    Raise(absl::StrCat("most=", most, " and multiple=", multiple,
                       "; give 2 and 1 or more"));
  }
  const train::TokenBatch batch =
      pieces.EncodeBatch(texts, {.most = most, .multiple = multiple});
  return {ToPython(batch.ids), ToPython(batch.mask)};
}

}  // namespace

void BindText(py::module_& module) {
  py::class_<WordPiece>(module, "WordPiece")
      .def(py::init([](const std::string& path, bool lower_case) {
        return Check(WordPiece::Load(path, {.lower_case = lower_case}));
      }))
      .def("size", &WordPiece::size)
      .def("piece", &WordPiece::piece)
      .def("ids", [](const WordPiece& pieces,
                     const std::string& text) { return pieces.Encode(text); })
      .def("batch", &Encode);
}

}  // namespace ocannl::python
