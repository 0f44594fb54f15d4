// Turns the fields of a script's setting table into a Setting, or says what is wrong with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "controller/event.h"
#include "controller/policy.h"
#include "controller/setting.h"

namespace gearshift {

// One field of a Lua table as plain data: it is copied before any C++ runs, since a Lua error must
// not cross a C++ frame.
struct SettingField {
  BoundedText<32> name;  // cut where longer: no knob's name is
  bool is_number = false;
  double number = 0;
  BoundedText<16> text;  // of a string value; else the name of the value's type
  bool is_text = false;
};

// Instructions that reading a setting, and finding it, counts as.
inline constexpr std::int64_t kSettingCharge = 30;
inline constexpr std::size_t kMaxSettingFields = kMaxKnobs + 8;

struct SettingFields {
  std::array<SettingField, kMaxSettingFields> fields;
  std::size_t count = 0;  // may be larger than the array: the rest was not copied
};

using ErrorText = BoundedText<480>;

// The fields of a setting: a number for every knob in the unit people read (MHz, W), and optionally
// train_batch, infer_batch (samples; by default the batch size at attach) and run ("train", "infer"
// or "both"; by default whatever is attached). A value must be one of the allowed ones, clocks
// and powers to within half of the knob's smallest unit. Returns true and sets `setting`, or false
// and sets `error` to a message with field, value and the way out.
bool read_setting(const SettingFields& fields, const PolicyContext& context, Setting& setting,
                  ErrorText& error) noexcept;

}  // namespace gearshift
