// SPDX-License-Identifier: Apache-2.0
//
// The frame of an SVG picture: a heading, axes with ticks, and the way from
// data coordinates to picture coordinates.
//
//   std::string svg = absl::StrCat(OpenPicture("Loss", ""), DrawAxes(axes),
//                                  "<circle cx=\"", Units(PictureX(box, 3)),
//                                  ...
//                                  "</svg>\n");

#ifndef EXPERIMENTS_SUPPORT_SVG_AXES_H_
#define EXPERIMENTS_SUPPORT_SVG_AXES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/support/plot.h"

namespace ocannl {

// The part of the picture where `Axes::box` lies, in units of about a pixel.
inline constexpr Box kPlotArea{
    .left = 84, .right = 696, .bottom = 380, .top = 60};

// What the axes show. An axis has at least two ticks, evenly spaced.
struct Axes {
  Box box;
  std::vector<double> x_ticks;
  std::vector<double> y_ticks;
  std::string x_label;
  std::string y_label;
};

// The multiples of a step in [low, high], where the step is the finest of 1, 2
// and 5 times a power of ten with at most `max_count` >= 5 multiples. Gives at
// least two. Needs a range as of RangeOf.
std::vector<double> NiceTicks(double low, double high, int max_count);

// Nice ticks of which the outer two enclose [low, high].
std::vector<double> EnclosingTicks(double low, double high);

double PictureX(const Box& box, double x);
double PictureY(const Box& box, double y);

// A picture coordinate to a tenth of a unit: finer cannot be seen.
std::string Units(double value);

// A text element; `attributes` is "" or starts with a space.
std::string Text(double x, double y, absl::string_view attributes,
                 absl::string_view text);

// The start of a picture on a white ground: the title and, smaller, `caption`
// elements under it. Close the picture with "</svg>\n".
std::string OpenPicture(absl::string_view title, absl::string_view caption);

// Ticks with their numbers, and the labels.
std::string DrawAxes(const Axes& axes);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_SVG_AXES_H_
