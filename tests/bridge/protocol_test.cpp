#include "bridge/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bridge/frames.h"

namespace gearshift::wire {
namespace {

using frames::Map;
using frames::packed;
using frames::round_trip;

TEST(Protocol, CarriesAHello) {
  const Hello sent = frames::hello(Kind::infer);
  const Hello got = round_trip<ClientMessage>(sent);
  EXPECT_EQ(got.version, kVersion);
  EXPECT_EQ(got.name.view(), "lenet");
  EXPECT_EQ(got.kind, Kind::infer);
  EXPECT_EQ(got.pid, 4242);
  EXPECT_EQ(got.batch_size, 16);
  EXPECT_EQ(got.batch_size_count, 3);
  EXPECT_EQ(got.batch_sizes, sent.batch_sizes);
  EXPECT_EQ(got.samples_per_epoch, 1437);
}

TEST(Protocol, CarriesAReport) {
  Report sent = frames::report(7);
  sent.set = UINT32_MAX;
  sent.epoch = 3;
  const Report got = round_trip<ClientMessage>(sent);
  EXPECT_EQ(got.sequence, 7u);
  EXPECT_EQ(got.set, UINT32_MAX);
  EXPECT_EQ(got.epoch, 3u);
  EXPECT_EQ(got.batch_size, 16);
  EXPECT_EQ(got.elapsed, sent.elapsed);
  EXPECT_EQ(got.fetch_stall, sent.fetch_stall);
  EXPECT_EQ(got.compute, sent.compute);
}

TEST(Protocol, CarriesAnswersToASet) {
  const Applied applied = round_trip<ClientMessage>(Applied{9, 32, Run::infer});
  EXPECT_EQ(applied.set, 9u);
  EXPECT_EQ(applied.batch_size, 32);
  EXPECT_EQ(applied.run, Run::infer);
  const Refused refused =
      round_trip<ClientMessage>(Refused{9, Text("memory"), MessageText("does not fit")});
  EXPECT_EQ(refused.code.view(), "memory");
  EXPECT_EQ(refused.message.view(), "does not fit");
}

TEST(Protocol, CarriesTheDaemonsMessages) {
  const Welcome welcome =
      round_trip<DaemonMessage>(Welcome{1, 4294967295, true, std::chrono::seconds(1),
                                        std::chrono::seconds(5), MessageText("only observed")});
  EXPECT_EQ(welcome.workload, 4294967295);
  EXPECT_TRUE(welcome.managed);
  EXPECT_EQ(welcome.heartbeat, std::chrono::seconds(1));
  EXPECT_EQ(welcome.silent_after, std::chrono::seconds(5));
  EXPECT_EQ(welcome.message.view(), "only observed");
  const Set set = round_trip<DaemonMessage>(Set{1, 64, Run::train});
  EXPECT_EQ(set.batch_size, 64);
  EXPECT_EQ(set.run, Run::train);
  EXPECT_EQ(round_trip<DaemonMessage>(Error{Text("version"), MessageText("no")}).code.view(),
            "version");
}

TEST(Protocol, CarriesMessagesWithoutFields) {
  round_trip<ClientMessage>(Heartbeat{});
  round_trip<ClientMessage>(Bye{});
  round_trip<DaemonMessage>(Heartbeat{});
  round_trip<DaemonMessage>(Bye{});
  round_trip<ControlRequest>(StatusRequest{});
  round_trip<ControlRequest>(StopRequest{});
  EXPECT_EQ(round_trip<ControlRequest>(CapRequest{20'000}).power_mw, 20'000);
  for (const GoalChange& change :
       {GoalChange{.objective = Objective::target}, GoalChange{.energy_weight = 0},
        GoalChange{.objective = Objective::weighted, .energy_weight = 0.123456}}) {
    EXPECT_EQ(round_trip<ControlRequest>(GoalRequest{change}).change, change);
  }
}

// The text is a specification: its bytes must be ours.
TEST(Protocol, IsWhatItsTextSays) {
  std::ifstream file(GEARSHIFT_SOURCE_DIR "/bridge/PROTOCOL.md");
  std::vector<std::string> dumps;
  std::string line;
  std::string bytes;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    unsigned byte = 0;
    const bool hexadecimal = line.find_first_not_of("0123456789abcdef ") == std::string::npos;
    if (hexadecimal && !line.empty()) {
      while (words >> std::hex >> byte) bytes.push_back(static_cast<char>(byte));
    } else if (!bytes.empty()) {
      dumps.push_back(std::move(bytes));
      bytes.clear();
    }
  }
  ASSERT_EQ(dumps.size(), 3u);
  EXPECT_EQ(dumps[0], packed(Set{1, 32, Run::both}));
  Report report;
  report.sequence = 3;
  report.set = 1;
  report.batch_size = 32;
  report.elapsed = Duration(8'400'000);
  report.fetch_stall = Duration(210'000);
  report.compute = Duration(8'000'000);
  EXPECT_EQ(dumps[1], packed(report));
  Requests requests = frames::requests(2);
  requests.set = 1;
  EXPECT_EQ(dumps[2], packed(requests));
}

TEST(Protocol, TakesFieldsInAnyOrderAndIgnoresUnknownOnes) {
  ClientMessage message;
  const std::string frame = Map("minibatch")
                                .with("compute_ns", 5)
                                .with("elapsed_ns", 10)
                                .with("colour", std::vector<std::vector<int>>{{1}, {2}})
                                .with("batch_size", 8)
                                .with("gpu", 1.5)
                                .with("epoch", 0)
                                .with("set", 0)
                                .with("sequence", 1)
                                .frame();
  ASSERT_FALSE(decode(frame, message));
  const Report& report = std::get<Report>(message);
  EXPECT_EQ(report.compute, Duration(5));
  EXPECT_EQ(report.fetch_stall, Duration::zero());  // has a default
}

TEST(Protocol, TakesIntegersOfAnyWidth) {
  const auto sequence = [](std::string_view bytes) {
    ClientMessage message;
    const Fault fault = decode(Map("minibatch")
                                   .with_raw("sequence", bytes)
                                   .with("set", 0)
                                   .with("epoch", 0)
                                   .with("batch_size", 8)
                                   .with("elapsed_ns", 1)
                                   .frame(),
                               message);
    return fault ? 0 : std::get<Report>(message).sequence;
  };
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(sequence("\x07"sv), 7u);
  EXPECT_EQ(sequence("\xcc\x80"sv), 0x80u);
  EXPECT_EQ(sequence("\xcd\x80\x01"sv), 0x8001u);
  EXPECT_EQ(sequence("\xce\x80\x00\x00\x01"sv), 0x80000001u);
  EXPECT_EQ(sequence("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"sv), 0x7fffffffffffffffu);
  EXPECT_EQ(sequence("\xd0\x07"sv), 7u);
  EXPECT_EQ(sequence("\xd1\x00\x07"sv), 7u);
  EXPECT_EQ(sequence("\xd2\x00\x00\x00\x07"sv), 7u);
  EXPECT_EQ(sequence("\xd3\x00\x00\x00\x00\x00\x00\x00\x07"sv), 7u);
  EXPECT_EQ(sequence("\xd0\xff"sv), 0u);                              // -1
  EXPECT_EQ(sequence("\xff"sv), 0u);                                  // -1
  EXPECT_EQ(sequence("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"sv), 0u);  // beyond 2^63
}

struct Bound {
  const char* field;
  std::int64_t low, high;
};

// One report with one field at `value`.
Fault report_fault(const char* field, std::int64_t value) {
  Map map("minibatch");
  for (const char* name :
       {"sequence", "set", "epoch", "batch_size", "elapsed_ns", "fetch_stall_ns", "compute_ns"}) {
    map.with(name, std::string_view(name) == field ? value : std::int64_t{1});
  }
  ClientMessage message;
  return decode(map.frame(), message);
}

TEST(Protocol, HoldsTheBoundsOfAReport) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  const Bound bounds[] = {{"sequence", 1, INT64_MAX}, {"set", 0, UINT32_MAX},
                          {"epoch", 0, UINT32_MAX},   {"batch_size", 1, 1 << 20},
                          {"elapsed_ns", 1, kHour},   {"fetch_stall_ns", 0, kHour},
                          {"compute_ns", 0, kHour}};
  for (const Bound& bound : bounds) {
    EXPECT_FALSE(report_fault(bound.field, bound.low)) << bound.field;
    EXPECT_FALSE(report_fault(bound.field, bound.high)) << bound.field;
    const Fault below = report_fault(bound.field, bound.low - 1);
    EXPECT_EQ(below.code, Fault::Code::invalid) << bound.field;
    EXPECT_EQ(below.field, bound.field);
    if (bound.high == INT64_MAX) continue;
    EXPECT_EQ(report_fault(bound.field, bound.high + 1).code, Fault::Code::invalid) << bound.field;
  }
}

Map hello_map(const std::string& name, std::int64_t pid, std::int64_t batch_size,
              const std::vector<std::int64_t>& sizes, std::int64_t samples) {
  return Map("hello")
      .with("version", 1)
      .with("name", name)
      .with("kind", "train")
      .with("pid", pid)
      .with("batch_size", batch_size)
      .with("batch_sizes", sizes)
      .with("samples_per_epoch", samples);
}

Fault hello_fault(const Map& map) {
  ClientMessage message;
  return decode(map.frame(), message);
}

TEST(Protocol, HoldsTheBoundsOfAHello) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= 32; ++size) sizes.push_back(size);
  const std::string name(64, 'a');
  EXPECT_FALSE(hello_fault(hello_map(name, INT32_MAX, 32, sizes, 1'000'000'000'000)));
  EXPECT_FALSE(hello_fault(hello_map("a", 0, 1 << 20, {1 << 20}, 0)));
  const auto invalid = [](const Map& map) {
    const Fault fault = hello_fault(map);
    EXPECT_EQ(fault.code, Fault::Code::invalid);
    return std::string(fault.field);
  };
  EXPECT_EQ(invalid(hello_map("", 0, 8, {8}, 0)), "name");
  EXPECT_EQ(invalid(hello_map(name + "a", 0, 8, {8}, 0)), "name");
  EXPECT_EQ(invalid(hello_map("a", -1, 8, {8}, 0)), "pid");
  EXPECT_EQ(invalid(hello_map("a", std::int64_t{INT32_MAX} + 1, 8, {8}, 0)), "pid");
  EXPECT_EQ(invalid(hello_map("a", 0, 0, {8}, 0)), "batch_size");
  EXPECT_EQ(invalid(hello_map("a", 0, 9, {8}, 0)), "batch_size");  // not one of the list
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {}, 0)), "batch_sizes");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {8, 8}, 0)), "batch_sizes");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {16, 8}, 0)), "batch_sizes");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {0, 8}, 0)), "batch_sizes");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {8, (1 << 20) + 1}, 0)), "batch_sizes");
  sizes.push_back(33);
  EXPECT_EQ(invalid(hello_map("a", 0, 32, sizes, 0)), "batch_sizes");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {8}, -1)), "samples_per_epoch");
  EXPECT_EQ(invalid(hello_map("a", 0, 8, {8}, 1'000'000'000'001)), "samples_per_epoch");
  const auto with_latency = [](std::int64_t latency_ns) {
    return hello_map("a", 0, 8, {8}, 0).with("latency_ns", latency_ns);
  };
  EXPECT_FALSE(hello_fault(with_latency(0)));
  EXPECT_FALSE(hello_fault(with_latency(3'600'000'000'000)));
  EXPECT_EQ(invalid(with_latency(-1)), "latency_ns");
  EXPECT_EQ(invalid(with_latency(3'600'000'000'001)), "latency_ns");
}

