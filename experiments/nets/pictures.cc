// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace ocannl {
namespace {

// Distributions of the standard library differ between libraries.
class Random {
 public:
  explicit Random(uint32_t seed) : words_(seed) {}

  double Between(double low, double high) {
    return low + (high - low) * static_cast<double>(words_()) * 0x1p-32;
  }
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(words_()) % count;
  }

 private:
  std::mt19937 words_;
};

using Image = absl::Span<float>;
using Draw = absl::FunctionRef<void(Random& random, int64_t kind, Image image)>;

// What to draw: classes of pictures of those dims.
struct Kind {
  int64_t classes;
  Dims dims;
  Draw draw;
};

Examples Drawn(int64_t count, Random& random, const Kind& what) {
  const Dims& dims = what.dims;
  Dims all = {count};
  all.insert(all.end(), dims.begin(), dims.end());
  Examples examples{.inputs = NdArray(DType::kF32, all),
                    .classes = NdArray(DType::kI32, {count})};
  const auto size = static_cast<size_t>(NumElements(dims));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t kind = random.Below(what.classes);
    examples.classes.values<int32_t>()[k] = static_cast<int32_t>(kind);
    what.draw(random, kind,
              examples.inputs.values<float>().subspan(k * size, size));
  }
  return examples;
}

Lessons DrawnLessons(int64_t train_count, int64_t test_count, uint32_t seed,
                     const Kind& what) {
  Random random(seed);
  Examples train = Drawn(train_count, random, what);
  return {.train = std::move(train),
          .test = Drawn(test_count, random, what),
          .classes = what.classes};
}

constexpr int kDigitSize = 28;
constexpr int kGlyphHeight = 7;
constexpr int kGlyphWidth = 5;

constexpr std::array<absl::string_view, 10> kGlyphs = {
    " ### "
    "#   #"
    "#  ##"
    "# # #"
    "##  #"
    "#   #"
    " ### ",
    "  #  "
    " ##  "
    "# #  "
    "  #  "
    "  #  "
    "  #  "
    "#####",
    " ### "
    "#   #"
    "    #"
    "  ## "
    " #   "
    "#    "
    "#####",
    "#####"
    "    #"
    "   # "
    "  ## "
    "    #"
    "#   #"
    " ### ",
    "   # "
    "  ## "
    " # # "
    "#  # "
    "#####"
    "   # "
    "   # ",
    "#####"
    "#    "
    "#### "
    "    #"
    "    #"
    "#   #"
    " ### ",
    "  ## "
    " #   "
    "#    "
    "#### "
    "#   #"
    "#   #"
    " ### ",
    "#####"
    "    #"
    "   # "
    "   # "
    "  #  "
    "  #  "
    "  #  ",
    " ### "
    "#   #"
    "#   #"
    " ### "
    "#   #"
    "#   #"
    " ### ",
    " ### "
    "#   #"
    "#   #"
    " ####"
    "    #"
    "   # "
    " ##  ",
};

// 1 on the glyph's marks, between the centres of its cells in proportion.
double GlyphAt(absl::string_view glyph, double row, double column) {
  const double top = std::floor(row), left = std::floor(column);
  double sum = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const double r = top + corner / 2, c = left + corner % 2;
    if (r < 0 || r >= kGlyphHeight || c < 0 || c >= kGlyphWidth) continue;
    const bool mark = glyph[static_cast<size_t>(r * kGlyphWidth + c)] == '#';
    if (mark) sum += (1 - std::abs(row - r)) * (1 - std::abs(column - c));
  }
  return sum;
}

void DrawDigit(Random& random, int64_t kind, Image image) {
  const double scale = random.Between(2.2, 3.2);  // cells of a glyph's cell
  const double slant = random.Between(-0.25, 0.25);
  const double middle_row = 13.5 + random.Between(-3, 3);
  const double middle_column = 13.5 + random.Between(-3, 3);
  for (int k = 0; k < kDigitSize * kDigitSize; ++k) {
    const double row = (k / kDigitSize - middle_row) / scale;
    const double column = (k % kDigitSize - middle_column) / scale;
    const double mark =
        GlyphAt(kGlyphs[kind], row + 3, column + slant * row + 2);
    image[k] = static_cast<float>(
        std::clamp(mark + random.Between(-0.2, 0.2), 0., 1.));
  }
}

