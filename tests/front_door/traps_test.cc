// SPDX-License-Identifier: Apache-2.0
//
// Slips of a first program: each is an error that says what to write. Takes a
// second.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/ocannl.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

auto Refused(const char* part) {
  return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(part));
}

NdArray Pair(float a, float b) { return NdArray::Of<float>({2}, {a, b}); }

// y = x + x, of an input.
class WriteTest : public testing::Test {
 protected:
  absl::StatusOr<Routine> Link(Tensor y) {
    auto code = train::Forward(model_, y);
    if (!code.ok()) return code.status();
    return ToRoutine(host_.context, *code, {});
  }

  Tensor Weights(const Initializer& init) {
    return Param(model_.graph, "w", {}, DType::kF32, init);
  }

  train::Model model_;
  Tensor x_ = Input(model_.graph, "points", "2");
  TestDevice host_;
  const Context& context_ = host_.context;
};

TEST_F(WriteTest, OfANameThatNoRoutineReads) {
  Routine run = *Link(Named(x_ + x_, "y"));
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(run.Run(), IsOk());
  ASSERT_THAT(context_.Write("point", Pair(3, 4)), IsOk());
  EXPECT_THAT(run.Run(), Refused("`point` was written, but no routine"));
  EXPECT_THAT(run.Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("`y_fwd` reads `points`"),
                             HasSubstr("near names: points"),
                             HasSubstr("Context::Unused::kIsLeft"))));
  context_.Forget("point");
  EXPECT_THAT(run.Run(), IsOk());
}

TEST_F(WriteTest, BeforeItsRoutineIsLinked) {
  Routine first = *Link(Named(x_ + x_, "y"));
  Tensor more = Input(model_.graph, "more", "2");
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("more", Pair(5, 6)), IsOk());
  Routine later = *Link(Named(x_ - more, "z"));
  EXPECT_THAT(first.Run(), IsOk());
  EXPECT_THAT(later.Run(), IsOk());
  // And where a run comes between.
  ASSERT_THAT(context_.Write("rest", Pair(5, 6)), IsOk());
  EXPECT_THAT(first.Run(), Refused("`rest` was written"));
  ASSERT_THAT(context_.Write("rest", Pair(5, 6), Context::Unused::kIsLeft),
              IsOk());
  EXPECT_THAT(first.Run(), IsOk());
  const std::vector<std::pair<std::string, NdArray>> restored = {
      {"momentum", Pair(0, 0)}, {"points", Pair(1, 1)}};
  ASSERT_THAT(context_.WriteAll(restored), IsOk());
  EXPECT_THAT(first.Run(), IsOk());
}

TEST_F(WriteTest, OfAWrongNameBeforeAnyRoutineIsLinked) {
  Tensor y = Named(PointMul(Weights({}), x_), "y");
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("W", Pair(3, 4)), IsOk());
  Routine run = *Link(y);
  ASSERT_THAT(context_.Write("w", Pair(5, 6)), IsOk());
  EXPECT_THAT(run.Run(), Refused("`W` was written, but no routine"));
  context_.Forget("W");
  EXPECT_THAT(run.Run(), IsOk());
}

TEST_F(WriteTest, WhatAFirstValueWouldReplace) {
  Tensor y = Named(PointMul(Weights(DefaultInit), x_), "y");
  ASSERT_THAT(context_.Write("w", Pair(3, 4)), IsOk());
  EXPECT_THAT(train::RunInit(model_, y, {}, context_).status(),
              Refused("computes `w`, whose values the host wrote and nothing"));
  EXPECT_TRUE(SameBits(*context_.Read("w"), Pair(3, 4)));
  context_.Forget("w");
  ASSERT_THAT(train::RunInit(model_, y, {}, context_), IsOk());
  ASSERT_THAT(context_.Write("w", Pair(3, 4)), IsOk());
  Routine run = *Link(y);
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  EXPECT_THAT(run.Run(), IsOk());
  // It was read, so a new start loses nothing that nobody saw.
  EXPECT_THAT(train::RunInit(model_, y, {}, context_), IsOk());
}

