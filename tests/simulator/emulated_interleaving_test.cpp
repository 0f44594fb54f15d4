#include "simulator/emulated_interleaving.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

constexpr ModelMode kLow{.cpu_cores = 4, .cpu_ghz = 0.7296, .gpu_ghz = 0.306, .mem_ghz = 2.133};

double model_ms(const char* workload, Kind kind, double batch_size, const ModelMode& mode) {
  return minibatch_cost(*agx_orin().model,
                        agx_orin().find_workload(workload, kind)->second.demand(batch_size), mode)
      .minibatch_ms;
}

struct Emulation {
  explicit Emulation(double per_s, std::int32_t batch_size = 4, double jitter = 0.03)
      : arrivals{.rate_per_s = per_s},
        work(agx_orin(),
             {.train = &agx_orin().find_workload("resnet18", Kind::train)->second,
              .infer = &agx_orin().find_workload("mobilenet_v3", Kind::infer)->second,
              .infer_batch_size = batch_size,
              .arrivals = &arrivals,
              .latency = milliseconds(500)},
             {.jitter = jitter}) {}

  // In slices of 20 ms, as a program that sleeps in between.
  void run(Duration duration, const ModelMode& mode) {
    const Time end = work.now() + duration;
    for (Time slice = work.now(); slice < end; slice += milliseconds(20)) {
      while (work.now() < slice + milliseconds(20)) {
        if (!work.advance(slice + milliseconds(20), mode)) continue;
        if (const auto finished = work.take_finished()) ++ended[index(finished->kind)];
      }
    }
    EventBuffer events;
    work.report(mode, events);
    figures = events.empty() ? RequestReport{} : events.back().requests;
  }

  ArrivalSpec arrivals;
  EmulatedInterleaving work;
  std::array<int, kKinds> ended{};
  RequestReport figures;
};

TEST(EmulatedInterleaving, TrainsInTheTimeThatRequestsLeaveOver) {
  Emulation emulation(60);
  emulation.run(std::chrono::seconds(60), kHighestMode);
  const double share = 60.0 / 4 * model_ms("mobilenet_v3", Kind::infer, 4, kHighestMode) / 1e3;
  const double expected = 60e3 * (1 - share) / model_ms("resnet18", Kind::train, 16, kHighestMode);
  EXPECT_NEAR(emulation.ended[index(Kind::train)], expected, 0.05 * expected);
  EXPECT_EQ(emulation.figures.late, 0U);
  EXPECT_GT(emulation.figures.served, 3300U);
  EXPECT_LE(emulation.figures.latency_max, milliseconds(500));
}

TEST(EmulatedInterleaving, TrainsAloneWhereNobodyAsks) {
  Emulation emulation(0, 4, 0);
  emulation.run(std::chrono::seconds(10), kHighestMode);
  EXPECT_NEAR(emulation.ended[index(Kind::train)],
              10e3 / model_ms("resnet18", Kind::train, 16, kHighestMode), 1);
  EXPECT_EQ(emulation.ended[index(Kind::infer)], 0);
  EXPECT_EQ(emulation.figures.arrived, 0U);
}

TEST(EmulatedInterleaving, WaitsForTheTrainingThatIsPaused) {
  Emulation emulation(60);
  emulation.work.set_runs(false, true);
  emulation.run(std::chrono::seconds(10), kHighestMode);
  EXPECT_EQ(emulation.ended[index(Kind::train)], 0);
  EXPECT_GT(emulation.figures.served, 500U);
  emulation.work.set_runs(true, true);
  emulation.run(std::chrono::seconds(10), kHighestMode);
  EXPECT_GT(emulation.ended[index(Kind::train)], 10);
}

TEST(EmulatedInterleaving, RefusesWhatASlowModeCannotServe) {
  Emulation emulation(120, 1);
  emulation.run(std::chrono::seconds(20), kLow);
  EXPECT_GT(emulation.figures.late, 100U);
  EXPECT_LE(emulation.figures.latency_max, milliseconds(600));  // what is answered is about in time
  // Clocks and batch sizes take effect from the next minibatch on.
  emulation.work.set_infer_batch_size(16);
  emulation.run(std::chrono::seconds(2), kHighestMode);
  emulation.run(std::chrono::seconds(20), kHighestMode);
  EXPECT_EQ(emulation.figures.late, 0U);
}

TEST(EmulatedInterleaving, TheSameSeedGivesTheSameRun) {
  Emulation one(60), other(60);
  one.run(std::chrono::seconds(20), kHighestMode);
  other.run(std::chrono::seconds(20), kHighestMode);
  EXPECT_EQ(one.ended, other.ended);
  EXPECT_EQ(one.figures.latency_p99, other.figures.latency_p99);
  EXPECT_EQ(one.work.now(), other.work.now());
}

}  // namespace
}  // namespace gearshift
