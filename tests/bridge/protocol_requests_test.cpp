// What servers tell of their requests, and turns, on the wire.
#include <gtest/gtest.h>

#include <string>

#include "bridge/protocol.h"
#include "tests/bridge/frames.h"

namespace gearshift::wire {
namespace {

using frames::Map;
using frames::packed;
using frames::round_trip;

TEST(Protocol, CarriesALatencyInAHello) {
  Hello sent = frames::hello(Kind::infer);
  EXPECT_EQ(round_trip<ClientMessage>(sent).latency, Duration::zero());
  sent.latency = std::chrono::hours(1);
  EXPECT_EQ(round_trip<ClientMessage>(sent).latency, std::chrono::hours(1));
}

TEST(Protocol, CarriesAReportOfRequests) {
  Requests sent = frames::requests(7);
  sent.set = UINT32_MAX;
  sent.late = 4;
  sent.refused = 3;
  const Requests got = round_trip<ClientMessage>(sent);
  EXPECT_EQ(got.sequence, 7u);
  EXPECT_EQ(got.set, UINT32_MAX);
  EXPECT_EQ(got.span, sent.span);
  EXPECT_EQ(got.arrived, 31u);
  EXPECT_EQ(got.served, 30u);
  EXPECT_EQ(got.late, 4u);
  EXPECT_EQ(got.refused, 3u);
  EXPECT_EQ(got.queued, 3u);
  EXPECT_EQ(got.latency_p50, sent.latency_p50);
  EXPECT_EQ(got.latency_p95, sent.latency_p95);
  EXPECT_EQ(got.latency_p99, sent.latency_p99);
  EXPECT_EQ(got.latency_max, sent.latency_max);
}

TEST(Protocol, CarriesCheckpointsAndTheirAnswers) {
  Hello hello = frames::hello(Kind::train);
  EXPECT_FALSE(round_trip<ClientMessage>(hello).saves);
  hello.saves = true;
  EXPECT_TRUE(round_trip<ClientMessage>(hello).saves);
  const auto asked =
      round_trip<DaemonMessage>(CheckpointRequest{UINT32_MAX, std::chrono::seconds(30)});
  EXPECT_EQ(asked.checkpoint, UINT32_MAX);
  EXPECT_EQ(asked.within, std::chrono::seconds(30));
  const Saved saved = round_trip<ClientMessage>(Saved{7, std::chrono::milliseconds(2100)});
  EXPECT_EQ(saved.checkpoint, 7u);
  EXPECT_EQ(saved.elapsed, std::chrono::milliseconds(2100));
  const Unsaved unsaved = round_trip<ClientMessage>(Unsaved{7, MessageText("disk full")});
  EXPECT_EQ(unsaved.message.view(), "disk full");
  ClientMessage message;
  EXPECT_EQ(decode(Map("saved").with("checkpoint", 0).frame(), message).field, "checkpoint");
}

TEST(Protocol, CarriesTurns) {
  EXPECT_EQ(round_trip<ClientMessage>(TurnRequest{INT64_MAX}).turn, std::uint64_t{INT64_MAX});
  EXPECT_EQ(round_trip<ClientMessage>(TurnEnd{1}).turn, 1u);
  const Turn turn = round_trip<DaemonMessage>(Turn{7, std::chrono::seconds(10)});
  EXPECT_EQ(turn.turn, 7u);
  EXPECT_EQ(turn.longest, std::chrono::seconds(10));
  ClientMessage message;
  EXPECT_EQ(decode(Map("turn_request").with("turn", 0).frame(), message).field, "turn");
  EXPECT_EQ(decode(Map("turn_end").frame(), message).field, "turn");
  EXPECT_EQ(decode(packed(TurnEnd{UINT64_MAX}), message).field, "turn");
  DaemonMessage answer;
  EXPECT_EQ(decode(packed(Turn{1, Duration(0)}), answer).field, "longest_ns");
  EXPECT_EQ(decode(packed(Turn{1, std::chrono::hours(1) + Duration(1)}), answer).field,
            "longest_ns");
}

// A valid report of requests with one field replaced.
Fault requests_fault(std::string_view field, std::int64_t value) {
  Map map("requests");
  const auto with = [&](std::string_view name, std::int64_t valid) {
    map.with(name, name == field ? value : valid);
  };
  with("sequence", 1);
  with("set", 0);
  with("span_ns", 500'000'000);
  with("arrived", 10);
  with("served", UINT32_MAX);
  with("late", field == "refused" ? value : 10);
  with("refused", 0);
  with("queued", 0);
  with("latency_p50_ns", 0);
  with("latency_p95_ns", field == "latency_p50_ns" ? value : 0);
  const std::int64_t above = field.find("latency") == 0 ? value : 0;
  with("latency_p99_ns", above);
  with("latency_max_ns", above);
  ClientMessage message;
  return decode(map.frame(), message);
}

TEST(Protocol, HoldsTheBoundsOfAReportOfRequests) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  const struct {
    const char* field;
    std::int64_t low, high;
  } bounds[] = {
      {"sequence", 1, INT64_MAX},   {"set", 0, UINT32_MAX},       {"span_ns", 1, kHour},
      {"arrived", 0, UINT32_MAX},   {"served", 10, UINT32_MAX},   {"late", 0, UINT32_MAX},
      {"refused", 0, UINT32_MAX},   {"queued", 0, UINT32_MAX},    {"latency_p50_ns", 0, kHour},
      {"latency_p95_ns", 0, kHour}, {"latency_p99_ns", 0, kHour}, {"latency_max_ns", 0, kHour}};
  for (const auto& bound : bounds) {
    EXPECT_FALSE(requests_fault(bound.field, bound.low)) << bound.field;
    EXPECT_FALSE(requests_fault(bound.field, bound.high)) << bound.field;
    EXPECT_EQ(requests_fault(bound.field, bound.low - 1).code, Fault::Code::invalid) << bound.field;
    if (bound.high == INT64_MAX) continue;
    EXPECT_EQ(requests_fault(bound.field, bound.high + 1).code, Fault::Code::invalid)
        << bound.field;
  }
}

TEST(Protocol, RefusesReportsOfRequestsThatContradictThemselves) {
  const auto field_of = [](const Requests& requests) {
    ClientMessage message;
    return std::string(decode(packed(requests), message).field);
  };
  Requests requests = frames::requests(1);
  requests.refused = 2;  // 1 is late
  EXPECT_EQ(field_of(requests), "refused");
  requests = frames::requests(1);
  requests.late = requests.served + 1;
  EXPECT_EQ(field_of(requests), "late");
  requests = frames::requests(1);
  requests.latency_p95 = requests.latency_p50 - Duration(1);
  EXPECT_EQ(field_of(requests), "latency_p50_ns");
  requests = frames::requests(1);
  requests.latency_max = requests.latency_p99 - Duration(1);
  EXPECT_EQ(field_of(requests), "latency_p50_ns");
}

}  // namespace
}  // namespace gearshift::wire
