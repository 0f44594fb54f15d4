// A battery that a daemon of Network UPS Tools tells of; the daemon is a thread on loopback.
#include "sensors/nut_battery.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sensors/open_battery.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

// Answers each line that it knows; one client at a time, until it ends.
class FakeNut {
 public:
  FakeNut() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 4) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error("no listening socket on loopback");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeNut() {
    done_ = true;
    thread_.join();
    ::close(listener_);
  }
  NutAddress address() const { return {.port = std::to_string(port_)}; }
  void say(const std::string& variables) {
    const std::lock_guard lock(mutex_);
    answer_ = "BEGIN LIST VAR ups\n" + variables + "END LIST VAR ups\n";
  }
  void fail(const std::string& error) {
    const std::lock_guard lock(mutex_);
    answer_ = "ERR " + error + "\n";
  }
  int asked() const { return asked_; }
  void await_asked(int count) {
    std::unique_lock lock(mutex_);
    heard_.wait(lock, [&] { return asked_ >= count; });
  }

 private:
  static bool readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, 10) > 0;
  }
  void serve() {
    while (!done_) {
      if (!readable(listener_)) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      while (!done_ && (!readable(client) || answer(client))) continue;
      ::close(client);
    }
  }
  bool answer(int client) {
    char bytes[256];
    const ssize_t size = ::recv(client, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    const std::string request(bytes, static_cast<std::size_t>(size));
    const std::lock_guard lock(mutex_);
    const std::string text =
        request == "LIST UPS\n" ? "BEGIN LIST UPS\nUPS ups \"A box\"\nEND LIST UPS\n" : answer_;
    if (request == "LIST VAR ups\n") ++asked_;
    const bool sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0;
    heard_.notify_all();
    return sent;
  }

  int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::string answer_;
  std::atomic<bool> done_{false};
  std::atomic<int> asked_{0};
  std::thread thread_;
};

const char* const kHalf =
    "VAR ups battery.charge \"50\"\nVAR ups battery.voltage \"12.6\"\n"
    "VAR ups ups.mfr \"An \\\"odd\\\" name\"\n";

class NutBatteryTest : public testing::Test {
 protected:
  std::unique_ptr<NutBattery> open(std::optional<double> capacity_wh) {
    return NutBattery::open(daemon_.address(), capacity_wh, findings_);
  }
  std::string all_findings() const {
    std::string text;
    for (const std::string& finding : findings_) text += finding + "\n";
    return text;
  }
  // Reads at a time until a reading is as wanted; the daemon's thread answers in its own time.
  template <typename Wanted>
  Battery read_until(NutBattery& sensor, Time now, Wanted wanted) {
    for (int tries = 0; tries < 1'000'000; ++tries) {
      readings_.clear();
      sensor.read(now, readings_);
      Battery battery;
      for (const Reading& reading : readings_) battery.add(reading);
      if (wanted(battery)) return battery;
    }
    ADD_FAILURE() << "the battery never read as wanted";
    return {};
  }

  FakeNut daemon_;
  std::vector<std::string> findings_;
  std::vector<Reading> readings_;
};

TEST(Nut, ReadsAVariable) {
  const auto variable = parse_nut_variable("VAR my-ups battery.charge \"97.5\"");
  ASSERT_TRUE(variable);
  EXPECT_EQ(variable->name, "battery.charge");
  EXPECT_EQ(variable->value, "97.5");
  EXPECT_EQ(parse_nut_variable("VAR u ups.mfr \"a \\\"b\\\" \\\\\"")->value, "a \"b\" \\");
  for (const char* line : {"", "VAR", "VAR u", "VAR u name", "VAR u name \"", "BEGIN LIST VAR u"}) {
    EXPECT_FALSE(parse_nut_variable(line)) << line;
  }
}