TEST_F(WriteTest, WhatIsRestoredBeforeTheFirstValues) {
  Tensor y = Named(PointMul(Weights(DefaultInit), x_), "y");
  const std::vector<std::pair<std::string, NdArray>> saved = {
      {"w", Pair(3, 4)}};
  ASSERT_THAT(context_.WriteAll(saved), IsOk());
  EXPECT_THAT(train::RunInit(model_, y, {}, context_).status(),
              Refused("computes `w`, whose values the host wrote"));
}

TEST_F(WriteTest, WhatDataWouldReplace) {
  Tensor data = Data(model_.graph, "table", Pair(1, 2), *ParseRows("2"));
  ASSERT_THAT(context_.Write("table", Pair(3, 4)), IsOk());
  ASSERT_THAT(context_.Write("points", Pair(0, 0)), IsOk());
  EXPECT_THAT(Link(Named(data + x_, "y")).status(),
              Refused("`table` has values already"));
  ASSERT_THAT(context_.Write("table", Pair(1, 2)), IsOk());
  EXPECT_THAT(Link(Named(data - x_, "z")), IsOk());
}

TEST_F(WriteTest, WhatIsCopiedToAnotherContextIsUsed) {
  Routine run = *Link(Named(x_ + x_, "y"));
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("best", Pair(1, 2)), IsOk());
  TestDevice other;
  ASSERT_THAT(other.context.Copy("best", context_), IsOk());
  EXPECT_THAT(run.Run(), IsOk());
}

TEST_F(WriteTest, InputsThatWereNeverWritten) {
  Tensor w = Param(model_.graph, "w", {}, DType::kF32, {});
  ASSERT_THAT(context_.Write("point", Pair(1, 2)), IsOk());
  Routine run = *Link(Named(PointMul(w, x_) + x_, "y"));
  EXPECT_THAT(run.Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("`y_fwd` reads `w` and `points`, which "
                                       "were never written; `point` was "
                                       "written, which nothing uses"),
                             HasSubstr("*ZerosLike(\"w\") for zeros"))));
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  EXPECT_THAT(run.Run(), Refused("reads `w`, which was never written; call"));
  ASSERT_THAT(context_.Write("w", *context_.ZerosLike("w")), IsOk());
  EXPECT_THAT(run.Run(), Refused("`point` was written, but no routine"));
  context_.Forget("point");
  EXPECT_THAT(run.Run(), IsOk());
}

TEST_F(WriteTest, ASecondParameterOfOneTextSaysWhatItIs) {
  Names names = {.tensors = {{"x", x_}}};
  auto net = [&] { return ParseTensor(model_.graph, "{v} *. x", names); };
  Routine first = *Link(Named(net()->tensor, "y"));
  Routine second = *Link(Named(net()->tensor, "z"));
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("v", Pair(1, 2)), IsOk());
  EXPECT_THAT(first.Run(), IsOk());
  EXPECT_THAT(second.Run(), Refused("because there is a `v`: a text"));
}

TEST_F(WriteTest, AThirdParameterSaysSoBesideTheSecond) {
  Names names = {.tensors = {{"x", x_}}};
  auto net = [&] { return ParseTensor(model_.graph, "{v} *. x", names); };
  ASSERT_THAT(net(), IsOk());
  Routine second = *Link(Named(net()->tensor, "y"));
  Routine third = *Link(Named(net()->tensor, "z"));
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("v_2", Pair(1, 2)), IsOk());
  EXPECT_THAT(third.Run(), Refused("there is a `v_2`"));
}

TEST_F(WriteTest, AGradientIsReadOnlyIfItIsKept) {
  Tensor w = Param(model_.graph, "w", {}, DType::kF32,
                   [](Tensor p) { return Number(*p.graph, 1); });
  Tensor loss = Named(Sum(PointMul(w, x_)), "loss");
  Routine step = *train::StartTraining(model_, loss, Number(model_.graph, 0.5),
                                       train::Sgd(), context_);
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(step.Run(), IsOk());
  EXPECT_THAT(std::string(context_.Read("w.grad").status().message()),
              HasSubstr("a gradient is kept if its code is asked to"));
  EXPECT_THAT(std::string(context_.Read("los").status().message()),
              AllOf(HasSubstr("near names: loss"), Not(HasSubstr("gradient"))));
}

