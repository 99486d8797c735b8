// SPDX-License-Identifier: Apache-2.0
//
// The tool's commands on an ONNX model.
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/write.h"
#include "tests/onnx/float_info.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// y = relu(x w), the path of its file.
std::string ModelFile() {
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = {{.op = "MatMul", .inputs = {"x", "w"}, .outputs = {"p"}},
                       {.op = "Relu", .inputs = {"p"}, .outputs = {"y"}}};
  model.graph.initializers = {{"w", NdArray::Of<float>({2, 2}, {1, 2, 3, 4})}};
  model.graph.inputs = {FloatInfo("x", {-1, 2})};
  model.graph.outputs = {FloatInfo("y", {-1, 2})};
  const std::string path = testing::TempDir() + "/small.onnx";
  EXPECT_THAT(WriteFile(path, WriteModel(model)), IsOk());
  return path;
}

// What the tool writes, to both streams.
std::string ToolText(const std::vector<std::string>& args, int code = 0) {
  std::ostringstream out, err;
  EXPECT_EQ(RunTool(args, out, err, "ocannl"), code) << err.str();
  return out.str() + err.str();
}

TEST(OnnxToolTest, RunsAModelOnAllTiers) {
  const std::string text = ToolText(
      {"run", ModelFile(), "--dim=batch=1", "--in=x=[[1,-1]]", "--tier=all"});
  EXPECT_THAT(text, HasSubstr("y : f32[1, 2]"));
  EXPECT_THAT(ToolText({"run", ModelFile(), "--dim=batch=1", "--in=x=[[1,1]]"}),
              AllOf(HasSubstr("4"), HasSubstr("6")));
}

TEST(OnnxToolTest, ExplainsAModel) {
  EXPECT_THAT(ToolText({"explain", ModelFile(), "--dim=batch=3", "--stage=cd"}),
              AllOf(HasSubstr("x : f32[3, 2]"), HasSubstr("y =: relu(")));
}

TEST(OnnxToolTest, ListsAModel) {
  EXPECT_THAT(ToolText({"onnx", ModelFile()}),
              AllOf(HasSubstr("opset 17"), HasSubstr("x : f32[batch, 2]"),
                    HasSubstr("1 MatMul")));
}

TEST(OnnxToolTest, FreeDimensionsAreAskedFor) {
  EXPECT_THAT(ToolText({"run", ModelFile()}, 1), HasSubstr("batch=1"));
  EXPECT_THAT(ToolText({"run", ModelFile(), "--dim=batch"}, 2),
              HasSubstr("write --dim=NAME=SIZE"));
}

}  // namespace
}  // namespace ocannl::onnx