TEST(Nut, ReadsAnAddress) {
  EXPECT_EQ(parse_nut_address("10.0.0.2").host, "10.0.0.2");
  EXPECT_EQ(parse_nut_address("10.0.0.2").port, "3493");
  EXPECT_EQ(parse_nut_address("ups@[::1]:99").host, "::1");
  EXPECT_EQ(parse_nut_address("ups@[::1]:99").port, "99");
  EXPECT_EQ(parse_nut_address("ups@[::1]:99").ups, "ups");
  EXPECT_EQ(parse_nut_address("127.0.0.1:65535").port, "65535");
  for (const char* text :
       {"a.host", "10.0.0.2:", "10.0.0.2:x", "a b@10.0.0.2", "127.0.0.1:99999", "127.0.0.1:0",
        "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:4294970789"}) {
    EXPECT_THROW(parse_nut_address(text), std::invalid_argument) << text;
  }
}

TEST_F(NutBatteryTest, TellsWhatIsLeftOfTheCapacityGiven) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  const Battery battery =
      read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  EXPECT_NEAR(*battery.energy_wh, 50, 1e-6);
  EXPECT_NEAR(*battery.capacity_wh, 100, 1e-6);
  EXPECT_NEAR(*battery.voltage_v, 12.6, 1e-6);
}

TEST_F(NutBatteryTest, TakesTheCapacityThatTheUpsTells) {
  daemon_.say(std::string(kHalf) +
              "VAR ups battery.capacity \"9\"\nVAR ups battery.voltage.nominal \"12\"\n");
  const auto sensor = open(std::nullopt);
  ASSERT_NE(sensor, nullptr) << all_findings();
  const Battery battery =
      read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  EXPECT_NEAR(*battery.energy_wh, 54, 1e-6);
}

TEST_F(NutBatteryTest, WithoutACapacityItIsPassedOverAndSaysSo) {
  daemon_.say(kHalf);
  EXPECT_EQ(open(std::nullopt), nullptr);
  EXPECT_NE(all_findings().find("--battery 100Wh"), std::string::npos);
}

TEST_F(NutBatteryTest, FollowsTheChargeAndAsksEveryTwoSeconds) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  daemon_.say("VAR ups battery.charge \"49\"\n");
  read_until(*sensor, Time{} + seconds(2),
             [](const Battery& one) { return one.known() && *one.energy_wh < 49.5; });
  for (int i = 0; i < 10; ++i) sensor->read(Time{} + seconds(3), readings_);
  daemon_.say("VAR ups battery.charge \"48\"\n");
  read_until(*sensor, Time{} + seconds(4),
             [](const Battery& one) { return one.known() && *one.energy_wh < 48.5; });
  // It answers in order, so all that was asked before the newest answer is counted.
  EXPECT_LE(daemon_.asked(), 4) << "when it was opened, at 0, 2 and 4 s";
}

TEST_F(NutBatteryTest, AnErrorLeavesTheEnergyMissingAndIsExplained) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  daemon_.fail("DATA-STALE");
  read_until(*sensor, Time{} + seconds(2), [](const Battery& one) { return !one.known(); });
  EXPECT_EQ(readings_[0].state, ReadingState::missing);
  EXPECT_NE(sensor->explain(readings_[0]).find("DATA-STALE"), std::string::npos);
}

TEST_F(NutBatteryTest, TakesNoNumberThatNoBatteryHasAndShowsNoControlCharacter) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  daemon_.say("VAR ups battery.charge \"1e300\"\n");
  read_until(*sensor, Time{} + seconds(2), [](const Battery& one) { return !one.known(); });
  EXPECT_EQ(readings_[0].state, ReadingState::missing);
  daemon_.fail("\x1b[31mred\xff");
  read_until(*sensor, Time{} + seconds(4), [&](const Battery&) {
    return sensor->explain(readings_[0]).find("red") != std::string::npos;
  });
  EXPECT_NE(sensor->explain(readings_[0]).find("?[31mred?"), std::string::npos);
}

