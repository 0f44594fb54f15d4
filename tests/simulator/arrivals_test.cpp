#include "simulator/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Requests in each second of the first `count`.
std::vector<int> a_second(const ArrivalSpec& spec, std::uint64_t seed, std::size_t count) {
  std::vector<int> counts(count, 0);
  Arrivals arrivals(spec, seed);
  for (; arrivals.next() < Time{} + seconds(count); arrivals.pop()) {
    ++counts[static_cast<std::size_t>((arrivals.next() - Time{}) / seconds(1))];
  }
  return counts;
}

double mean(const std::vector<int>& counts, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += counts[i];
  return sum / static_cast<double>(end - begin);
}

// Of the counts, by their mean: 1 where requests are independent of each other.
double dispersion(const std::vector<int>& counts) {
  const double middle = mean(counts, 0, counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - middle) * (count - middle);
  return sum / static_cast<double>(counts.size()) / middle;
}

TEST(Arrivals, OfAPoissonProcessHaveItsRateAndItsDispersion) {
  const ArrivalSpec spec{.rate_per_s = 50};
  const std::vector<int> counts = a_second(spec, 7, 2000);
  EXPECT_NEAR(mean(counts, 0, counts.size()), 50, 0.5);
  EXPECT_NEAR(dispersion(counts), 1, 0.1);
}

TEST(Arrivals, AreTheSameForTheSameSeedAndOthersForAnother) {
  const ArrivalSpec spec{.rate_per_s = 50};
  EXPECT_EQ(a_second(spec, 7, 20), a_second(spec, 7, 20));
  EXPECT_NE(a_second(spec, 7, 20), a_second(spec, 8, 20));
}

TEST(Arrivals, NeverComeAtNoRate) {
  for (const ArrivalPattern pattern : {ArrivalPattern::poisson, ArrivalPattern::mmpp}) {
    ArrivalSpec spec{.pattern = pattern, .period = seconds(1)};
    Arrivals arrivals(spec, 1);
    EXPECT_EQ(arrivals.next(), Time::max());
    arrivals.pop();
    EXPECT_EQ(arrivals.next(), Time::max());
  }
}

TEST(Arrivals, OfTwoRatesAreBurstyAndKeepTheMean) {
  const ArrivalSpec spec{.pattern = ArrivalPattern::mmpp,
                         .rate_per_s = 30,
                         .highest_rate_per_s = 170,
                         .period = seconds(10)};
  const std::vector<int> counts = a_second(spec, 3, 20'000);
  EXPECT_DOUBLE_EQ(spec.mean_rate_per_s(), 100);
  EXPECT_NEAR(mean(counts, 0, counts.size()), 100, 5);
  // Variance of the rate, 70^2, by the mean, beside that of chance.
  EXPECT_NEAR(dispersion(counts), 1 + 49, 7);
}

TEST(Arrivals, FollowTheCurveOfADay) {
  const ArrivalSpec spec{.pattern = ArrivalPattern::day,
                         .rate_per_s = 10,
                         .highest_rate_per_s = 90,
                         .period = seconds(4000)};
  const std::vector<int> counts = a_second(spec, 3, 4000);
  EXPECT_NEAR(mean(counts, 0, 100), 10, 2);
  EXPECT_NEAR(mean(counts, 950, 1050), 50, 3);
  EXPECT_NEAR(mean(counts, 1950, 2050), 90, 4);
  EXPECT_NEAR(mean(counts, 0, 4000), spec.mean_rate_per_s(), 1);
}

TEST(Arrivals, OfATraceKeepItsGapsScaledAndBeginAgain) {
  ArrivalSpec spec{.pattern = ArrivalPattern::trace, .rate_per_s = 2};
  // Gaps of 1, 2 and 6 s, 3 s on the mean: at 2 a second they are a sixth.
  spec.times = {seconds(5), seconds(6), seconds(8), seconds(14)};
  Arrivals arrivals(spec, 1);
  std::vector<double> gaps;
  Time last{};
  for (int i = 0; i < 6; ++i, arrivals.pop()) {
    gaps.push_back(std::round(6 * gearshift::seconds(arrivals.next() - last)));
    last = arrivals.next();
  }
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    EXPECT_TRUE(gaps[i] == 1 || gaps[i] == 2 || gaps[i] == 6) << gaps[i];
    EXPECT_EQ(gaps[i], gaps[(i + 3) % 6]);
    EXPECT_NE(gaps[i], gaps[(i + 1) % 6]);
  }
}

TEST(Arrivals, ComeFasterInABurstFromItsBeginningToItsEnd) {
  ArrivalSpec spec{.rate_per_s = 40};
  spec.bursts = {{3, Time{} + seconds(100), seconds(50)}, {0, Time{} + seconds(300), seconds(2)}};
  const std::vector<int> counts = a_second(spec, 5, 400);
  EXPECT_NEAR(mean(counts, 0, 100), 40, 3);
  EXPECT_NEAR(mean(counts, 100, 150), 120, 6);
  EXPECT_NEAR(mean(counts, 150, 300), 40, 3);
  EXPECT_EQ(counts[300] + counts[301], 0);
  EXPECT_GT(counts[302], 0);
}

TEST(Arrivals, OfARateThatWasSilentComeAgain) {
  const ArrivalSpec spec{.pattern = ArrivalPattern::mmpp,
                         .rate_per_s = 0,
                         .highest_rate_per_s = 20,
                         .period = hours(1)};
  Arrivals arrivals(spec, 2);
  EXPECT_GT(arrivals.next(), Time{} + seconds(1));
  EXPECT_LT(arrivals.next(), Time{} + hours(12));
}

TEST(Arrivals, AreCountedAheadWithTheirBursts) {
  const auto burst = [](double factor, int begin_s, int length_s) {
    return Burst{factor, Time{} + seconds(begin_s), seconds(length_s)};
  };
  ArrivalSpec spec{.rate_per_s = 10};
  EXPECT_DOUBLE_EQ(spec.mean_requests(seconds(100)), 1000);
  EXPECT_DOUBLE_EQ(spec.peak_rate_per_s(), 10);
  spec.bursts = {burst(3, 20, 20), burst(2, 30, 20), burst(0, 90, 100), burst(9, 500, 1)};
  // 20 s at 10 a second, 10 at 30, 10 at 60, 10 at 20, 40 at 10, 10 at none.
  EXPECT_DOUBLE_EQ(spec.mean_requests(seconds(100)), 200 + 300 + 600 + 200 + 400);
  EXPECT_DOUBLE_EQ(spec.peak_rate_per_s(), 90);
  spec.pattern = ArrivalPattern::mmpp;
  spec.highest_rate_per_s = 30;
  EXPECT_DOUBLE_EQ(spec.mean_requests(seconds(100)), 3400);
  EXPECT_DOUBLE_EQ(spec.peak_rate_per_s(), 270);
}

}  // namespace
}  // namespace gearshift
