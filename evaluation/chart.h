// Pictures as inline SVG: points and lines over two axes, and ranges by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evaluation/axis.h"

namespace gearshift {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string note;  // shown where a pointer rests on it; may be empty
};

// What belongs to one policy: markers, and a line through them where `joined`. A line is broken
// where two neighbours are more than `widest_step` apart.
struct ChartSeries {
  std::size_t series = 0;  // see marker.h
  std::vector<ChartPoint> points;
  bool joined = false;
  double widest_step = 0;
};

struct Chart {
  std::string description;  // for those who cannot see it
  Axis x;
  Axis y;
  std::vector<ChartPoint> cloud;                // small grey points behind the series
  std::vector<std::vector<ChartPoint>> fronts;  // grey steps behind the series
  std::vector<ChartSeries> series;
};
std::string svg(const Chart& chart);

// One line of a range chart: a bar from zero to `middle`, or quartiles around it between whiskers.
struct Range {
  std::size_t series = 0;
  std::string name;
  std::string value;  // written at its end
  double least = 0;
  double first_quartile = 0;
  double middle = 0;
  double third_quartile = 0;
  double most = 0;
};

struct RangeChart {
  std::string description;
  Axis x;
  std::vector<Range> ranges;
  bool whiskers = false;
};
std::string svg(const RangeChart& chart);

// Style rules of all of these, for light and dark backgrounds.
std::string chart_style();

// A picture as a file of its own, with a background, a legend of its series (names by
// ChartSeries::series) and of its cloud, and its description. Needs nothing from elsewhere.
std::string svg_file(const Chart& chart, const std::vector<std::string>& names,
                     const std::string& cloud_name);

}  // namespace gearshift
