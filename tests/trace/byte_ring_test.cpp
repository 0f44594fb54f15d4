#include "trace/byte_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace gearshift {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string take(ByteRing& ring, std::size_t size) {
  std::string text(size, '?');
  return ring.take(std::as_writable_bytes(std::span(text.data(), size))) ? text : "nothing";
}

TEST(ByteRing, GivesWhatWasPublishedInOrder) {
  ByteRing ring(16);
  EXPECT_TRUE(ring.put(bytes("abc"), bytes("de")));
  EXPECT_EQ(take(ring, 1), "nothing") << "not published yet";
  ring.publish();
  EXPECT_EQ(ring.waiting(), 5U);
  EXPECT_EQ(take(ring, 6), "nothing") << "fewer bytes are there";
  EXPECT_EQ(take(ring, 2), "ab");
  EXPECT_EQ(take(ring, 3), "cde");
}

TEST(ByteRing, TakesAllOfAnEntryOrNothing) {
  ByteRing ring(8);
  EXPECT_TRUE(ring.put(bytes("1234567")));
  EXPECT_FALSE(ring.put(bytes("8"), bytes("9")));
  EXPECT_TRUE(ring.put(bytes("8")));
  EXPECT_FALSE(ring.put(bytes("9")));
  ring.publish();
  EXPECT_EQ(take(ring, 8), "12345678");
}

TEST(ByteRing, RunsOverItsEnd) {
  ByteRing ring(8);
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(10000 + i);
    ASSERT_TRUE(ring.put(bytes(text)));
    ring.publish();
    ASSERT_EQ(take(ring, 5), text);
  }
}

TEST(ByteRing, DiscardsWhatWasNotPublished) {
  ByteRing ring(8);
  EXPECT_TRUE(ring.put(bytes("ab")));
  ring.publish();
  EXPECT_TRUE(ring.put(bytes("cd")));
  ring.discard();
  EXPECT_TRUE(ring.put(bytes("ef")));
  ring.publish();
  EXPECT_EQ(take(ring, 4), "abef");
}

}  // namespace
}  // namespace gearshift
