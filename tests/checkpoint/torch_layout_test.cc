// SPDX-License-Identifier: Apache-2.0
//
// Files in PyTorch's layout, of other floats and under its names.
#include "ocannl/train/checkpoint/torch_layout.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/checkpoint/torch_names.h"
#include "ocannl/train/graph/model.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using train::FileLayout;
using train::MatchParams;
using train::NamedArray;
using train::ParamScope;
using train::RestoreOptions;
using train::RestoreParams;

// A .safetensors file as others write it, without our hashes.
std::string ForeignFile(const std::string& folder,
                        const std::vector<NamedArray>& arrays) {
  std::vector<std::string> entries;
  std::string numbers;
  for (const auto& [name, array] : arrays) {
    const size_t begin = numbers.size();
    absl::StrAppend(&numbers, array.AsString());
    std::string dtype(Name(array.dtype()));
    for (char& c : dtype) c = absl::ascii_toupper(c);
    entries.push_back(
        absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":[",
                     absl::StrJoin(array.dims(), ","), "],\"data_offsets\":[",
                     begin, ",", numbers.size(), "]}"));
  }
  const std::string header =
      absl::StrCat("{", absl::StrJoin(entries, ","), "}");
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size() & 0xff);
  length[1] = static_cast<char>(header.size() >> 8);
  const std::string path = absl::StrCat(NewFolder(folder), "/m.safetensors");
  CHECK_OK(WriteFile(path, absl::StrCat(length, header, numbers)));
  return path;
}

// Cell i holds i.
NdArray Counted(Dims dims) {
  NdArray array(DType::kF32, std::move(dims));
  const auto values = array.values<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  return array;
}

// A network whose input has that shape.
struct Net {
  Net(const std::string& rows,
      const std::function<Tensor(const ParamScope& scope, Tensor x)>& apply,
      DType dtype = DType::kF32) {
    y = apply({&model.graph, ""}, Input(model.graph, "x", rows, dtype));
  }

  absl::Status Restore(const std::string& path, const RestoreOptions& options) {
    return RestoreParams(path, model, y, place.context, options);
  }
  std::vector<double> Values(const std::string& name) {
    const NdArray array = *place.context.Read(name);
    std::vector<double> values;
    for (int64_t i = 0; i < array.size(); ++i) {
      values.push_back(array.AsDouble(i));
    }
    return values;
  }

  train::Model model;
  Tensor y;
  Place place;
};

Tensor ApplyConv(const ParamScope& scope, Tensor x) {
  return train::Conv2d(scope, {.channels = 8, .inputs = 3})(x);
}

// Cell o,h,w,i of ours is cell o,i,h,w of PyTorch's.
TEST(TorchLayoutTest, ConvolutionsOfEqualDims) {
  const std::vector<NamedArray> saved = {{"w", Counted({8, 3, 3, 3})},
                                         {"b", Counted({8})}};
  const std::string path = ForeignFile("conv", saved);
  Net net("2|9,9,3", ApplyConv);
  const absl::Status unnamed = net.Restore(path, {});
  EXPECT_THAT(
      unnamed,
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("`w` is f32[8, 3, 3, 3]: another library "
                               "wrote the file, or ocannl before 0.7.0,"),
                     HasSubstr("set RestoreOptions::layout to kPyTorch "
                               "or kOcannl"))));
  EXPECT_THAT(net.place.context.Read("w").status(), Not(IsOk()));
  ASSERT_THAT(net.Restore(path, {.layout = FileLayout::kPyTorch}), IsOk());
  const std::vector<double> w = net.Values("w");
  for (int o = 0, cell = 0; o < 8; ++o) {
    for (int h = 0; h < 3; ++h) {
      for (int v = 0; v < 3; ++v) {
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(w[cell++], ((o * 3 + i) * 3 + h) * 3 + v);
        }
      }
    }
  }
  ASSERT_THAT(net.Restore(path, {.layout = FileLayout::kOcannl}), IsOk());
  EXPECT_EQ(net.Values("w")[1], 1);
  // A file of ours is in our layout.
  for (std::string end : {"/m.npz", "/m.safetensors"}) {
    const std::string own = NewFolder("own") + end;
    const auto arrays = *train::ParamArrays(net.model, net.y);
    CHECK_OK(train::SaveParams(own, arrays, net.place.context));
    EXPECT_THAT(net.Restore(own, {}), IsOk());
    EXPECT_EQ(net.Values("w")[1], 1);
    EXPECT_THAT(net.Restore(own, {.layout = FileLayout::kPyTorch}).message(),
                HasSubstr("`w` is f32[8, 3, 3, 3]: ocannl wrote the file, in "
                          "our order; set RestoreOptions::layout to kOcannl"));
  }
}