// ~setup_for_parallel of the source documents, on one device.
std::vector<float> TrainInTwoRoutines(const Backend* backend, bool two,
                                      bool update_first) {
  train::Model model;
  TestDevice host(backend);
  Tensor x = Input(model.graph, "x", "8|3");
  train::Mlp net({&model.graph, "net"}, {.sizes = {5, 1}});
  Tensor loss = Named(Mean(Square(net(x) - Sum(x))), "loss");
  absl::StatusOr<train::UpdateCode> update;
  auto make_update = [&] {
    update = train::SgdUpdate(model, loss, Number(model.graph, 0.0625),
                              {.momentum = 0.5});
  };
  CHECK_OK(InferShapes(model.graph, {loss.id}, model.shapes));
  if (update_first) make_update();
  auto gradient = train::GradUpdate(model, loss, {.keep_gradients = two});
  if (!update_first) make_update();
  CHECK_OK(gradient);
  CHECK_OK(update);
  auto init = train::InitParams(model, loss);
  CHECK_OK(init);
  Routine start = *ToRoutine(
      host.context, train::Sequence("init", {*init, update->init}), {});
  CHECK_OK(start.Run());
  std::vector<Routine> routines;
  if (two) {
    routines.push_back(*ToRoutine(start.context(), *gradient, {}));
    routines.push_back(*ToRoutine(routines[0].context(), update->update, {}));
  } else {
    routines.push_back(
        *ToRoutine(start.context(),
                   train::Sequence("step", {*gradient, update->update}), {}));
  }
  NdArray batch(DType::kF32, {8, 3});
  for (int k = 0; k < 24; ++k) batch.values<float>()[k] = k % 7 * 0.125f;
  CHECK_OK(host.context.Write("x", batch));
  for (int step = 0; step < 5; ++step) {
    for (Routine& routine : routines) CHECK_OK(routine.Run());
  }
  std::vector<float> values;
  for (Tensor p : train::AllParameters(model, loss)) {
    const NdArray value = *host.context.Read(p.node().name);
    for (float v : value.values<float>()) values.push_back(v);
  }
  return values;
}

TEST(TwoRoutinesTest, TheUpdateReadsTheGradientsOfTheOther) {
  const std::vector<float> one =
      TrainInTwoRoutines(TestDevice::Interpreter(), false, false);
  EXPECT_EQ(one.size(), 3u * 5 + 5 + 5 + 1);
  for (const std::string& tier : AvailableTiers()) {
    for (bool update_first : {false, true}) {
      EXPECT_EQ(TrainInTwoRoutines(*FindTier(tier), true, update_first), one)
          << tier;
    }
  }
}

TEST_F(WriteTest, AnUpdateWithoutItsGradientsSaysHowToKeepThem) {
  Tensor w = Param(model_.graph, "w", {}, DType::kF32,
                   [](Tensor p) { return Number(*p.graph, 1); });
  Tensor loss = Named(Sum(PointMul(w, x_)), "loss");
  auto gradient = train::GradUpdate(model_, loss);
  ASSERT_THAT(gradient, IsOk());
  auto update = train::ParseCode(model_, "w =- w.grad *. 0.5", {});
  ASSERT_THAT(update, IsOk());
  EXPECT_EQ(update->update.name, "w_code");
  Routine step = *ToRoutine(context_, *gradient, {});
  Routine later = *ToRoutine(step.context(), update->update, {});
  ASSERT_THAT(context_.Write("points", Pair(1, 2)), IsOk());
  ASSERT_THAT(context_.Write("w", Pair(1, 2)), IsOk());
  ASSERT_THAT(step.Run(), IsOk());
  EXPECT_THAT(later.Run(),
              Refused("routine `w_code` reads `w.grad`, which was never "
                      "written; a gradient is kept if its code is asked to"));
  EXPECT_EQ(train::Sequence("", {*gradient}).name, "loss_gradient");
  EXPECT_EQ(RoutineName(Assignments()), "code");
}

