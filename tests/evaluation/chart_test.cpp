#include "evaluation/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace gearshift {
namespace {

using testing::HasSubstr;

// Points along a joined line from x = 0 to 100.
Chart chart_of(std::size_t points, double highest) {
  ChartSeries line{.series = 0, .points = {}, .joined = true, .widest_step = 1e9};
  for (std::size_t i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(points - 1);
    line.points.push_back({100 * share, highest * (1 - share), "n" + std::to_string(i) + "."});
  }
  return {.description = "a line",
          .x = Axis("power, W", Spacing::linear, 0, 100),
          .y = Axis("minibatch, ms", Spacing::linear, 0, highest),
          .cloud = {},
          .fronts = {},
          .series = {line}};
}

std::size_t markers_of(const Chart& chart) {
  const std::string picture = svg(chart);
  std::size_t count = 0;
  for (std::size_t at = picture.find("<title>n"); at != std::string::npos;
       at = picture.find("<title>n", at + 1)) {
    ++count;
  }
  return count;
}

// Where the y axis' numbers end.
double ticks_end(const std::string& picture) {
  const std::size_t kind = picture.find("class=\"tick end\"");
  const std::size_t at = picture.rfind("x=\"", kind);
  return std::strtod(picture.c_str() + at + 3, nullptr);
}

// The numbers at the x axis.
std::vector<std::string> x_numbers(const std::string& picture) {
  const std::string kind = "class=\"tick mid\">";
  std::vector<std::string> numbers;
  for (std::size_t at = picture.find(kind); at != std::string::npos;
       at = picture.find(kind, at + 1)) {
    const std::size_t begin = at + kind.size();
    numbers.push_back(picture.substr(begin, picture.find('<', begin) - begin));
  }
  return numbers;
}

TEST(Chart, WritesAsManyDigitsAsItsStepsNeed) {
  const auto numbers = [](Spacing spacing, double low, double high) {
    Chart chart = chart_of(3, 10);
    chart.x = Axis("power, W", spacing, low, high);
    return x_numbers(svg(chart));
  };
  EXPECT_THAT(numbers(Spacing::linear, 10.058, 10.262),
              testing::ElementsAre("10.1", "10.15", "10.2", "10.25"));
  EXPECT_THAT(
      numbers(Spacing::linear, 31.00001, 31.00006),
      testing::ElementsAre("31.00001", "31.00002", "31.00003", "31.00004", "31.00005", "31.00006"));
  EXPECT_THAT(numbers(Spacing::linear, 0, 0.6),
              testing::ElementsAre("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"));
  EXPECT_THAT(
      numbers(Spacing::logarithmic, 0.002, 0.02),
      testing::ElementsAre("0.002", "0.003", "0.004", "0.005", "0.007", "0.01", "0.015", "0.02"));
}

TEST(RangeChart, CutsLongNamesBetweenCharacters) {
  const auto picture = [](std::string name) {
    Range range;
    range.name = std::move(name);
    return svg(RangeChart{
        .description = "ranges", .x = Axis("over, %", Spacing::linear, 0, 10), .ranges = {range}});
  };
  const auto times = [](std::string_view letter, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += letter;
    return text;
  };
  EXPECT_THAT(picture(times("\u0436", 20)), HasSubstr(times("\u0436", 20) + "<"));
  EXPECT_THAT(picture(times("\u0436", 21)), HasSubstr(">" + times("\u0436", 19) + "\u2026<"));
}

TEST(Chart, MarksEachPointOfAShortLine) {
  Chart chart = chart_of(15, 10);
  EXPECT_EQ(markers_of(chart), 15u);
  for (ChartPoint& point : chart.series[0].points) point = {50 + point.x / 100, 5, point.note};
  EXPECT_EQ(markers_of(chart), 15u) << "near to each other, but few";
}

TEST(Chart, MarksEachPointThatIsApartFromTheLastMarked) {
  EXPECT_EQ(markers_of(chart_of(40, 10)), 40u);
  const std::size_t some = markers_of(chart_of(1000, 10));
  EXPECT_GT(some, 30u);
  EXPECT_LT(some, 100u);
  EXPECT_THAT(svg(chart_of(1000, 10)), HasSubstr("<title>n999.")) << "the last is marked";
}

TEST(Chart, LeavesRoomForItsLongestNumbersBesideTheTitleOfTheAxis) {
  constexpr double kTitleEnd = 14;  // of the title, which is turned
  constexpr double kDigit = 7;      // the width of one, in a wide font
  EXPECT_GT(ticks_end(svg(chart_of(5, 90'000))) - 5 * kDigit, kTitleEnd);
  EXPECT_EQ(ticks_end(svg(chart_of(5, 90))), 39) << "as wide as ever where they are short";
}

}  // namespace
}  // namespace gearshift
