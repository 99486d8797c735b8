// SPDX-License-Identifier: Apache-2.0
//
// Blocks: made once, with their parameters, and applied as often as an
// expression is built.
#include "python/native/blocks.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::ParamScope;
using train::Training;

using Apply = Block::Apply;
using Tensors = std::vector<Tensor>;
// A block of one operand that does the same in training and inference.
template <class T>
Apply Simple(T block) {
  return [block](const Tensors& x, Training*, SourceLocation where) {
    return block(x[0], where);
  };
}

// Of the parameters of a block.
ParamScope ScopeOf(const SessionPtr& session, const std::string& name) {
  const std::optional<DType> dtype = session->dtype;
  return {.graph = &session->model.graph,
          .name = name,
          .dtype = dtype,
          .kept = dtype ? std::optional(DType::kF32) : std::nullopt};
}

// One that needs to know.
template <class T>
Apply OfTraining(T block) {
  return [block](const Tensors& x, Training* training, SourceLocation where) {
    return block(x[0], training, where);
  };
}

std::optional<Tensor> Second(const Tensors& operands) {
  if (operands.size() < 2) return std::nullopt;
  return operands[1];
}

train::LayerInit InitOf(const std::string& name) {
  static const auto* inits = new std::map<std::string, train::LayerInit>{
      {"kaiming_uniform", train::KaimingUniform()},
      {"kaiming_normal", train::KaimingNormal()},
      {"xavier_uniform", train::XavierUniform(1)},
      {"xavier_normal", train::XavierNormal(1)},
      {"torch", train::TorchLinear()},
      {"zeros", train::ConstantInit(0)},
  };
  const auto found = inits->find(name);
  if (found != inits->end()) return found->second;
  Raise(absl::StrCat(
      "there is no first value \"", name, "\"; give one of ",
      absl::StrJoin(*inits, ", ", [](std::string* out, const auto& init) {
        absl::StrAppend(out, init.first);
      })));
}

train::Padding PaddingOf(const std::variant<std::string, int64_t>& padding) {
  if (const auto* cells = std::get_if<int64_t>(&padding)) return *cells;
  const std::string& name = std::get<std::string>(padding);
  if (name == "same") return train::Padding::kSame;
  if (name == "valid") return train::Padding::kValid;
  Raise(absl::StrCat("there is no padding \"", name,
                     "\"; give \"same\", \"valid\" or a number of cells"));
}

struct Window {
  int64_t kernel;
  std::optional<int64_t> stride;
  std::variant<std::string, int64_t> padding;

  operator train::WindowOptions() const {  // NOLINT
    return {.kernel = kernel,
            .stride = stride.value_or(kernel),
            .padding = PaddingOf(padding)};
  }
};

train::TransformerOptions TransformerOf(int64_t size, int64_t heads,
                                        int64_t hidden, bool pre_norm,
                                        double dropout, double epsilon) {
  if (heads < 1 || size % heads != 0) {
    Raise(absl::StrCat("size=", size, " is not a multiple of heads=", heads,
                       "; give other numbers"));
  }
  return {.size = size,
          .heads = heads,
          .hidden = hidden,
          .pre_norm = pre_norm,
          .dropout = dropout,
          .norm_epsilon = epsilon};
}

void BindLayers(py::module_& module) {
  module.def("linear", [](const SessionPtr& session, const std::string& name,
                          std::optional<Dims> outputs, bool bias,
                          const std::string& init, const UserLine& where) {
    return Block{
        session,
        Simple(train::Linear(
            ScopeOf(session, name),
            {.outputs = std::move(outputs), .bias = bias, .init = InitOf(init)},
            where))};
  });
  module.def("mlp", [](const SessionPtr& session, const std::string& name,
                       std::vector<int64_t> sizes, const std::string& init,
                       const UserLine& where) {
    return Block{session, Simple(train::Mlp(
                              ScopeOf(session, name),
                              {.sizes = std::move(sizes), .init = InitOf(init)},
                              where))};
  });
  module.def("conv2d", [](const SessionPtr& session, const std::string& name,
                          int64_t channels, int64_t kernel, int64_t stride,
                          int64_t dilation,
                          const std::variant<std::string, int64_t>& padding,
                          bool bias, int64_t groups, int64_t inputs,
                          const std::string& init, const UserLine& where) {
    return Block{session, Simple(train::Conv2d(ScopeOf(session, name),
                                               {.channels = channels,
                                                .kernel = kernel,
                                                .stride = stride,
                                                .dilation = dilation,
                                                .padding = PaddingOf(padding),
                                                .bias = bias,
                                                .init = InitOf(init),
                                                .groups = groups,
                                                .inputs = inputs},
                                               where))};
  });
  module.def(
      "embedding", [](const SessionPtr& session, const std::string& name,
                      int64_t count, int64_t size, const UserLine& where) {
        return Block{session, Simple(train::Embedding(
                                  ScopeOf(session, name),
                                  {.count = count, .size = size}, where))};
      });
}