constexpr int kPatternSize = 32;

struct Pattern {
  int64_t kind;
  double size, row, column, phase;

  // Whether the cell is in the first colour; places are from the middle.
  bool At(double y, double x) const {
    if (kind < 5) {
      const double angle = static_cast<double>(kind) * std::numbers::pi / 5;
      const double along = x * std::cos(angle) + y * std::sin(angle);
      return std::sin(along * 8 / size + phase) > 0;
    }
    const double distance = std::hypot(y, x);
    const double most = std::max(std::abs(y), std::abs(x));
    const double least = std::min(std::abs(y), std::abs(x));
    switch (kind) {
      case 5:
        return distance < size;
      case 6:
        return distance < size && distance > 0.6 * size;
      case 7:
        return most < 0.85 * size;
      case 8:
        return std::sin(x * 8 / size) * std::sin(y * 8 / size) > 0;
      default:
        return most < size && least < 0.25 * size;
    }
  }
};

void DrawPattern(Random& random, int64_t kind, Image image) {
  const Pattern pattern{.kind = kind,
                        .size = random.Between(8, 12),
                        .row = 15.5 + random.Between(-4, 4),
                        .column = 15.5 + random.Between(-4, 4),
                        .phase = random.Between(0, 2 * std::numbers::pi)};
  double colours[2][3];
  for (int channel = 0; channel < 3; ++channel) {
    colours[0][channel] = random.Between(0, 1);
    const double shift = random.Between(0.4, 0.6);  // far from the first
    colours[1][channel] = std::fmod(colours[0][channel] + shift, 1);
  }
  for (int k = 0; k < kPatternSize * kPatternSize; ++k) {
    const bool first = pattern.At(k / kPatternSize - pattern.row,
                                  k % kPatternSize - pattern.column);
    for (int channel = 0; channel < 3; ++channel) {
      const double noise = random.Between(-0.15, 0.15);
      image[3 * k + channel] = static_cast<float>(
          std::clamp(colours[first ? 0 : 1][channel] + noise, 0., 1.));
    }
  }
}

struct Circle {
  double row, column, radius;
};

// Rejection sampling: where one that was drawn leaves no room for the others,
// all are drawn anew.
std::vector<Circle> PlaceCircles(Random& random, int64_t count) {
  std::vector<Circle> circles;
  for (int tries = 1; static_cast<int64_t>(circles.size()) < count; ++tries) {
    if (tries % 100 == 0) circles.clear();
    const double radius = random.Between(2, 8);
    const Circle circle = {.row = random.Between(radius, 31 - radius),
                           .column = random.Between(radius, 31 - radius),
                           .radius = radius};
    const bool is_free = absl::c_all_of(circles, [&](const Circle& other) {
      return std::hypot(circle.row - other.row, circle.column - other.column) >
             circle.radius + other.radius + 2;
    });
    if (is_free) circles.push_back(circle);
  }
  return circles;
}

void DrawCircles(Random& random, int64_t kind, Image image) {
  const std::vector<Circle> circles = PlaceCircles(random, kind + 1);
  for (int k = 0; k < kPatternSize * kPatternSize; ++k) {
    const double row = k / kPatternSize, column = k % kPatternSize;
    const bool inside = absl::c_any_of(circles, [&](const Circle& circle) {
      return std::hypot(row - circle.row, column - circle.column) <
             circle.radius;
    });
    image[k] = static_cast<float>(
        std::clamp((inside ? 0.8 : 0.2) + random.Between(-0.25, 0.25), 0., 1.));
  }
}

}  // namespace

Lessons DrawnDigits(int64_t train_count, int64_t test_count, uint32_t seed) {
  return DrawnLessons(train_count, test_count, seed,
                      {10, {kDigitSize, kDigitSize, 1}, DrawDigit});
}

Lessons DrawnPatterns(int64_t train_count, int64_t test_count, uint32_t seed) {
  return DrawnLessons(train_count, test_count, seed,
                      {10, {kPatternSize, kPatternSize, 3}, DrawPattern});
}

Lessons DrawnCircles(int64_t train_count, int64_t test_count, uint32_t seed) {
  return DrawnLessons(
      train_count, test_count, seed,
      {kMostCircles, {kPatternSize, kPatternSize, 1}, DrawCircles});
}

}  // namespace ocannl
