// A 64-bit name for a list of texts and numbers: FNV-1a, the same on every machine and in every
// run.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace gearshift {

// Texts are told apart by their lengths: ("ab", "c") and ("a", "bc") differ.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) mix(static_cast<unsigned char>(c));
    return *this;
  }
  Fingerprint& add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(number >> shift));
    return *this;
  }
  Fingerprint& add(double number) { return add(std::bit_cast<std::uint64_t>(number)); }
  std::uint64_t value() const { return value_; }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace gearshift
