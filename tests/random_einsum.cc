// SPDX-License-Identifier: Apache-2.0
#include "tests/random_einsum.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {

Shape RandomTensor::shape() const {
  Shape shape;
  for (size_t r = 0; r < 3; ++r) {
    for (const RandomAxis& axis : rows[r]) shape.rows[r].push_back(axis.size);
  }
  return shape;
}

std::optional<int64_t> RandomTensor::CellAt(const Point& point) const {
  int64_t cell = 0;
  bool inside = true;
  for (const auto& row : rows) {
    for (const RandomAxis& axis : row) {
      std::optional<int64_t> index = axis.index(point);
      if (!index) return std::nullopt;
      inside = inside && *index >= 0 && *index < axis.size;
      cell = cell * axis.size + *index;
    }
  }
  return inside ? cell : -1;
}

std::string EinsumProgram::Spec() const {
  auto text = [&](const RandomTensor& tensor) {
    std::array<std::string, 3> rows;
    for (size_t r = 0; r < 3; ++r)
      rows[r] = absl::StrJoin(tensor.texts[r], ", ");
    return absl::StrCat(rows[0], "|", rows[2], "->", rows[1]);
  };
  std::vector<std::string> texts;
  for (const RandomTensor& operand : operands) texts.push_back(text(operand));
  return absl::StrCat(absl::StrJoin(texts, "; "), " => ", text(result));
}

void EinsumProgram::ForEachPoint(
    const std::function<void(const Point&)>& visit) const {
  std::vector<std::string> names;
  for (const auto& entry : sizes) {
    bool part = std::count(parts.begin(), parts.end(), entry.first) != 0;
    if (!part) names.push_back(entry.first);
  }
  Point point;
  for (const std::string& part : parts) point[part] = std::nullopt;
  auto visit_parts = [&] {
    if (parts.empty()) return visit(point);
    for (const std::string& part : parts) {
      for (int64_t i = 0; i < sizes.at(part); ++i) {
        point[part] = i;
        visit(point);
      }
      point[part] = std::nullopt;
    }
  };
  std::function<void(size_t)> walk = [&](size_t k) {
    if (k == names.size()) return visit_parts();
    for (int64_t i = 0; i < sizes.at(names[k]); ++i) {
      point[names[k]] = i;
      walk(k + 1);
    }
  };
  walk(0);
}

int64_t Below(std::mt19937_64& random, int64_t n) {
  return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
}

