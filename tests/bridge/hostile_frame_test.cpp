// Frames that no honest client sends: each ends as the fault it is, in every direction.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bridge/frame_reader.h"
#include "bridge/protocol.h"
#include "tests/bridge/frames.h"

namespace gearshift::wire {
namespace {

using frames::Map;
using frames::packed;
using std::string_literals::operator""s;
using Code = Fault::Code;

struct Hostile {
  const char* what;
  std::string frame;
  Code code;
};

// A report with `key` given as raw bytes.
std::string report_with(std::string_view key, std::string_view bytes) {
  Map map("minibatch");
  for (const std::string_view name : {"sequence", "set", "epoch", "batch_size", "elapsed_ns"}) {
    if (name == key) {
      map.with_raw(name, bytes);
    } else {
      map.with(name, 1);
    }
  }
  return map.frame();
}

// Arrays in arrays, `depth` of them, around an integer.
std::string nested(std::size_t depth) { return std::string(depth, '\x91') + "\x01"; }

std::vector<Hostile> hostile_frames() {
  const std::string report = packed(frames::report(1));
  const std::string nan = "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"s;
  return {
      {"nothing", "", Code::malformed},
      {"an integer", "\x05", Code::malformed},
      {"an array", "\x91\x05", Code::malformed},
      {"text", "hello", Code::malformed},
      {"the byte that is never used", "\xc1", Code::malformed},
      {"an empty map", "\x80", Code::malformed},
      {"a map of 65 entries", Map("heartbeat").frame(65), Code::malformed},
      {"a map that announces 4 Gi entries", "\xdf\xff\xff\xff\xff"s, Code::malformed},
      {"an array that announces 4 Gi entries", "\xdd\xff\xff\xff\xff"s, Code::malformed},
      {"a list that announces 4 Gi entries",
       Map("hello").with_raw("batch_sizes", "\xdd\xff\xff\xff\xff").frame(), Code::malformed},
      {"a string that announces 4 GiB",
       Map("hello").with_raw("name", "\xdb\xff\xff\xff\xff").frame(), Code::malformed},
      {"binary that announces 4 GiB",
       Map("heartbeat").with_raw("x", "\xc6\xff\xff\xff\xff").frame(), Code::malformed},
      {"an extension that announces 4 GiB",
       Map("heartbeat").with_raw("x", "\xc9\xff\xff\xff\xff\x01").frame(), Code::malformed},
      {"a cut report", report.substr(0, report.size() - 1), Code::malformed},
      {"bytes after the map", report + "\x01", Code::malformed},
      {"two messages", report + report, Code::malformed},
      {"type not first", Map().with("set", 1).with("type", "heartbeat").frame(), Code::malformed},
      {"no type", Map().with("set", 1).frame(), Code::malformed},
      {"a type that is a number", Map().with("type", 7).frame(), Code::malformed},
      {"a type that is nil", "\x81\xa4type\xc0", Code::malformed},
      {"a key that is a number", "\x82\xa4type\xa9heartbeat\x01\x02", Code::malformed},
      {"a type given twice", Map("heartbeat").with("type", "heartbeat").frame(), Code::malformed},
      {"a type given twice, of an unknown one", Map("launch").with("type", "bye").frame(),
       Code::malformed},
      {"a field given twice", Map("minibatch").with("set", 1).with("set", 2).frame(),
       Code::malformed},
      {"nesting past the bound", Map("heartbeat").with_raw("x", nested(3)).frame(),
       Code::malformed},
      {"a thousand levels", Map("heartbeat").with_raw("x", nested(1000)).frame(), Code::malformed},
      {"a known field that nests too deep", report_with("set", nested(1000)), Code::malformed},
      {"an unknown type", Map("launch").frame(), Code::unknown_type},
      {"an empty type", Map("").frame(), Code::unknown_type},
      {"a message of the daemon", packed(Set{1, 8, Run::both}), Code::unknown_type},
      {"a NaN", report_with("elapsed_ns", nan), Code::invalid},
      {"a float", report_with("elapsed_ns", "\xca\x3f\x80\x00\x00"s), Code::invalid},
      {"a boolean", report_with("sequence", "\xc3"), Code::invalid},
      {"a number as text", report_with("sequence", "\xa1\x35"), Code::invalid},
      {"nil", report_with("sequence", "\xc0"), Code::invalid},
      {"a list for a number", report_with("sequence", "\x91\x01"), Code::invalid},
      {"a time below zero", report_with("elapsed_ns", "\xff"), Code::invalid},
      {"the least integer", report_with("elapsed_ns", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"s),
       Code::invalid},
      {"an integer past 2^63", report_with("sequence", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"s),
       Code::invalid},
      {"a report without its sequence", Map("minibatch").with("set", 0).frame(), Code::invalid},
      {"a run of another kind",
       Map("applied").with("set", 1).with("batch_size", 8).with("run", "none").frame(),
       Code::invalid},
      {"both as a kind",
       Map("hello").with("version", 1).with("name", "a").with("kind", "both").frame(),
       Code::invalid},
      {"a batch size in a batch size",
       Map("hello").with("version", 1).with_raw("batch_sizes", "\x91\x91\x08").frame(),
       Code::invalid},
  };
}

TEST(HostileFrame, EndsAsTheFaultItIs) {
  for (const Hostile& hostile : hostile_frames()) {
    ClientMessage message;
    const Fault fault = decode(hostile.frame, message);
    EXPECT_EQ(fault.code, hostile.code) << hostile.what << ": " << fault.error().message.view();
    EXPECT_FALSE(fault.error().message.view().empty()) << hostile.what;
  }
}

TEST(HostileFrame, NeverPassesForAMessageOfTheDaemonOrAnOperator) {
  for (const Hostile& hostile : hostile_frames()) {
    if (hostile.code != Code::malformed) continue;
    DaemonMessage answer;
    EXPECT_TRUE(decode(hostile.frame, answer)) << hostile.what;
    ControlRequest request;
    EXPECT_TRUE(decode(hostile.frame, request)) << hostile.what;
  }
}

TEST(HostileFrame, IsBoundedInBytes) {
  const auto padded = [](std::size_t bytes) {
    // 11 bytes of type and its value, 1 of the map, 2 of the key and 3 of the padding's head.
    const std::size_t padding = bytes - packed(Heartbeat{}).size() - 2 - 3;
    return Map("heartbeat").with("x", std::string(padding, 'a')).frame();
  };
  ClientMessage message;
  ASSERT_EQ(padded(4096).size(), 4096u);
  EXPECT_FALSE(decode(padded(4096), message));
  EXPECT_EQ(decode(padded(4097), message).code, Code::malformed);
}

TEST(HostileFrame, IsBoundedInEntriesAndDepth) {
  Map map("heartbeat");
  for (int i = 1; i < 64; ++i) map.with("x" + std::to_string(i), i);
  ClientMessage message;
  EXPECT_FALSE(decode(map.frame(), message));  // 64
  map.with("y", 0);
  EXPECT_EQ(decode(map.frame(), message).code, Code::malformed);
  EXPECT_FALSE(decode(Map("heartbeat").with_raw("x", nested(2)).frame(), message));  // depth 3
}

TEST(HostileFrame, CutAnywhereIsNoMessage) {
  for (const std::string& whole : {packed(frames::hello()), packed(frames::report(1))}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ClientMessage message;
      EXPECT_EQ(decode(whole.substr(0, size), message).code, Code::malformed) << size;
    }
  }
}

// Every value of every byte of a report: none may do worse than be a fault (run under sanitizers).
TEST(HostileFrame, WithAnyByteChangedIsHarmless) {
  const std::string whole = packed(frames::hello());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string frame = whole;
      frame[at] = static_cast<char>(byte);
      ClientMessage message;
      if (decode(frame, message)) continue;
      if (const Hello* hello = std::get_if<Hello>(&message)) {
        EXPECT_GE(hello->batch_size, 1);
        EXPECT_LE(hello->batch_size_count, kMaxBatchSizes);
        EXPECT_TRUE(printable(hello->name.view()));
      }
    }
  }
}

}  // namespace
}  // namespace gearshift::wire