// A mask of weights, or the sum of their squares, leaves their order as it is.
TEST(TorchLayoutTest, ConvolutionsWithMasksAndPenalties) {
  Net net("2|9,9,3", [](const ParamScope& scope, Tensor x) {
    Graph& graph = *scope.graph;
    const Tensor w = train::MakeParam(scope, "w", Dims{8, 3, 3, 3}, Dims{},
                                      train::ConstantInit(0));
    const Tensor mask = Data(graph, "mask", Counted({8, 3, 3, 3}),
                             {.rows = {Dims{}, Dims{8, 3, 3, 3}, Dims{}}});
    const Tensor y = Einsum("b|h<+k, v<+l, i; o, k, l, i => b|h, v, o", x,
                            PointMul(PointMul(w, mask), 2));
    return PointMul(y, Einsum1("...|... => 0", Square(w)));
  });
  const std::string path = ForeignFile("masks", {{"w", Counted({8, 3, 3, 3})}});
  EXPECT_THAT(net.Restore(path, {}).message(),
              HasSubstr("another library wrote the file"));
  ASSERT_THAT(net.Restore(path, {.layout = FileLayout::kPyTorch}), IsOk());
  EXPECT_EQ(net.Values("w")[1], 9);
}

// Without the network, four axes of which three are equal may be weights.
TEST(TorchLayoutTest, ArraysAlone) {
  const std::string path = ForeignFile("alone", {{"w", Counted({8, 3, 3, 3})}});
  const std::vector<Array> arrays =
      ArraysOf(std::vector<NamedArray>{{"w", Counted({8, 3, 3, 3})}});
  Place place;
  EXPECT_THAT(RestoreParams(path, arrays, place.context).message(),
              HasSubstr("set RestoreOptions::layout to kOcannl, or give the "
                        "model and its tensor with layout kPyTorch"));
  EXPECT_THAT(RestoreParams(path, arrays, place.context,
                            {.layout = FileLayout::kPyTorch})
                  .message(),
              HasSubstr("give RestoreParams the model and its tensor"));
  EXPECT_THAT(RestoreParams(path, arrays, place.context,
                            {.layout = FileLayout::kOcannl}),
              IsOk());
}

// What a file of PyTorch with cells 0, 1, ... becomes.
std::vector<double> Restored(Net& net, const std::string& name,
                             const std::vector<NamedArray>& saved) {
  const std::string path = ForeignFile("restored", saved);
  const absl::Status unnamed = net.Restore(path, {});
  EXPECT_THAT(unnamed.message(), HasSubstr("RestoreOptions::layout"));
  EXPECT_THAT(net.Restore(path, {.layout = FileLayout::kPyTorch}), IsOk());
  return net.Values(name);
}

