// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/random_einsum.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl::fuzz {

namespace {

class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      sizes_[name] = Below(4) + 1;
    }
    for (const char* name : {"v", "...batch", "...output", "...input"}) {
      for (int64_t n = Below(3); n > 0; --n) {
        variables_[name].push_back(Below(3) + 1);
      }
    }
  }

  int64_t Below(int64_t n) { return random_.Below(n); }
  bool OneIn(int64_t n) { return Below(n) == 0; }

  // An operand; without batch axes if it is to have a gradient.
  ProgramTensor Operand(bool has_batch) {
    ProgramTensor tensor;
    for (size_t r = has_batch ? 0 : 1; r < 3; ++r) {
      Row(r, Below(3), false, tensor, [&] { return OperandAxis(); });
    }
    return tensor;
  }

  // Windows and strides over names that the operands give a size.
  ProgramTensor Windowed() {
    ProgramTensor tensor;
    std::string o = Name(), k = Name();
    tensor.rows[1].push_back(Plain(k));
    tensor.rows[1].push_back(o == k ? Strided(o) : Window(o, k, false));
    WriteTexts(tensor);
    return tensor;
  }

  ProgramTensor Result() {
    ProgramTensor tensor;
    for (size_t r = 0; r < 3; ++r) {
      Row(r, Below(r == 1 ? 4 : 2), true, tensor, [&] { return ResultAxis(); });
    }
    return tensor;
  }

  ProgramTensor Concatenated(const std::vector<ProgramAxis>& shared) {
    ProgramTensor tensor;
    tensor.rows[1].push_back(Concatenation());
    for (const ProgramAxis& axis : shared) tensor.rows[1].push_back(axis);
    if (OneIn(2)) std::swap(tensor.rows[1].front(), tensor.rows[1].back());
    WriteTexts(tensor);
    return tensor;
  }

  // An operand of a concatenation: a part, and what all have.
  ProgramTensor Part(const std::vector<ProgramAxis>& shared) {
    ProgramTensor tensor;
    const std::string name(1, static_cast<char>('p' + parts_.size()));
    parts_.push_back(name);
    sizes_[name] = Below(3) + 1;
    tensor.rows[1].push_back(Plain(name));
    for (const ProgramAxis& axis : shared) tensor.rows[1].push_back(axis);
    WriteTexts(tensor);
    return tensor;
  }

  std::vector<ProgramAxis> Shared() {
    std::vector<ProgramAxis> shared;
    if (OneIn(2)) shared.push_back(Plain("a"));
    if (OneIn(3)) shared.push_back(Plain("b"));
    return shared;
  }

  void Describe(EinsumProgram& program) const {
    for (const std::string& name : used_) program.sizes[name] = sizes_.at(name);
    if (!parts_.empty()) program.groups = {parts_};
  }

 private:
  std::string Name() {
    std::string name(1, static_cast<char>('a' + Below(5)));
    return name;
  }

  static void WriteTexts(ProgramTensor& tensor) {
    for (size_t r = 0; r < 3; ++r) {
      tensor.texts[r].clear();
      for (const ProgramAxis& axis : tensor.rows[r]) {
        tensor.texts[r].push_back(axis.text);
      }
    }
  }

  // `count` axes, and sometimes a row variable among them.
  void Row(size_t r, int64_t count, bool is_result, ProgramTensor& tensor,
           const std::function<ProgramAxis()>& make) {
    const int64_t place = OneIn(3) ? Below(count + 1) : -1;
    for (int64_t k = 0; k <= count; ++k) {
      if (k == place) AddVariable(r, is_result, tensor);
      if (k == count) break;
      ProgramAxis axis = make();
      tensor.texts[r].push_back(axis.text);
      tensor.rows[r].push_back(std::move(axis));
    }
  }

  // A result has only what the operands name.
  void AddVariable(size_t r, bool is_result, ProgramTensor& tensor) {
    static constexpr const char* kEllipses[] = {"...batch", "...output",
                                                "...input"};
    const std::string variable = OneIn(3) ? "v" : kEllipses[r];
    if (is_result && !used_variables_.contains(variable)) return;
    used_variables_.insert(variable);
    tensor.texts[r].push_back(variable == "v" ? "..v.." : "...");
    for (size_t i = 0; i < variables_[variable].size(); ++i) {
      std::string name = absl::StrCat(variable, "#", i);
      sizes_[name] = variables_[variable][i];
      tensor.rows[r].push_back(Plain(name));
    }
  }

  ProgramAxis Plain(const std::string& name) {
    used_.insert(name);
    return {name, {name}, sizes_.at(name), [name](const Point& p) {
              return p.at(name);
            }};
  }

  ProgramAxis Position(int64_t position, int64_t size) {
    return {absl::StrCat(position), {}, size, [position](const Point&) {
              return position;
            }};
  }

  ProgramAxis Unnamed() {
    std::string name = absl::StrCat("_", unnamed_++);
    sizes_[name] = Below(3) + 1;
    ProgramAxis axis = Plain(name);
    axis.text.assign(1, '_');
    return axis;
  }

  ProgramAxis Strided(const std::string& o) {
    used_.insert(o);
    const int64_t stride = Below(2) + 2;
    const int64_t offset = Below(stride);
    return {absl::StrCat(stride, "*", o,
                         offset > 0 ? absl::StrCat("+", offset) : ""),
            {o},
            stride * sizes_.at(o),
            [=](const Point& p) -> std::optional<int64_t> {
              if (!p.at(o)) return std::nullopt;
              return stride * *p.at(o) + offset;
            }};
  }

  ProgramAxis Window(const std::string& o, const std::string& k,
                     bool is_result) {
    used_.insert(o);
    used_.insert(k);
    if (OneIn(2)) return RoundedWindow(o, k, is_result);
    const int64_t stride = Below(3) + 1, dilation = Below(2) + 1;
    const bool valid = OneIn(2);
    const int64_t reach = dilation * (sizes_.at(k) - 1) + 1;
    const int64_t size =
        valid ? stride * (sizes_.at(o) - 1) + reach : stride * sizes_.at(o);
    const int64_t before = valid ? 0 : reach / 2;
    std::string text = stride > 1 ? absl::StrCat(stride, "*", o) : o;
    absl::StrAppend(&text,
                    valid      ? "<+"
                    : OneIn(2) ? "=+"
                               : "+",
                    dilation > 1 ? absl::StrCat(dilation, "*", k) : k);
    return {text, {o, k}, size, [=](const Point& p) -> std::optional<int64_t> {
              return stride * *p.at(o) + dilation * *p.at(k) - before;
            }};
  }

  // Windows of which as many as fit lie on the axis, which leave some of its
  // cells out or leave it; a result is as small as may be.
  ProgramAxis RoundedWindow(const std::string& o, const std::string& k,
                            bool is_result) {
    const int64_t stride = Below(3) + 1, dilation = Below(2) + 1;
    const int64_t before = Below(3), after = Below(3);
    const int64_t start = stride * (sizes_.at(o) - 1);
    const int64_t reach = dilation * (sizes_.at(k) - 1) + 1;
    const std::string windows =
        absl::StrCat(stride, "*", o, "+", dilation, "*", k);
    const int64_t rest = is_result ? 0 : Below(stride);
    int64_t size = start + reach - before - after;
    bool up = OneIn(2);
    // Rounded up, the last one starts in the axis or before it.
    if (size - rest < 1 || start >= size - rest + before) up = false;
    size += up ? -rest : rest;
    std::string text =
        absl::StrCat(before, "<", windows, up ? "<=" : "<", after);
    int64_t first = -before;
    if (size < 1 || OneIn(3)) {
      size = start + stride - rest;
      text = absl::StrCat(stride, "*", o, "<=+", dilation, "*", k);
      first = -(std::max<int64_t>(0, start + reach - size) / 2);
    }
    return {text, {o, k}, size, [=](const Point& p) -> std::optional<int64_t> {
              return stride * *p.at(o) + dilation * *p.at(k) + first;
            }};
  }

  ProgramAxis Concatenation() {
    int64_t size = 0;
    for (const std::string& part : parts_) size += sizes_.at(part);
    return {absl::StrJoin(parts_, "^"), parts_, size,
            ConcatenatedIndex(parts_, sizes_)};
  }

  ProgramAxis OperandAxis() {
    if (OneIn(6)) {
      const int64_t size = Below(3) + 1;
      return Position(Below(size), size);
    }
    if (OneIn(8)) return Unnamed();
    return OneIn(5) ? Strided(Name()) : Plain(Name());
  }

  // Of names with a size only.
  ProgramAxis ResultAxis() {
    std::vector<std::string> known;
    for (const std::string& name : used_) {
      if (name.size() == 1 && name < "p") known.push_back(name);
    }
    if (known.empty() || OneIn(6)) {
      const int64_t position = Below(3);
      return Position(position, position + 1);
    }
    const std::string o = known[Below(known.size())];
    const std::string k = known[Below(known.size())];
    if (OneIn(6)) return Strided(o);
    if (o != k && OneIn(6)) return Window(o, k, true);
    return Plain(o);
  }

  Random& random_;
  std::map<std::string, int64_t> sizes_;
  std::map<std::string, std::vector<int64_t>> variables_;
  std::set<std::string> used_;
  std::set<std::string> used_variables_;
  std::vector<std::string> parts_;
  int unnamed_ = 0;
};