TEST(Protocol, HoldsTheBoundsOfACap) {
  ControlRequest request;
  EXPECT_FALSE(decode(Map("cap").with("power_mw", 0).frame(), request));
  EXPECT_FALSE(decode(Map("cap").with("power_mw", 100'000'000).frame(), request));
  EXPECT_TRUE(decode(Map("cap").with("power_mw", 100'000'001).frame(), request));
  EXPECT_TRUE(decode(Map("cap").with("power_mw", -1).frame(), request));
  EXPECT_TRUE(decode(Map("cap").with("power_mw", 20.5).frame(), request));
  EXPECT_TRUE(decode(Map("cap").frame(), request));
}

TEST(Protocol, RefusesAnotherVersionBeforeAnythingElse) {
  ClientMessage message;
  const Fault fault = decode(
      Map("hello").with("name", 5).with("version", 2).with("kind", "dream").frame(), message);
  EXPECT_EQ(fault.code, Fault::Code::version);
  const std::string text(fault.error().message.view());
  EXPECT_EQ(fault.error().code.view(), "version");
  EXPECT_NE(text.find("version 2"), std::string::npos) << text;
  EXPECT_NE(text.find("version 1"), std::string::npos) << text;
}

TEST(Protocol, ShowsOnlyTextThatIsFitForATerminal) {
  const auto taken = [](const std::string& name) {
    return !hello_fault(hello_map(name, 0, 8, {8}, 0));
  };
  EXPECT_TRUE(taken("r\xc3\xa9seau \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(taken("\x1b[2J"));
  EXPECT_FALSE(taken("a\nb"));
  EXPECT_FALSE(taken(std::string("a\0b", 3)));
  EXPECT_FALSE(taken("\x7f"));
  EXPECT_FALSE(
      taken("\xc2\x9b"
            "2J"));  // C1 control
  EXPECT_TRUE(taken("\xc2\xa0"));
  EXPECT_FALSE(taken("\xc0\xaf"));          // overlong
  EXPECT_FALSE(taken("\xe0\x80\xaf"));      // overlong
  EXPECT_FALSE(taken("\xf0\x80\x80\xaf"));  // overlong
  EXPECT_FALSE(taken("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(taken("\xf4\x90\x80\x80"));  // beyond Unicode
  EXPECT_FALSE(taken("\xe2\x82"));          // cut short
  EXPECT_FALSE(taken("\x80"));
}

}  // namespace
}  // namespace gearshift::wire