// Images with their channels first.
TEST(ChannelsTest, AreLast) {
  auto error = [](const char* shape, train::Conv2dOptions options) {
    train::Model model;
    Tensor x = Input(model.graph, "images", shape);
    train::Conv2d conv({&model.graph, "conv"}, options);
    return std::string(train::Forward(model, conv(x)).status().message());
  };
  for (const char* shape : {"8|3,32,32", "8|1,28,28", "3,224,224", "2|1,8,8",
                            "4,100,64", "2|3,480,640"}) {
    EXPECT_THAT(error(shape, {.channels = 4}),
                HasSubstr("looks like channels,height,width"))
        << shape;
  }
  for (const char* shape : {"8|32,32,3", "8|28,28,1", "8|8,8,64", "8|4,4,4",
                            "8|1,100,64", "8|2,2,512", "8|32,32,32"}) {
    EXPECT_EQ(error(shape, {.channels = 4}), "") << shape;
  }
  EXPECT_EQ(error("8|3,32,32", {.channels = 4, .inputs = 32}), "");
  EXPECT_THAT(error("8|3,32,32", {.channels = 4, .inputs = 3}),
              HasSubstr("shape error"));
}

TEST(ChannelsTest, OfWhatIsMadeOfData) {
  train::Model model;
  Tensor pixels = Input(model.graph, "pixels", "8|3,32,32", DType::kU8);
  Tensor scaled = Convert(pixels, DType::kF32) / 255;
  train::ParamScope scope{&model.graph, "net"};
  auto message = [&](Tensor t) {
    return std::string(
        InferShapes(model.graph, {t.id}, model.shapes).message());
  };
  EXPECT_THAT(
      message(train::Conv2d(scope / "a", {.channels = 4})(scaled)),
      AllOf(HasSubstr("channels are last"), HasSubstr("traps_test.cc")));
  EXPECT_THAT(message(train::DepthwiseSeparableConv2d(scope / "b",
                                                      {.channels = 4})(scaled)),
              HasSubstr("channels are last"));
  // Turned round, and of what a layer has made.
  Tensor turned = Einsum1("...|c, h, w => ...|h, w, c", scaled);
  EXPECT_EQ(message(train::Conv2d(scope / "c", {.channels = 4})(turned)), "");
  Tensor narrow =
      train::MaxPool2d(train::Conv2d(scope / "d", {.channels = 16})(turned),
                       {.kernel = 8, .stride = 8});
  EXPECT_EQ(message(train::Conv2d(scope / "e", {.channels = 4})(narrow)), "");
}

// A network that makes its parameters at each call.
using Net = std::function<Tensor(Tensor)>;

absl::StatusOr<std::unique_ptr<train::TrainedExample>> Train(
    VirtualDevices& devices, const std::function<Net(Graph&)>& make_net) {
  auto rows = [](const char* name, float factor) {
    return [=](Graph& graph, const Dims& batch) {
      NdArray values(DType::kF32, {batch[0], batch[1], 2});
      for (int64_t k = 0; k < values.size(); ++k) {
        values.values<float>()[k] = factor * static_cast<float>(k % 5);
      }
      return Data(graph, name, std::move(values),
                  {.rows = {batch, Dims{2}, Dims{}}});
    };
  };
  return train::ExampleTrainLoop(
      devices, {.batch_size = 4, .init_lr = 0.01, .data_len = 12, .epochs = 3},
      rows("x", 1), rows("y", 0.5), make_net,
      [](Tensor y, Tensor expected) { return Square(y - expected); });
}

Tensor OfText(Tensor x, const char* text) {
  absl::StatusOr<ParsedTensor> parsed =
      ParseTensor(*x.graph, text, {.tensors = {{"x", x}}});
  return parsed.ok() ? parsed->tensor
                     : ErrorTensor(*x.graph, parsed.status(), {});
}

