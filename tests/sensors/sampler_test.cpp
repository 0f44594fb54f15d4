#include "sensors/sampler.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// Time moves only when a test, or a read, says so.
class FakeClock : public Clock {
 public:
  Time now() const override { return Time(Duration(now_.load())); }
  void advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_{0};
};

// Blocks in read() until the test lets it through, or until it is interrupted.
class BlockedSensor : public BlockingSensor {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    int allowed = 0;
    int begun = 0;
    bool interrupted = false;
    Duration takes = milliseconds(430);
    std::vector<Reading> next;  // taken at -1 stands for the time of the read
  };

  BlockedSensor(Gate& gate, FakeClock& clock) : gate_(gate), clock_(clock) {}

  void read(Time now, std::vector<Reading>& readings) override {
    std::unique_lock lock(gate_.mutex);
    ++gate_.begun;
    gate_.changed.notify_all();
    gate_.changed.wait(lock, [this] { return gate_.allowed > 0 || gate_.interrupted; });
    --gate_.allowed;
    clock_.advance(gate_.takes);
    for (Reading reading : gate_.next) {
      if (reading.taken == Time(Duration(-1))) reading.taken = now;
      readings.push_back(reading);
    }
  }
  std::string explain(const Reading& reading) const override {
    return reading.state == ReadingState::ok ? "" : "the rail is dead";
  }
  void interrupt() noexcept override {
    const std::lock_guard lock(gate_.mutex);
    gate_.interrupted = true;
    gate_.changed.notify_all();
  }

 private:
  Gate& gate_;
  FakeClock& clock_;
};

constexpr Time kTimeOfRead{Duration(-1)};

Reading power(std::int64_t value, Time taken = kTimeOfRead) {
  return {Quantity::power, ReadingState::ok, false, 0, value, taken};
}

class SamplerTest : public testing::Test {
 protected:
  SamplerTest()
      : sampler_(std::make_unique<BlockedSensor>(gate_, clock_), clock_, Duration::zero()) {}

  // Lets one read through that answers `readings`, and waits for the eventfd to tell of it.
  void finish_read(std::vector<Reading> readings) {
    {
      const std::lock_guard lock(gate_.mutex);
      gate_.next = std::move(readings);
      ++gate_.allowed;
      gate_.changed.notify_all();
    }
    pollfd descriptor{sampler_.wake_descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&descriptor, 1, 10'000), 1) << "no reading was handed over";
    std::uint64_t count = 0;
    ASSERT_EQ(::read(sampler_.wake_descriptor(), &count, sizeof count),
              static_cast<ssize_t>(sizeof count));
  }

  std::vector<Reading> read() {
    std::vector<Reading> readings;
    sampler_.read(Time(milliseconds(9000)), readings);
    return readings;
  }

  FakeClock clock_;
  BlockedSensor::Gate gate_;
  Sampler sampler_;
};

TEST(Sampler, ReadsAtOnceWhenItIsToLookClosely) {
  FakeClock clock;
  BlockedSensor::Gate gate;
  gate.allowed = 2;
  gate.next = {power(20000)};
  Sampler sampler(std::make_unique<BlockedSensor>(gate, clock), clock, std::chrono::hours(1));
  const auto reads_until = [&gate](int count) {
    std::unique_lock lock(gate.mutex);
    return gate.changed.wait_for(lock, std::chrono::seconds(10),
                                 [&] { return gate.begun >= count; });
  };
  ASSERT_TRUE(reads_until(1));
  sampler.look_closely(true);
  EXPECT_TRUE(reads_until(2)) << "an hour is not waited for";
  sampler.look_closely(false);
}

TEST_F(SamplerTest, BeforeTheFirstReadHasEndedPowerIsMissing) {
  const std::vector<Reading> readings = read();
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].quantity, Quantity::power);
  EXPECT_EQ(readings[0].state, ReadingState::missing);
  EXPECT_EQ(sampler_.explain(readings[0]), "the first read has not ended yet");
}

TEST_F(SamplerTest, StampsAReadingThatBlocksShortlyBeforeItsEnd) {
  finish_read({power(15900)});
  const std::vector<Reading> readings = read();
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].value, 15900);
  EXPECT_EQ(readings[0].taken, Time(milliseconds(410)));
  EXPECT_EQ(read()[0].taken, Time(milliseconds(410))) << "read again, it is the same one";
}

// The processor is another's for half of that time, and nobody knows which half.
TEST_F(SamplerTest, StampsAShortReadWithItsMiddle) {
  gate_.takes = milliseconds(10);
  finish_read({power(15900)});
  EXPECT_EQ(read()[0].taken, Time(milliseconds(5)));
}

TEST_F(SamplerTest, ANewReadingReplacesTheOldOne) {
  finish_read({power(15900)});
  finish_read({power(20000)});
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].value, 20000);
  EXPECT_EQ(read()[0].taken, Time(milliseconds(840)));
}

TEST_F(SamplerTest, AReadingThatTheSensorRepeatsKeepsItsTime) {
  finish_read({power(15900)});
  finish_read({power(15900, Time(Duration::zero()))});
  EXPECT_EQ(read()[0].taken, Time(milliseconds(410)));
}

// A sensor that made several reads knows which of them a value is of.
TEST_F(SamplerTest, AReadingThatHasATimeOfTheReadKeepsIt) {
  finish_read({power(15900, Time(milliseconds(100)))});
  EXPECT_EQ(read()[0].taken, Time(milliseconds(100)));
}

TEST_F(SamplerTest, ExplainsWhatIsMissing) {
  finish_read({{Quantity::power, ReadingState::missing, false, 0, 0, kTimeOfRead},
               {Quantity::rail_power, ReadingState::ok, false, 1, 3800, kTimeOfRead}});
  const std::vector<Reading> readings = read();
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(sampler_.explain(readings[0]), "the rail is dead");
  EXPECT_EQ(sampler_.explain(readings[1]), "");
}

TEST(Sampler, StopsWhileAReadBlocks) {
  FakeClock clock;
  BlockedSensor::Gate gate;
  {
    const Sampler sampler(std::make_unique<BlockedSensor>(gate, clock), clock,
                          std::chrono::hours(1));
    std::unique_lock lock(gate.mutex);
    gate.changed.wait(lock, [&gate] { return gate.begun == 1; });
  }
  EXPECT_TRUE(gate.interrupted);
  EXPECT_EQ(gate.begun, 1);
}

TEST(Sampler, StopsWhileItWaitsForItsPeriod) {
  FakeClock clock;
  BlockedSensor::Gate gate;
  gate.allowed = 1;
  gate.next = {power(1)};
  {
    const Sampler sampler(std::make_unique<BlockedSensor>(gate, clock), clock,
                          std::chrono::hours(1));
    pollfd descriptor{sampler.wake_descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&descriptor, 1, 10'000), 1);
  }
  EXPECT_EQ(gate.begun, 1);
}

}  // namespace
}  // namespace gearshift
