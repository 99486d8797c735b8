// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/decode/generator.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {
namespace {

absl::StatusOr<Routine> Ran(const Context& context, const Assignments& code) {
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(context, code, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return routine;
}

}  // namespace

absl::StatusOr<Generator> Generator::Make(Model& model,
                                          const GeneratorOptions& options,
                                          Next next, const Context& context) {
  Graph& graph = model.graph;
  Names names;
  auto index = [&](absl::string_view name, std::optional<int64_t> range,
                   std::string& kept) {
    kept = absl::StrCat(name, graph.statics().size());
    return graph.AddStatic(kept, range);
  };
  Decoding decoding{
      .position = index("position", options.length, names.position),
      .length = options.length,
      .batch = {options.batch},
      .memory_length = options.memory_length};
  const Dims places = {options.length, options.batch};
  const Tensor prompt = Data(graph, "prompt", NdArray(DType::kI32, places),
                             {.rows = {places, Dims{}, Dims{}}});
  const Tensor written =
      MakeParam({.graph = &graph, .name = "", .dtype = DType::kI32}, "written",
                places, Dims{}, ConstantInit(0));
  names.prompt = prompt.node().name;
  names.written = written.node().name;
  auto value = [&](int32_t number) { return EmbedSymbol(graph, number); };
  const Tensor is_given =
      Less(value(decoding.position),
           value(index("given", std::nullopt, names.given)));
  const Tensor before =
      Convert(value(decoding.position) - 1, DType::kI32);  // -1: a 0
  const Tensor token = Select(is_given, Slice(prompt, decoding.position),
                              Gather("t, b; | => b|", written, before));
  const Tensor drawn = Sample(next(token, decoding), options.sample,
                              value(index("draw", std::nullopt, names.draw)));
  OCANNL_ASSIGN_OR_RETURN(const UpdateCode start,
                          UpdateStates(model, decoding.start));
  OCANNL_ASSIGN_OR_RETURN(const Assignments forward, Forward(model, drawn));
  decoding.step.push_back({.state = written,
                           .value = Einsum1("b| => b", drawn),
                           .at = decoding.position});
  OCANNL_ASSIGN_OR_RETURN(const UpdateCode step,
                          UpdateStates(model, decoding.step));
  OCANNL_ASSIGN_OR_RETURN(
      const Routine init,
      Ran(context, Sequence("decode_init", {start.init, step.init})));
  OCANNL_ASSIGN_OR_RETURN(
      Routine first,
      ToRoutine(init.context(), Sequence("decode_start", {start.update}), {}));
  OCANNL_ASSIGN_OR_RETURN(
      Routine each,
      ToRoutine(first.context(),
                Sequence("decode_step", {forward, step.update}), {}));
  return Generator(options, std::move(names), std::move(first),
                   std::move(each));
}

absl::StatusOr<NdArray> Generator::Generate(const NdArray& prompt,
                                            int64_t count) {
  const auto [length, batch] = std::pair(options_.length, options_.batch);
  const Dims& dims = prompt.dims();
  if (prompt.dtype() != DType::kI32 || dims.size() != 2 || dims[0] != batch ||
      dims[1] < 1 || count < 0 || count > length - dims[1] + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a prompt of ", Name(prompt.dtype()), " ", absl::StrJoin(dims, ","),
        " and ", count, " tokens more: give i32 of ", batch,
        " rows; all tokens but the last must fit ", length, " places"));
  }
  const int64_t given = dims[1];
  NdArray places(DType::kI32, {length, batch});
  for (int64_t k = 0; k < batch * given; ++k) {
    places.values<int32_t>()[k % given * batch + k / given] =
        prompt.values<int32_t>()[k];
  }
  OCANNL_RETURN_IF_ERROR(context().Write(names_.prompt, places));
  OCANNL_RETURN_IF_ERROR(start_.Run());
  OCANNL_RETURN_IF_ERROR(step_.Set(names_.given, given));
  for (int64_t k = 0; k < given + count - 1; ++k) {
    OCANNL_RETURN_IF_ERROR(step_.Set(names_.position, k));
    if (options_.sample.temperature > 0) {
      OCANNL_RETURN_IF_ERROR(step_.Set(names_.draw, draws_++));
    }
    OCANNL_RETURN_IF_ERROR(step_.Run());
  }
  OCANNL_ASSIGN_OR_RETURN(const NdArray all, context().Read(names_.written));
  NdArray tokens(DType::kI32, {batch, count});
  for (int64_t k = 0; k < batch * count; ++k) {
    tokens.values<int32_t>()[k] =
        all.values<int32_t>()[(given - 1 + k % count) * batch + k / count];
  }
  return tokens;
}

}  // namespace ocannl::train