TEST(TorchLayoutTest, GroupsAndDepthwise) {
  Net groups("1|5,5,4", [](const ParamScope& scope, Tensor x) {
    return train::Conv2d(
        scope,
        {.channels = 2, .kernel = 2, .bias = false, .groups = 2, .inputs = 4})(
        x);
  });
  EXPECT_THAT(
      Restored(groups, "w", {{"w", Counted({2, 2, 2, 2})}}),
      ElementsAre(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
  Net depthwise("1|5,5,2", [](const ParamScope& scope, Tensor x) {
    return train::DepthwiseSeparableConv2d(
        scope, {.channels = 1, .kernel = 2, .bias = false, .inputs = 2})(x);
  });
  EXPECT_THAT(Restored(depthwise, "depth_w",
                       {{"depth_w", Counted({2, 1, 2, 2})},
                        {"w", Counted({1, 2, 1, 1})}}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(TorchLayoutTest, LinearOfAnImageAndTables) {
  Net linear("1|1,2,3", [](const ParamScope& scope, Tensor x) {
    return train::Linear(scope, {.outputs = Dims{1}, .bias = false})(x);
  });
  // Cells h,w,c of the image are c*h*w of the flat one.
  EXPECT_THAT(Restored(linear, "w", {{"w", Counted({1, 6})}}),
              ElementsAre(0, 2, 4, 1, 3, 5));
  auto embed = [](const ParamScope& scope, Tensor x) {
    const train::Embedding embedding(scope, {.count = 3, .size = 3});
    return embedding(Convert(Einsum1("b|i => b|", x), DType::kI32));
  };
  Net table("2|1", embed);
  EXPECT_THAT(Restored(table, "table", {{"table", Counted({3, 3})}}),
              ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
  // Narrow copies of parameters are used in their place.
  Net kept("2|1", [&](ParamScope scope, Tensor x) {
    scope.dtype = DType::kF16;
    scope.kept = DType::kF32;
    return embed(scope, x);
  });
  EXPECT_THAT(Restored(kept, "table", {{"table", Counted({3, 3})}}),
              ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
}

// Heads are axes of ours: equal cells under other dims.
TEST(TorchLayoutTest, AttentionUnderItsDims) {
  auto attend = [](const ParamScope& scope, Tensor x) {
    return train::MultiHeadAttention(
        scope, {.size = 4, .heads = 2, .key_size = 3, .bias = true})(
        x, x, std::nullopt, train::kInference);
  };
  std::vector<NamedArray> saved;
  for (std::string name : {"query", "key", "value"}) {
    saved.push_back({name + "_w", Counted({6, 4})});
    saved.push_back({name + "_b", Counted({6})});
  }
  saved.push_back({"out_w", Counted({4, 6})});
  saved.push_back({"out_b", Counted({4})});
  const RestoreOptions torch = {.layout = FileLayout::kPyTorch};
  Net net("1,2|4", attend);
  ASSERT_THAT(net.Restore(ForeignFile("attention", saved), torch), IsOk());
  EXPECT_TRUE(SameBits(*net.place.context.Read("query_w"), Counted({2, 3, 4})));
  EXPECT_TRUE(SameBits(*net.place.context.Read("out_w"), Counted({4, 2, 3})));
  // As many cells, but an axis ends where no row of ours does.
  saved[0].second = Counted({4, 6});
  saved[1].second = Counted({3, 2});
  const absl::Status status =
      net.Restore(ForeignFile("transposed", saved), torch);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("2 arrays do not fit, and 6 do:\n  "),
            HasSubstr("`query_w` is f32[4, 6], not f32[2, 3, 4]: the shape "
                      "differs, also in PyTorch's layout"),
            HasSubstr("`query_b` is f32[3, 2], not f32[2, 3]")));
}

// Of a table that is also the matrix of the logits, and of one of positions.
TEST(TorchLayoutTest, LanguageModels) {
  Net net("1,2|1", [](const ParamScope& scope, Tensor x) {
    const train::DecoderOnly model(
        scope, {.vocabulary = 3,
                .length = 2,
                .layers = 1,
                .block = {.size = 2, .heads = 1, .hidden = 2}});
    return model(Convert(Einsum1("...|i => ...|", x), DType::kI32),
                 train::kInference);
  });
  const std::string path =
      ForeignFile("language", {{"token.weight", Counted({3, 2})},
                               {"wpe.weight", Counted({2, 2})},
                               {"h.0.ln.weight", Counted({2})},
                               {"h.0.ln.bias", Counted({2})}});
  const RestoreOptions options = {
      .allow_missing = true,
      .layout = FileLayout::kPyTorch,
      .rename = train::PyTorchNames(
          {{"position", "wpe"}, {"block{n}", "h.{n-1}"}, {"self_norm", "ln"}})};
  ASSERT_THAT(net.Restore(path, options), IsOk());
  EXPECT_THAT(net.Values("token_table"), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(net.Values("position_table"), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(net.Values("block1_self_norm_scale"), ElementsAre(0, 1));
  // The listing says what became of each parameter, and of the others there.
  const auto matches = MatchParams(path, net.model, net.y, options);
  ASSERT_THAT(matches, IsOk());
  EXPECT_EQ(ToString((*matches)[0]),
            "`token_table` is `token.weight`: f32[3, 2], reordered, as [2, 3]");
  EXPECT_EQ(ToString((*matches)[2]),
            "it has no `h.0.self.query.weight` for `block1_self_query_w`");
}

TEST(TorchLayoutTest, UsesThatDiffer) {
  Net net("2|3", [](const ParamScope& scope, Tensor x) {
    const Tensor w =
        train::MakeParam(scope, "w", Dims{3}, Dims{3}, train::ConstantInit(0));
    return Einsum("b|i; o, i => b|o", x, Einsum1("i->o => o, i", w)) +
           Einsum("b|o; i->o => b|i", x, w);
  });
  const std::string path = ForeignFile("differ", {{"w", Counted({3, 3})}});
  EXPECT_THAT(net.Restore(path, {.layout = FileLayout::kPyTorch}).message(),
              HasSubstr("uses it in ways that have different layouts"));
  EXPECT_THAT(net.Restore(path, {.layout = FileLayout::kOcannl}), IsOk());
}

// In PyTorch, the axes of a matrix that becomes a kernel may be any.
TEST(TorchLayoutTest, KernelsOfAnotherShape) {
  Net net("2|9,9,3", [](const ParamScope& scope, Tensor x) {
    const Tensor w = train::MakeParam(scope, "w", Dims{8, 27}, Dims{},
                                      train::ConstantInit(0));
    return Einsum("b|h<+k, v<+l, i; o, k, l, i => b|h, v, o", x,
                  Reshape(w, {.rows = {Dims{}, Dims{8, 3, 3, 3}, Dims{}}}));
  });
  const std::string path = ForeignFile("reshaped", {{"w", Counted({8, 27})}});
  EXPECT_THAT(net.Restore(path, {.layout = FileLayout::kPyTorch}).message(),
              HasSubstr("uses it in ways that have different layouts"));
  EXPECT_THAT(net.Restore(path, {.layout = FileLayout::kOcannl}), IsOk());
}

TEST(ConvertTest, FloatsOfOtherDTypes) {
  const std::vector<double> given = {1 + std::ldexp(1, -24) * 3, -0.0, 65520,
                                     1e-40};
  NdArray wide(DType::kF64, {4});
  absl::c_copy(given, wide.values<double>().begin());
  auto net_of = [](DType dtype) {
    return [=](ParamScope scope, Tensor x) {
      scope.dtype = dtype;
      return Mul(x, train::MakeParam(scope, "w", Dims{4}, Dims{},
                                     train::ConstantInit(0)));
    };
  };
  const std::string path = ForeignFile("convert", {{"w", wide}});
  Net net("4", net_of(DType::kF32));
  EXPECT_THAT(net.Restore(path, {}).message(),
              HasSubstr("`w` is f64[4], not f32[4]: the precision differs; set "
                        "RestoreOptions::convert"));
  ASSERT_THAT(net.Restore(path, {.convert = true}), IsOk());
  EXPECT_THAT(net.Values("w"),
              ElementsAre(1 + std::ldexp(1, -22), 0, 65520, 1e-40f));
  Net narrow("4", net_of(DType::kF16), DType::kF16);
  EXPECT_THAT(narrow.Restore(path, {.convert = true}).message(),
              HasSubstr("`w` has 65520, which is too large for f16"));
  EXPECT_THAT(narrow.place.context.Read("w").status(), Not(IsOk()));
  wide.values<double>()[2] = -INFINITY;  // is so in the file
  wide.values<double>()[3] = 65519;
  ASSERT_THAT(
      narrow.Restore(ForeignFile("infinite", {{"w", wide}}), {.convert = true}),
      IsOk());
  EXPECT_THAT(narrow.Values("w"), ElementsAre(1, 0, -INFINITY, 65504));
  // Integers are no floats.
  const std::string whole =
      ForeignFile("whole", {{"w", NdArray::Of<int64_t>({4}, {1, 2, 3, 4})}});
  EXPECT_THAT(net.Restore(whole, {.convert = true}).message(),
              AllOf(HasSubstr("`w` is i64[4], not f32[4]: the precision"),
                    Not(HasSubstr("RestoreOptions::convert"))));
}

// All that is wrong is in one message, and nothing is written.
TEST(MatchTest, AllMisfitsAtOnce) {
  Net net("1|2", [](const ParamScope& scope, Tensor x) {
    return train::Mlp(scope, {.sizes = {2, 3}})(x);
  });
  const std::string path =
      ForeignFile("misfits", {{"layer1_w", Counted({2, 2})},
                              {"layer1_b", Counted({5})},
                              {"layer2_w", NdArray(DType::kF64, {3, 2})},
                              {"other", Counted({1})}});
  EXPECT_THAT(
      std::string(net.Restore(path, {}).message()),
      HasSubstr("3 arrays do not fit, and 1 do:\n"
                "  `layer1_b` is f32[5], not f32[2]: the shape differs; use "
                "the model that it belongs to\n"
                "  `layer2_w` is f64[3, 2], not f32[3, 2]: the precision "
                "differs; set RestoreOptions::convert, or use the model that "
                "it belongs to\n"
                "  it has no `layer2_b`; it has layer1_w, layer1_b, layer2_w, "
                "other; give RestoreOptions::names where arrays have other "
                "names there"));
  EXPECT_THAT(net.place.context.Read("layer1_w").status(), Not(IsOk()));
}

}  // namespace
}  // namespace ocannl