TEST(SharedParamsTest, ATextInANetworkIsTrainedAndUsed) {
  const char* text = "{w2; o=[2]} * relu ({b1; o=[4]} + {w1} * x)";
  auto of_text = [&](Graph&) -> Net {
    return [&](Tensor x) { return OfText(x, text); };
  };
  auto of_blocks = [](Graph&) -> Net {
    return [](Tensor x) {
      train::Linear first({x.graph, "a"}, {.outputs = Dims{4}});
      return train::Linear({x.graph, "b"},
                           {.outputs = Dims{2}})(Relu(first(x)));
    };
  };
  auto of_objects = [](Graph& graph) -> Net {
    train::Linear first({&graph, "a"}, {.outputs = Dims{4}});
    train::Linear second({&graph, "b"}, {.outputs = Dims{2}});
    return [=](Tensor x) { return second(Relu(first(x))); };
  };
  const NdArray one = NdArray::Of<float>({2}, {1, 3});
  for (const std::string& tier : AvailableTiers()) {
    VirtualDevices devices(*FindTier(tier), 2);
    auto trained = Train(devices, of_text);
    ASSERT_THAT(trained, IsOk()) << tier;
    ASSERT_THAT((*trained)->Infer(one), IsOk()) << tier;
    EXPECT_EQ(train::AllParameters((*trained)->model, (*trained)->loss).size(),
              3u);
  }
  VirtualDevices blocks(TestDevice::Interpreter(), 2);
  VirtualDevices objects(TestDevice::Interpreter(), 2);
  auto anew = Train(blocks, of_blocks);
  auto once = Train(objects, of_objects);
  ASSERT_THAT(anew, IsOk());
  ASSERT_THAT(once, IsOk());
  EXPECT_EQ((*anew)->batch_losses, (*once)->batch_losses);
  EXPECT_TRUE(SameBits(*(*anew)->Infer(one), *(*once)->Infer(one)));
}

TEST(SharedParamsTest, OtherParametersAreAnErrorBeforeTheTraining) {
  for (const char* other :
       {"{w1} * {v; i=[2]} * x", "{v} * x", "{w1; o=[3]} * x"}) {
    int calls = 0;
    VirtualDevices devices(TestDevice::Interpreter(), 1);
    auto trained = Train(devices, [&](Graph&) -> Net {
      return [&](Tensor x) {
        return OfText(x, ++calls == 1 ? "{w1; o=[2]} * x" : other);
      };
    });
    EXPECT_THAT(std::string(trained.status().message()),
                HasSubstr("must ask for the same parameters"))
        << other;
  }
}

TEST(SharedParamsTest, OtherCallsMakeTheirOwn) {
  train::Model model;
  Tensor x = Input(model.graph, "x", "2");
  auto net = train::WithSharedParams(
      [](Tensor of) { return OfText(of, "let f z = {w} *. z in f (f x)"); });
  const Tensor first = net(x);
  const Tensor other = OfText(x, "{w} *. x");
  const Tensor again = net(PointMul(x, x));
  ASSERT_THAT(train::Forward(model, again), IsOk());
  EXPECT_EQ(train::AllParameters(model, first)[0].id,
            train::AllParameters(model, again)[0].id);
  EXPECT_EQ(train::AllParameters(model, other)[0].node().name, "w_2");
}

// What cannot return a Status ends with the line of the caller.
TEST(ArrayDeathTest, NamesTheLineOfTheCaller) {
  const NdArray pair = Pair(1, 2);
  EXPECT_DEATH(NdArray::Of<float>({2, 3}, {1, 2}),
               "traps_test.cc:[0-9]+: NdArray of dims .2, 3. has 6 cells, and "
               "2 values are given");
  EXPECT_DEATH(NdArray(DType::kF32, {2, -3}), "traps_test.cc.*below 0");
  EXPECT_DEATH(NdArray(DType::kF64, {int64_t{1} << 40, int64_t{1} << 30}),
               "traps_test.cc.*2\\^63 bytes");
  EXPECT_DEATH(pair.Reshaped({3}), "traps_test.cc.*has 2 cells");
  EXPECT_DEATH(pair.values<double>(), "traps_test.cc.*f64.*is f32");
  EXPECT_DEATH(pair.AsDouble(2), "traps_test.cc.*element 2");
  EXPECT_DEATH(Pointwise(Op::kRelu, {Arg(2)}), "traps_test.cc.*numbers only");
  Graph graph;
  EXPECT_THAT(std::get<ErrorSource>(EmbedSymbol(graph, 3).node().source)
                  .status.message(),
              HasSubstr("no static index has that number"));
  EXPECT_THAT(std::get<ErrorSource>(Slice(Number(graph, 1), -1).node().source)
                  .status.message(),
              HasSubstr("no static index has that number"));
}

}  // namespace
}  // namespace ocannl
