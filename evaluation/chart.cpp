#include "evaluation/chart.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "evaluation/marker.h"
#include "evaluation/number_text.h"

namespace gearshift {
namespace {

// In the units of the view box, which is as wide as a telephone's screen: one unit is about a pixel
// there, and text is never smaller.
constexpr double kWidth = 360;
constexpr double kHeight = 260;
constexpr double kLeft = 44;  // at least
constexpr double kRight = 10;
constexpr double kTop = 8;
constexpr double kBottom = 36;
constexpr double kTickGap = 5;  // between an axis and its numbers
// Markers of a line of more points than the first are left out where they would lie on each other.
constexpr std::size_t kAllMarked = 15;
constexpr double kMarkersApart = 6;
constexpr std::size_t kMostName = 20;  // characters; the rest of a longer name is left out
constexpr double kRangeRight = 54;     // room for values
constexpr double kRangeStep = 22;

std::string number(double value) { return fixed(value, 1); }

// Ticks are round numbers but for what a sum of steps loses: in their first nine digits neighbours
// differ.
std::string tick_text(double value) {
  constexpr int kDigits = 9;
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::general, kDigits);
  double round = value;
  if (error == std::errc()) std::from_chars(text.data(), end, round);
  return exact(round);
}

struct Frame {
  double left = kLeft;
  double right = kRight;
  double height = kHeight;

  double x(const Axis& axis, double value) const {
    return left + axis.place(value) * (kWidth - left - right);
  }
  double y(const Axis& axis, double value) const {
    return height - kBottom - axis.place(value) * (height - kBottom - kTop);
  }
};

std::string open(const std::string& description, double height) {
  return "<svg viewBox=\"0 0 " + number(kWidth) + ' ' + number(height) +
         "\" role=\"img\" aria-label=\"" + escaped(description) + "\">";
}

std::string text_at(double x, double y, const std::string& kind, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + kind + "\">" +
         escaped(text) + "</text>";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& kind) {
  return "<path class=\"" + kind + "\" d=\"M" + number(x1) + ' ' + number(y1) + 'L' + number(x2) +
         ' ' + number(y2) + "\"/>";
}

std::string x_axis(const Axis& axis, const Frame& frame) {
  const double bottom = frame.height - kBottom;
  std::string out;
  for (const double tick : axis.ticks()) {
    const double x = frame.x(axis, tick);
    out += line(x, kTop, x, bottom, "grid") + text_at(x, bottom + 14, "tick mid", tick_text(tick));
  }
  out += line(frame.left, bottom, kWidth - frame.right, bottom, "axis");
  return out + text_at((frame.left + kWidth - frame.right) / 2, frame.height - 5, "label mid",
                       axis.label());
}

// Room for the axis' title and its longest number beside it.
double y_axis_left(const Axis& axis) {
  constexpr double kTitleEnd = 16;
  constexpr double kDigit = 7;  // in a wide font
  std::size_t longest = 0;
  for (const double tick : axis.ticks()) longest = std::max(longest, tick_text(tick).size());
  return std::max(kLeft, kTitleEnd + kDigit * static_cast<double>(longest) + kTickGap);
}

std::string y_axis(const Axis& axis, const Frame& frame) {
  std::string out;
  for (const double tick : axis.ticks()) {
    const double y = frame.y(axis, tick);
    out += line(frame.left, y, kWidth - frame.right, y, "grid") +
           text_at(frame.left - kTickGap, y + 4, "tick end", tick_text(tick));
  }
  out += line(frame.left, kTop, frame.left, frame.height - kBottom, "axis");
  const double middle = (kTop + frame.height - kBottom) / 2;
  return out + "<text class=\"label mid\" transform=\"translate(11 " + number(middle) +
         ") rotate(-90)\">" + escaped(axis.label()) + "</text>";
}

// One path for all points: thousands of elements would be slow to draw.
std::string cloud(const Chart& chart, const Frame& frame) {
  if (chart.cloud.empty()) return "";
  std::string path;
  for (const ChartPoint& point : chart.cloud) {
    path +=
        'M' + number(frame.x(chart.x, point.x)) + ' ' + number(frame.y(chart.y, point.y)) + "h0";
  }
  return "<path class=\"cloud\" d=\"" + path + "\"/>";
}

std::string fronts(const Chart& chart, const Frame& frame) {
  std::string out;
  for (const std::vector<ChartPoint>& front : chart.fronts) {
    std::string path;
    for (const ChartPoint& point : front) {
      const std::string x = number(frame.x(chart.x, point.x));
      const std::string y = number(frame.y(chart.y, point.y));
      path += path.empty() ? 'M' + x + ' ' + y : 'H' + x + 'V' + y;
    }
    if (!path.empty()) out += "<path class=\"front\" d=\"" + path + "\"/>";
  }
  return out;
}

std::string draw(const Chart& chart, const ChartSeries& one, const Frame& frame) {
  std::string path;
  std::string markers;
  std::optional<std::pair<double, double>> marked;
  for (std::size_t i = 0; i < one.points.size(); ++i) {
    const ChartPoint& point = one.points[i];
    const double x = frame.x(chart.x, point.x);
    const double y = frame.y(chart.y, point.y);
    const bool apart = i == 0 || point.x - one.points[i - 1].x > one.widest_step;
    path += (apart ? 'M' : 'L') + number(x) + ' ' + number(y);
    const bool thinned = one.joined && one.points.size() > kAllMarked;
    const bool last = i + 1 == one.points.size();
    if (thinned && marked && !apart && !last &&
        std::hypot(x - marked->first, y - marked->second) < kMarkersApart) {
      continue;
    }
    marked = {x, y};
    const std::string shape = marker(one.series, x, y, one.joined ? 3 : 3.5);
    markers += point.note.empty()
                   ? shape
                   : "<g><title>" + escaped(point.note) + "</title>" + shape + "</g>";
  }
  if (!one.joined || path.empty()) return markers;
  return "<path class=\"line " + colour_class(one.series) + "\" d=\"" + path + "\"/>" + markers;
}

std::string rectangle(double x, double y, double width, double height, std::size_t series) {
  return "<rect class=\"bar " + colour_class(series) + "\" x=\"" + number(x) + "\" y=\"" +
         number(y) + "\" width=\"" + number(std::max(width, 1.0)) + "\" height=\"" +
         number(height) + "\"/>";
}

// Of UTF-8, in which the bytes that go on with a character begin with the bits 10.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80; }

std::size_t characters(const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count_if(name, begins_character));
}

