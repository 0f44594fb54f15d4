#include "actuators/knob_protocol.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

KnobWelcome small_welcome() {
  KnobWelcome welcome;
  welcome.board = "jetson-agx-orin";
  welcome.knobs.knobs = {
      {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 4, 12}, true},
      {"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 1'300'500}},
  };
  welcome.absent = {{"mem_mhz", "EACCES"}};
  welcome.findings = {"GPU at /sys/class/devfreq", ""};
  return welcome;
}

TEST(KnobRequest, IsSixteenBytesInLittleEndianOrder) {
  const KnobRequest request{
      .sequence = 0x01020304, .verb = KnobVerb::write, .knob = 2, .value = -2};
  const std::array<char, kRequestBytes> expected = {4,  3,  2,  1,  1,  2,  0,  0,
                                                    -2, -1, -1, -1, -1, -1, -1, -1};
  EXPECT_EQ(encode(request), expected);
  EXPECT_EQ(decode_request(expected), request);
}

TEST(KnobRequest, OfAnUnknownVerbOrWithOtherBytesIsNone) {
  std::array<char, kRequestBytes> bytes = encode(KnobRequest{.verb = KnobVerb::keep});
  EXPECT_TRUE(decode_request(bytes));
  bytes[4] = static_cast<char>(kKnobVerbs);
  EXPECT_FALSE(decode_request(bytes));
  bytes[4] = 0;
  bytes[7] = 1;
  EXPECT_FALSE(decode_request(bytes));
}

TEST(KnobAnswer, ComesBackAsItWasSent) {
  KnobAnswer sent;
  sent.sequence = 7;
  sent.type = KnobAnswerType::welcome;
  sent.knob_count = 2;
  sent.values[0] = 12;
  sent.text = "text";
  sent.welcome = small_welcome();
  const std::string bytes = encode(sent) + "next";
  KnobAnswer got;
  ASSERT_EQ(decode_answer(bytes, got), bytes.size() - 4);
  EXPECT_EQ(got.sequence, 7u);
  EXPECT_EQ(got.type, KnobAnswerType::welcome);
  EXPECT_EQ(got.values, sent.values);
  EXPECT_EQ(got.text, "text");
  ASSERT_TRUE(got.welcome);
  EXPECT_EQ(got.welcome->board, "jetson-agx-orin");
  EXPECT_EQ(got.welcome->knobs.knobs[1].values, (std::vector<std::int64_t>{306'000, 1'300'500}));
  EXPECT_EQ(got.welcome->knobs.knobs[0].knob_class, KnobClass::hotplug);
  EXPECT_TRUE(got.welcome->knobs.knobs[0].follows_cores);
  EXPECT_FALSE(got.welcome->knobs.knobs[1].follows_cores);
  EXPECT_EQ(got.welcome->absent[0].reason, "EACCES");
  EXPECT_EQ(got.welcome->findings, sent.welcome->findings);
}

TEST(KnobAnswer, IsWaitedForUntilItIsWhole) {
  KnobAnswer sent;
  sent.text = "refused";
  const std::string bytes = encode(sent);
  KnobAnswer got;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_answer(bytes.substr(0, size), got), 0u) << size;
  }
  EXPECT_EQ(decode_answer(bytes, got), bytes.size());
}

TEST(KnobAnswer, ThatIsDamagedIsRefusedByName) {
  KnobAnswer sent;
  sent.type = KnobAnswerType::welcome;
  sent.welcome = small_welcome();
  const std::string whole = encode(sent);
  const auto refused = [&](std::size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = byte;
    KnobAnswer got;
    EXPECT_THROW(decode_answer(bytes, got), KnobProtocolError) << at;
  };
  refused(3, 1);    // 16 MiB long
  refused(8, 6);    // a type that there is not
  refused(9, 9);    // more knobs than there can be
  refused(10, -1);  // a text longer than the rest
  refused(whole.size() - 1, 1);
  std::string short_by_one = whole.substr(0, whole.size() - 1);
  short_by_one[0] = static_cast<char>(short_by_one[0] - 1);
  KnobAnswer got;
  EXPECT_THROW(decode_answer(short_by_one, got), KnobProtocolError);
}

TEST(KnobAnswer, CutsTextAndLeavesOutFindingsThatAreTooLong) {
  KnobAnswer sent;
  sent.type = KnobAnswerType::welcome;
  sent.text = std::string(5000, 'x');
  sent.welcome = small_welcome();
  sent.welcome->findings.assign(500, std::string(3000, 'y'));
  KnobAnswer got;
  const std::string bytes = encode(sent);
  EXPECT_LE(bytes.size(), kMaxAnswerBytes + 4);
  ASSERT_EQ(decode_answer(bytes, got), bytes.size());
  EXPECT_EQ(got.text.size(), kMaxAnswerText);
  EXPECT_LT(got.welcome->findings.size(), 500u);
}

}  // namespace
}  // namespace gearshift
