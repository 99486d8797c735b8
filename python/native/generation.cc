// SPDX-License-Identifier: Apache-2.0
//
// Generation: a language model continues sequences, token by token.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "python/native/arrays.h"
#include "python/native/blocks.h"
#include "python/native/interruptible.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

class Generation {
 public:
  // `logits` is what the block was applied to: its parameters get values.
  Generation(const Block& block, const Node& logits, int64_t batch,
             double temperature, int64_t top_k)
      : session_(block.session) {
    session_->CheckProcess();
    if (block.next == nullptr) {
      Raise("only the logits of decoder_only() are continued token by token");
    }
    const train::GeneratorOptions options = {
        .length = block.length,
        .batch = batch,
        .sample = {.temperature = temperature, .top_k = top_k}};
    generator_ = std::make_shared<std::optional<train::Generator>>();
    Check(Interruptible(session_, [=, s = session_, made = generator_] {
      return train::WithoutRootnessCheck(
          s->model, [&] { return Make(block, logits, options, *made); });
    }));
  }

  py::object Run(const py::object& prompt, int64_t count) {
    session_->CheckProcess();
    const auto more = std::make_shared<NdArray>();
    Check(Interruptible(
        session_, [=, generator = generator_,
                   given = ArrayOf(ViewOf(prompt, DType::kI32, "`prompt`"))]() {
          absl::StatusOr<NdArray> tokens = (*generator)->Generate(given, count);
          if (tokens.ok()) *more = *std::move(tokens);
          return tokens.status();
        }));
    return ToPython(*more);
  }

 private:
  static absl::Status Make(const Block& block, const Node& logits,
                           const train::GeneratorOptions& options,
                           std::optional<train::Generator>& made) {
    Session& s = *block.session;
    OCANNL_ASSIGN_OR_RETURN(
        s.context, train::RunMissingInit(s.model, logits.tensor, s.context));
    OCANNL_ASSIGN_OR_RETURN(
        made, train::Generator::Make(s.model, options, block.next, s.context));
    return absl::OkStatus();
  }

  SessionPtr session_;
  std::shared_ptr<std::optional<train::Generator>> generator_;
};

}  // namespace

void BindGeneration(py::module_& module) {
  py::class_<Generation>(module, "Generation")
      .def(py::init<const Block&, const Node&, int64_t, double, int64_t>())
      .def("run", &Generation::Run);
}

}  // namespace ocannl::python