void BindNorms(py::module_& module) {
  module.def(
      "layer_norm", [](const SessionPtr& session, const std::string& name,
                       double epsilon, const UserLine& where) {
        return Block{session, Simple(train::LayerNorm(ScopeOf(session, name),
                                                      epsilon, where))};
      });
  module.def("rms_norm", [](const SessionPtr& session, const std::string& name,
                            double epsilon, const UserLine& where) {
    return Block{session, Simple(train::RmsNorm(ScopeOf(session, name), epsilon,
                                                where))};
  });
  module.def(
      "batch_norm", [](const SessionPtr& session, const std::string& name,
                       double momentum, double epsilon, const UserLine& where) {
        return Block{session,
                     OfTraining(train::BatchNorm(
                         ScopeOf(session, name),
                         {.momentum = momentum, .epsilon = epsilon}, where))};
      });
  module.def("dropout", [](const SessionPtr& session, double rate) {
    return Block{session, [rate](const Tensors& x, Training* training,
                                 SourceLocation where) {
                   return train::Dropout(x[0], rate, training, where);
                 }};
  });
}

void BindAttention(py::module_& module) {
  module.def("attention", [](const SessionPtr& session, const std::string& name,
                             int64_t size, int64_t heads, int64_t key_size,
                             double dropout, const UserLine& where) {
    const train::MultiHeadAttention attention(ScopeOf(session, name),
                                              {.size = size,
                                               .heads = heads,
                                               .key_size = key_size,
                                               .dropout = dropout},
                                              where);
    // Operands: the places, the memory, and the mask if there is one.
    return Block{session, [attention](const Tensors& x, Training* training,
                                      SourceLocation at) {
                   const std::optional<Tensor> mask =
                       x.size() < 3 ? std::nullopt : std::optional(x[2]);
                   return attention(x[0], x[1], mask, training, at);
                 }};
  });
  module.def("encoder", [](const SessionPtr& session, const std::string& name,
                           int64_t layers, int64_t size, int64_t heads,
                           int64_t hidden, bool pre_norm, double dropout,
                           double epsilon, const UserLine& where) {
    const train::Encoder encoder(
        ScopeOf(session, name), layers,
        TransformerOf(size, heads, hidden, pre_norm, dropout, epsilon), where);
    return Block{session, [encoder](const Tensors& x, Training* training,
                                    SourceLocation at) {
                   return encoder(x[0], Second(x), training, at);
                 }};
  });
  module.def("decoder_only",
             [](const SessionPtr& session, const std::string& name,
                int64_t vocabulary, int64_t length, int64_t layers,
                int64_t size, int64_t heads, int64_t hidden, bool pre_norm,
                double dropout, double epsilon, const UserLine& where) {
               const train::DecoderOnly decoder(
                   ScopeOf(session, name),
                   {.vocabulary = vocabulary,
                    .length = length,
                    .layers = layers,
                    .block = TransformerOf(size, heads, hidden, pre_norm,
                                           dropout, epsilon)},
                   where);
               return Block{session, OfTraining(decoder),
                            [decoder](Tensor token, train::Decoding& decoding) {
                              return decoder.Step(token, decoding);
                            },
                            length};
             });
}

void BindFunctions(py::module_& module) {
  module.def("max_pool2d", [](const Node& x, int64_t kernel,
                              std::optional<int64_t> stride,
                              const std::variant<std::string, int64_t>& padding,
                              const UserLine& where) {
    return Checked(
        x.session,
        train::MaxPool2d(x.tensor, Window{kernel, stride, padding}, where));
  });
  module.def("avg_pool2d", [](const Node& x, int64_t kernel,
                              std::optional<int64_t> stride,
                              const std::variant<std::string, int64_t>& padding,
                              const UserLine& where) {
    return Checked(
        x.session,
        train::AvgPool2d(x.tensor, Window{kernel, stride, padding}, where));
  });
  module.def("global_avg_pool2d", [](const Node& x, const UserLine& where) {
    return Checked(x.session, train::GlobalAvgPool2d(x.tensor, where));
  });
  module.def("softmax",
             [](const std::string& spec, const Node& x, const UserLine& where) {
               return Checked(x.session, train::Softmax(spec, x.tensor, where));
             });
  module.def("log_softmax", [](const std::string& spec, const Node& x,
                               const UserLine& where) {
    return Checked(x.session, train::LogSoftmax(spec, x.tensor, where));
  });
  module.def(
      "cross_entropy",
      [](const Node& logits, const Node& targets, double smoothing,
         const std::optional<Node>& weights, const UserLine& where) {
        train::CrossEntropyOptions options = {.label_smoothing = smoothing};
        if (weights) options.weights = weights->tensor;
        return Checked(
            logits.session,
            train::CrossEntropy(logits.tensor, targets.tensor, options, where));
      });
  module.def("mean_squared_error", [](const Node& values, const Node& targets,
                                      const UserLine& where) {
    return Checked(values.session, train::MeanSquaredError(
                                       values.tensor, targets.tensor, where));
  });
}

}  // namespace

void BindBlocks(py::module_& module) {
  py::class_<Block>(module, "Block").def("__call__", &Block::operator());
  BindLayers(module);
  BindNorms(module);
  BindAttention(module);
  BindFunctions(module);
}

}  // namespace ocannl::python
