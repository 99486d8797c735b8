// SPDX-License-Identifier: Apache-2.0
//
// Sizes and greys of everything around the data stand here and only here.

#include "experiments/support/svg_axes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "experiments/support/plot.h"
#include "ocannl/core/base/check.h"

namespace ocannl {

std::vector<double> NiceTicks(double low, double high, int max_count) {
  CHECK(low < high && max_count >= 5);
  double scale = std::pow(10, std::floor(std::log10(high - low)) - 2);
  while (true) {
    for (const int multiple : {1, 2, 5}) {
      const double step = multiple * scale;
      const double first = std::ceil(low / step);
      const double last = std::floor(high / step);
      if (last - first >= max_count) continue;
      std::vector<double> ticks;
      // Adding 0 makes 0 of -0.
      for (double i = first; i <= last; ++i) ticks.push_back(i * step + 0.0);
      return ticks;
    }
    scale *= 10;
  }
}

std::vector<double> EnclosingTicks(double low, double high) {
  std::vector<double> ticks = NiceTicks(low, high, 7);
  const double step = ticks[1] - ticks[0];
  // Multiples rather than sums: beside 0.1 there must be 0, not 1e-17.
  const double first = std::round(ticks.front() / step);
  const double last = std::round(ticks.back() / step);
  if (ticks.front() > low) ticks.insert(ticks.begin(), (first - 1) * step);
  if (ticks.back() < high) ticks.push_back((last + 1) * step);
  return ticks;
}

double PictureX(const Box& box, double x) {
  return kPlotArea.left + (x - box.left) / (box.right - box.left) *
                              (kPlotArea.right - kPlotArea.left);
}

double PictureY(const Box& box, double y) {
  return kPlotArea.bottom + (y - box.bottom) / (box.top - box.bottom) *
                                (kPlotArea.top - kPlotArea.bottom);
}

std::string Units(double value) {
  return absl::StrCat(std::round(value * 10) / 10);
}

std::string Text(double x, double y, absl::string_view attributes,
                 absl::string_view text) {
  return absl::StrCat(
      "<text x=\"", Units(x), "\" y=\"", Units(y), "\"", attributes, ">",
      absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}),
      "</text>\n");
}

std::string OpenPicture(absl::string_view title, absl::string_view caption) {
  return absl::StrCat(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 440" )",
      R"(width="720" height="440" font-size="12" fill="#4a5560" )",
      R"(font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">)", "\n",
      R"(<rect width="720" height="440" fill="#fff"/>)", "\n",
      Text(kPlotArea.left, 28,
           R"( font-size="16" font-weight="bold" fill="#1c2530")", title),
      caption);
}

// The number of a tick, with as many decimals as all ticks of the axis.
static std::string TickLabel(const std::vector<double>& ticks, double tick) {
  const double step = ticks[1] - ticks[0];
  const double largest = std::max(-ticks.front(), ticks.back());
  // Keeps steps in their decade that rounding has made a little too small.
  const double decade = std::floor(std::log10(step) + 0.01);
  const int decimals = static_cast<int>(std::max(-decade, 0.0));
  return decimals <= 4 && largest < 1e7
             ? absl::StrFormat("%.*f", decimals, tick)
             : absl::StrFormat("%.10g", tick);
}

// A hyphen is too short for a sign.
static std::string WithMinus(absl::string_view number) {
  return absl::StrReplaceAll(number, {{"-", "\u2212"}});
}

static std::string DrawXTicks(const Axes& axes) {
  std::string marks, numbers;
  for (const double tick : axes.x_ticks) {
    const double x = PictureX(axes.box, tick);
    absl::StrAppend(&marks, "M", Units(x), " ", kPlotArea.bottom, "v5");
    absl::StrAppend(&numbers, Text(x, kPlotArea.bottom + 20, "",
                                   WithMinus(TickLabel(axes.x_ticks, tick))));
  }
  return absl::StrCat("<path d=\"", marks, "\" stroke=\"#8a94a0\"/>\n",
                      "<g text-anchor=\"middle\">\n", numbers, "</g>\n");
}

static std::string DrawYTicks(const Axes& axes) {
  std::string marks, numbers;
  size_t longest = 7;  // So many characters have room at full size.
  for (const double tick : axes.y_ticks) {
    const double y = PictureY(axes.box, tick);
    const std::string label = TickLabel(axes.y_ticks, tick);
    longest = std::max(longest, label.size());
    absl::StrAppend(&marks, "M", kPlotArea.left, " ", Units(y), "h-5");
    absl::StrAppend(&numbers,
                    Text(kPlotArea.left - 9, y + 4, "", WithMinus(label)));
  }
  return absl::StrCat("<path d=\"", marks, "\" stroke=\"#8a94a0\"/>\n",
                      "<g text-anchor=\"end\" font-size=\"",
                      Units(12.0 * 7 / longest), "\">\n", numbers, "</g>\n");
}

std::string DrawAxes(const Axes& axes) {
  const double x = (kPlotArea.left + kPlotArea.right) / 2;
  const double y = (kPlotArea.top + kPlotArea.bottom) / 2;
  const std::string upward =
      absl::StrCat(" transform=\"rotate(-90 18 ", y, ")\"");
  return absl::StrCat(DrawXTicks(axes), DrawYTicks(axes),
                      "<g text-anchor=\"middle\">\n",
                      Text(x, kPlotArea.bottom + 44, "", axes.x_label),
                      Text(18, y, upward, axes.y_label), "</g>\n");
}

}  // namespace ocannl