// Below a threshold it is a brown-out, and so it is while nobody reads it.
TEST_F(NutBatteryTest, AVoltageThatTheUpsTellsNoMoreIsMissing) {
  daemon_.say(std::string(kHalf) + "VAR ups battery.capacity \"9\"\n");
  const auto sensor = open(std::nullopt);
  ASSERT_NE(sensor, nullptr) << all_findings();
  read_until(*sensor, Time{}, [](const Battery& one) { return one.voltage_v.has_value(); });
  daemon_.say("VAR ups battery.charge \"49\"\n");
  const Battery battery = read_until(*sensor, Time{} + seconds(2), [](const Battery& one) {
    return one.known() && *one.energy_wh < 0.495 * 9 * 12.6;
  });
  EXPECT_FALSE(battery.voltage_v);
  EXPECT_NEAR(battery.capacity_wh.value_or(0), 9 * 12.6, 1e-6) << "its size does not change";
  ASSERT_EQ(readings_.back().quantity, Quantity::battery_voltage);
  EXPECT_EQ(readings_.back().state, ReadingState::missing);
  EXPECT_NE(sensor->explain(readings_.back()).find("no battery.voltage"), std::string::npos);
  daemon_.say(kHalf);
  read_until(*sensor, Time{} + seconds(4),
             [](const Battery& one) { return one.voltage_v.has_value(); });
  daemon_.fail("DATA-STALE");
  read_until(*sensor, Time{} + seconds(6), [](const Battery& one) { return !one.known(); });
  EXPECT_EQ(readings_.back().state, ReadingState::missing);
}

TEST_F(NutBatteryTest, AnAnswerThatIsTenSecondsOldIsNone) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  read_until(*sensor, Time{}, [](const Battery& one) { return one.known(); });
  daemon_.say("");  // nothing of a battery in it
  readings_.clear();
  sensor->read(Time{} + seconds(11), readings_);
  EXPECT_EQ(readings_[0].state, ReadingState::missing);
}

TEST_F(NutBatteryTest, AnAnswerIsAsOldAsItsQuestion) {
  daemon_.say(kHalf);
  const auto sensor = open(100);
  ASSERT_NE(sensor, nullptr) << all_findings();
  sensor->read(Time{}, readings_);
  daemon_.await_asked(2);
  daemon_.say("");  // once the answer to the second question has been sent
  readings_.clear();
  sensor->read(Time{} + seconds(11), readings_);
  EXPECT_EQ(readings_[0].state, ReadingState::missing);
}

TEST_F(NutBatteryTest, IsOpenedBehindWhatTheMachineTellsItself) {
  daemon_.say(kHalf);
  const fakes::TempTree tree;
  Sysroot root(tree.root());
  OpenedSensors opened;
  EXPECT_TRUE(open_battery({.capacity_wh = 100, .nut = daemon_.address()}, root, opened));
  ASSERT_EQ(opened.sensors.size(), 1U);
  EXPECT_NE(dynamic_cast<NutBattery*>(opened.sensors[0].get()), nullptr);
  tree.put("/sys/class/power_supply/BAT0/type", "Battery\n");
  tree.put("/sys/class/power_supply/BAT0/energy_now", "5000000\n");
  OpenedSensors by_gauge;
  EXPECT_TRUE(open_battery({.capacity_wh = 100, .nut = daemon_.address()}, root, by_gauge));
  EXPECT_EQ(dynamic_cast<NutBattery*>(by_gauge.sensors[0].get()), nullptr);
}

TEST(Nut, WhereNobodyListensItIsPassedOver) {
  NutAddress address;
  address.port = "1";
  std::vector<std::string> findings;
  EXPECT_EQ(NutBattery::open(address, 100, findings), nullptr);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("Network UPS Tools at 127.0.0.1:1: "), std::string::npos);
}

}  // namespace
}  // namespace gearshift