// An array and what all of it, or one of its parts, is combined with.
void GeneratePart(Generator& random, EinsumProgram& program) {
  const std::vector<ProgramAxis> shared = random.Shared();
  const std::vector<ProgramTensor> parts = {random.Part({}), random.Part({})};
  program.operands = {
      random.Concatenated(shared),
      random.OneIn(3) ? random.Concatenated({}) : parts[random.Below(2)]};
  program.op = random.OneIn(2) ? Op::kMul : Op::kAdd;
  program.result = random.OneIn(2) ? program.operands[1] : random.Result();
}

void Generate(Generator& random, EinsumProgram& program) {
  if (random.OneIn(8)) return GeneratePart(random, program);
  if (random.OneIn(6)) {
    std::vector<ProgramAxis> shared = random.Shared();
    if (random.OneIn(3)) {
      // What is put together already.
      for (int k = 0; k < 2; ++k) random.Part({});
      program.operands.push_back(random.Concatenated(shared));
    }
    for (int64_t n = random.Below(4) + 1; n > 0; --n) {
      program.operands.push_back(random.Part(shared));
    }
    program.result = program.operands.size() > 1 ? random.Concatenated(shared)
                                                 : program.operands[0];
    return;
  }
  const bool has_batch = random.OneIn(2);
  program.operands.push_back(random.Operand(has_batch));
  if (random.OneIn(2)) {
    program.operands.push_back(random.OneIn(2) ? random.Windowed()
                                               : random.Operand(has_batch));
    program.op = random.OneIn(2) ? Op::kMul : Op::kAdd;
    if (program.op == Op::kMul && random.OneIn(3)) {
      program.operands.push_back(random.Operand(has_batch));
      program.op = Op::kMul3;
      for (int64_t n = random.Below(4); n > 0; --n) {
        program.operands.push_back(random.Operand(has_batch));
        program.op = Op::kMul;
      }
    }
  }
  const bool multiplies = program.op == Op::kMul || program.op == Op::kMul3;
  if (random.OneIn(4) && !multiplies) {
    program.accum = random.OneIn(2) ? Op::kMax : Op::kMin;
  }
  program.result = random.Result();
}

}  // namespace

EinsumProgram RandomEinsum(Random& random) {
  Generator generator(random);
  EinsumProgram program;
  Generate(generator, program);
  generator.Describe(program);
  return program;
}

}  // namespace ocannl::fuzz