std::string short_name(const std::string& name) {
  if (characters(name) <= kMostName) return name;
  std::size_t begun = 0;
  const auto end = std::ranges::find_if(
      name, [&](char byte) { return begins_character(byte) && ++begun == kMostName; });
  return std::string(name.begin(), end) + "\u2026";
}

// Room for the marker and the longest name.
double range_left(const RangeChart& chart) {
  constexpr double kCharacter = 6.6;
  std::size_t longest = 10;
  for (const Range& range : chart.ranges) {
    longest = std::max(longest, std::min(kMostName, characters(range.name)));
  }
  return 24 + kCharacter * static_cast<double>(longest);
}

std::string draw(const RangeChart& chart, const Range& range, const Frame& frame, double y) {
  std::string out =
      marker(range.series, 8, y, 3.5) + text_at(18, y + 4, "tick", short_name(range.name));
  const auto x = [&](double value) { return frame.x(chart.x, value); };
  if (chart.whiskers) {
    out += "<g class=\"" + colour_class(range.series) + "\">";
    out += line(x(range.least), y, x(range.most), y, "line");
    out += rectangle(x(range.first_quartile), y - 5,
                     x(range.third_quartile) - x(range.first_quartile), 10, range.series);
    out += line(x(range.middle), y - 7, x(range.middle), y + 7, "middle") + "</g>";
  } else {
    out += rectangle(frame.left, y - 6, x(range.middle) - frame.left, 12, range.series);
  }
  const double end = x(chart.whiskers ? range.most : range.middle);
  return out + text_at(end + 5, y + 4, "tick", range.value);
}

}  // namespace

std::string svg(const Chart& chart) {
  const Frame frame{.left = y_axis_left(chart.y)};
  std::string out = open(chart.description, kHeight);
  out += x_axis(chart.x, frame) + y_axis(chart.y, frame);
  out += cloud(chart, frame) + fronts(chart, frame);
  for (const ChartSeries& one : chart.series) out += draw(chart, one, frame);
  return out + "</svg>";
}

std::string svg(const RangeChart& chart) {
  const double height =
      kTop + kBottom +
      kRangeStep * static_cast<double>(std::max<std::size_t>(1, chart.ranges.size()));
  const Frame frame{.left = range_left(chart), .right = kRangeRight, .height = height};
  std::string out = open(chart.description, height);
  out += x_axis(chart.x, frame);
  double y = kTop + kRangeStep / 2;
  for (const Range& range : chart.ranges) {
    out += draw(chart, range, frame, y);
    y += kRangeStep;
  }
  return out + "</svg>";
}

std::string chart_style() {
  constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--text:#1d2329;--faint:#5d6875;--line:#d5dae0;--back:#fff;--cloud:#a9b2bc;--front:#6d7884}
@media(prefers-color-scheme:dark){:root{--text:#e6eaee;--faint:#9aa6b2;--line:#333b44;--back:#14181c;--cloud:#59646f;--front:#8b97a3}}
text{font-size:11px;fill:var(--text)}
.tick{fill:var(--faint)}.mid{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:var(--line);stroke-width:.6}.axis{stroke:var(--faint);stroke-width:1}
.cloud{stroke:var(--cloud);stroke-width:2.2;stroke-linecap:round}
.front{fill:none;stroke:var(--front);stroke-width:1}
.middle{stroke:var(--text);stroke-width:2}
)";
  return std::string(kStyle) + std::string(marker_style());
}

std::string svg_file(const Chart& chart, const std::vector<std::string>& names,
                     const std::string& cloud_name) {
  constexpr double kLegendStep = 16;
  constexpr double kScale = 3;  // pixels a unit, where nothing else says
  const double height = kHeight + kLegendStep * static_cast<double>(chart.series.size() + 2);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth) +
                    ' ' + number(height) + "\" width=\"" + number(kScale * kWidth) +
                    "\" height=\"" + number(kScale * height) +
                    "\" font-family=\"system-ui,sans-serif\">\n<style>" + chart_style() +
                    "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--back)\"/>\n";
  // A viewport of the picture's own size, which it fills.
  out += "<svg width=\"" + number(kWidth) + "\" height=\"" + number(kHeight) + "\">" + svg(chart) +
         "</svg>\n";
  double y = kHeight + kLegendStep / 2;
  for (const ChartSeries& one : chart.series) {
    const std::string name = one.series < names.size() ? names[one.series] : "";
    out += marker(one.series, kLeft + 4, y - 4, 3.5) + text_at(kLeft + 14, y, "tick", name) + '\n';
    y += kLegendStep;
  }
  out += "<path class=\"cloud\" d=\"M" + number(kLeft + 4) + ' ' + number(y - 4) + "h0\"/>" +
         text_at(kLeft + 14, y, "tick", cloud_name) + '\n';
  return out + text_at(kWidth / 2, y + kLegendStep, "label mid", chart.description) + "\n</svg>\n";
}

}  // namespace gearshift