namespace {

class Generator {
 public:
  explicit Generator(std::mt19937_64& random) : random_(random) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      sizes_[name] = Below(4) + 1;
    }
    for (const char* name : {"v", "...batch", "...output", "...input"}) {
      for (int64_t n = Below(3); n > 0; --n) {
        variables_[name].push_back(Below(3) + 1);
      }
    }
  }

  int64_t Below(int64_t n) { return ocannl::Below(random_, n); }
  bool OneIn(int64_t n) { return Below(n) == 0; }

  // An operand; without batch axes if it is to have a gradient.
  RandomTensor Operand(bool has_batch) {
    RandomTensor tensor;
    for (size_t r = has_batch ? 0 : 1; r < 3; ++r) {
      Row(r, Below(3), false, tensor, [&] { return OperandAxis(); });
    }
    return tensor;
  }

  // Windows and strides over names that the operands give a size.
  RandomTensor Windowed() {
    RandomTensor tensor;
    std::string o = Name(), k = Name();
    tensor.rows[1].push_back(Plain(k));
    tensor.rows[1].push_back(o == k ? Strided(o) : Window(o, k));
    WriteTexts(tensor);
    return tensor;
  }

  RandomTensor Result() {
    RandomTensor tensor;
    for (size_t r = 0; r < 3; ++r) {
      Row(r, Below(r == 1 ? 4 : 2), true, tensor, [&] { return ResultAxis(); });
    }
    return tensor;
  }

  RandomTensor Concatenated(const std::vector<RandomAxis>& shared) {
    RandomTensor tensor;
    tensor.rows[1].push_back(Concatenation());
    for (const RandomAxis& axis : shared) tensor.rows[1].push_back(axis);
    if (OneIn(2)) std::swap(tensor.rows[1].front(), tensor.rows[1].back());
    WriteTexts(tensor);
    return tensor;
  }

  // An operand of a concatenation: a part, and what all have.
  RandomTensor Part(const std::vector<RandomAxis>& shared) {
    RandomTensor tensor;
    const std::string name(1, static_cast<char>('p' + parts_.size()));
    parts_.push_back(name);
    sizes_[name] = Below(3) + 1;
    tensor.rows[1].push_back(Plain(name));
    for (const RandomAxis& axis : shared) tensor.rows[1].push_back(axis);
    WriteTexts(tensor);
    return tensor;
  }

  std::vector<RandomAxis> Shared() {
    std::vector<RandomAxis> shared;
    if (OneIn(2)) shared.push_back(Plain("a"));
    if (OneIn(3)) shared.push_back(Plain("b"));
    return shared;
  }

  void Describe(EinsumProgram& program) const {
    for (const std::string& name : used_) program.sizes[name] = sizes_.at(name);
    program.parts = parts_;
  }

 private:
  std::string Name() {
    std::string name(1, static_cast<char>('a' + Below(5)));
    return name;
  }

  static void WriteTexts(RandomTensor& tensor) {
    for (size_t r = 0; r < 3; ++r) {
      tensor.texts[r].clear();
      for (const RandomAxis& axis : tensor.rows[r]) {
        tensor.texts[r].push_back(axis.text);
      }
    }
  }

  // `count` axes, and sometimes a row variable among them.
  void Row(size_t r, int64_t count, bool is_result, RandomTensor& tensor,
           const std::function<RandomAxis()>& make) {
    const int64_t place = OneIn(3) ? Below(count + 1) : -1;
    for (int64_t k = 0; k <= count; ++k) {
      if (k == place) AddVariable(r, is_result, tensor);
      if (k == count) break;
      RandomAxis axis = make();
      tensor.texts[r].push_back(axis.text);
      tensor.rows[r].push_back(std::move(axis));
    }
  }

  // A result has only what the operands name.
  void AddVariable(size_t r, bool is_result, RandomTensor& tensor) {
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

  RandomAxis Plain(const std::string& name) {
    used_.insert(name);
    return {name, sizes_.at(name),
            [name](const Point& p) { return p.at(name); }};
  }

  RandomAxis Position(int64_t position, int64_t size) {
    return {absl::StrCat(position), size,
            [position](const Point&) { return position; }};
  }

  RandomAxis Unnamed() {
    std::string name = absl::StrCat("_", unnamed_++);
    sizes_[name] = Below(3) + 1;
    RandomAxis axis = Plain(name);
    axis.text.assign(1, '_');
    return axis;
  }

  RandomAxis Strided(const std::string& o) {
    used_.insert(o);
    const int64_t stride = Below(2) + 2;
    const int64_t offset = Below(stride);
    return {absl::StrCat(stride, "*", o,
                         offset > 0 ? absl::StrCat("+", offset) : ""),
            stride * sizes_.at(o),
            [=](const Point& p) -> std::optional<int64_t> {
              if (!p.at(o)) return std::nullopt;
              return stride * *p.at(o) + offset;
            }};
  }

  RandomAxis Window(const std::string& o, const std::string& k) {
    used_.insert(o);
    used_.insert(k);
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
    return {text, size, [=](const Point& p) -> std::optional<int64_t> {
              return stride * *p.at(o) + dilation * *p.at(k) - before;
            }};
  }

  RandomAxis Concatenation() {
    int64_t size = 0;
    for (const std::string& part : parts_) size += sizes_.at(part);
    return {absl::StrJoin(parts_, "^"), size,
            [parts = parts_,
             sizes = sizes_](const Point& p) -> std::optional<int64_t> {
              int64_t start = 0;
              for (const std::string& part : parts) {
                if (p.at(part)) return start + *p.at(part);
                start += sizes.at(part);
              }
              return std::nullopt;
            }};
  }

  RandomAxis OperandAxis() {
    if (OneIn(6)) {
      const int64_t size = Below(3) + 1;
      return Position(Below(size), size);
    }
    if (OneIn(8)) return Unnamed();
    return OneIn(5) ? Strided(Name()) : Plain(Name());
  }

  // Of names with a size only.
  RandomAxis ResultAxis() {
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
    if (o != k && OneIn(6)) return Window(o, k);
    return Plain(o);
  }

  std::mt19937_64& random_;
  std::map<std::string, int64_t> sizes_;
  std::map<std::string, std::vector<int64_t>> variables_;
  std::set<std::string> used_;
  std::set<std::string> used_variables_;
  std::vector<std::string> parts_;
  int unnamed_ = 0;
};

// An array and what all of it, or one of its parts, is combined with.
void GeneratePart(Generator& random, EinsumProgram& program) {
  const std::vector<RandomAxis> shared = random.Shared();
  const std::vector<RandomTensor> parts = {random.Part({}), random.Part({})};
  program.operands = {
      random.Concatenated(shared),
      random.OneIn(3) ? random.Concatenated({}) : parts[random.Below(2)]};
  program.op = random.OneIn(2) ? Op::kMul : Op::kAdd;
  program.result = random.OneIn(2) ? program.operands[1] : random.Result();
}

void Generate(Generator& random, EinsumProgram& program) {
  if (random.OneIn(8)) return GeneratePart(random, program);
  if (random.OneIn(6)) {
    std::vector<RandomAxis> shared = random.Shared();
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
  }
  if (random.OneIn(4) && program.op != Op::kMul) program.accum = Op::kMax;
  program.result = random.Result();
}

}  // namespace

EinsumProgram RandomEinsum(std::mt19937_64& random) {
  Generator generator(random);
  EinsumProgram program;
  Generate(generator, program);
  generator.Describe(program);
  return program;
}

}  // namespace ocannl
