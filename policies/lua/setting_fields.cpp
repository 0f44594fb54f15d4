#include "policies/lua/setting_fields.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "controller/knob.h"

namespace gearshift {
namespace {

constexpr std::array<std::string_view, kKinds> kBatchFields{"train_batch", "infer_batch"};

// Appends text to an ErrorText and cuts what is too long.
class ErrorWriter {
 public:
  explicit ErrorWriter(ErrorText& text) : text_(text) { text_.length = 0; }

  ErrorWriter& operator<<(std::string_view part) {
    const std::size_t length = std::min(part.size(), text_.bytes.size() - text_.length);
    std::copy_n(part.begin(), length, text_.bytes.begin() + text_.length);
    text_.length = static_cast<std::uint16_t>(text_.length + length);
    return *this;
  }
  ErrorWriter& operator<<(double number) {
    std::array<char, 32> digits;
    const int length = std::snprintf(digits.data(), digits.size(), "%.10g", number);
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(length));
  }

 private:
  ErrorText& text_;
};

const SettingField* find_field(const SettingFields& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.count; ++i) {
    if (fields.fields[i].name.view() == name) return &fields.fields[i];
  }
  return nullptr;
}

void write_value(ErrorWriter& out, const SettingField& field) {
  if (field.is_number) {
    out << field.number;
  } else if (field.is_text) {
    out << "\"" << field.text.view() << "\"";
  } else {
    out << field.text.view();
  }
}

// The names a setting may have, for messages.
void write_known_fields(ErrorWriter& out, const PolicyContext& context) {
  out << "a setting has ";
  for (const Knob& knob : context.knobs->knobs) out << knob.name << ", ";
  out << "train_batch, infer_batch, run";
}

bool known(std::string_view name, const PolicyContext& context) {
  return name == "run" || name == kBatchFields[0] || name == kBatchFields[1] ||
         context.knobs->find(name).has_value();
}

// Names the first unknown field in byte order, so that the message does not depend on the order a
// hash table happens to have.
bool only_known_fields(const SettingFields& fields, const PolicyContext& context,
                       ErrorText& error) {
  const SettingField* unknown = nullptr;
  for (std::size_t i = 0; i < std::min(fields.count, kMaxSettingFields); ++i) {
    const SettingField& field = fields.fields[i];
    if (!known(field.name.view(), context) &&
        (unknown == nullptr || field.name.view() < unknown->name.view())) {
      unknown = &field;
    }
  }
  if (unknown == nullptr && fields.count <= kMaxSettingFields) return true;
  ErrorWriter out(error);
  if (fields.count > kMaxSettingFields) {
    out << "too many fields (" << static_cast<double>(fields.count)
        << "; of an answer give its answer.setting)";
  } else {
    out << "unknown field '" << unknown->name.view() << "'";
  }
  out << ": ";
  write_known_fields(out, context);
  return false;
}

void write_neighbours(ErrorWriter& out, const Knob& knob, double wanted) {
  const double scale = unit_scale(knob.unit);
  const auto above = std::find_if(knob.values.begin(), knob.values.end(), [&](std::int64_t value) {
    return static_cast<double>(value) > wanted * scale;
  });
  const std::string_view unit = unit_name(knob.unit);
  const std::string_view gap = unit.empty() || unit == "%" ? "" : " ";
  if (!(std::abs(wanted) < 1e300) || knob.values.size() == 1) {
    out << "the values go from " << static_cast<double>(knob.values.front()) / scale << " to "
        << static_cast<double>(knob.values.back()) / scale << gap << unit;
  } else if (above == knob.values.begin()) {
    out << "the lowest is " << static_cast<double>(*above) / scale << gap << unit;
  } else if (above == knob.values.end()) {
    out << "the highest is " << static_cast<double>(knob.values.back()) / scale << gap << unit;
  } else {
    out << "the nearest are " << static_cast<double>(*(above - 1)) / scale << " and "
        << static_cast<double>(*above) / scale << gap << unit;
  }
}

bool read_knob(const SettingFields& fields, const Knob& knob, std::int64_t& value,
               ErrorText& error) {
  const SettingField* field = find_field(fields, knob.name);
  ErrorWriter out(error);
  if (field == nullptr) {
    out << knob.name << " is missing: copy one of modes[i] and change what should differ";
    return false;
  }
  if (!field->is_number) {
    out << knob.name << " must be a number, got ";
    write_value(out, *field);
    return false;
  }
  const double scale = unit_scale(knob.unit);
  const double scaled = field->number * scale;
  const double tolerance = scale > 1 ? 0.5 : 1e-6;  // of what people read in thousands, a half
  for (const std::int64_t allowed : knob.values) {
    if (std::abs(scaled - static_cast<double>(allowed)) <= tolerance) {
      value = allowed;
      return true;
    }
  }
  out << knob.name << ": " << field->number << " is not a value of this board; ";
  write_neighbours(out, knob, field->number);
  return false;
}

// The allowed batch sizes; a workload that named none keeps the one it has.
std::span<const std::int32_t> batch_sizes(const Workload& workload) {
  if (workload.batch_size_count == 0) return {&workload.batch_size, 1};
  return {workload.batch_sizes.data(), workload.batch_size_count};
}

bool read_batch(const SettingFields& fields, Kind kind, const Workload* workload,
                std::int32_t& batch_size, ErrorText& error) {
  const std::string_view name = kBatchFields[index(kind)];
  const SettingField* field = find_field(fields, name);
  ErrorWriter out(error);
  if (workload == nullptr) {
    batch_size = 0;
    if (field == nullptr) return true;
    out << name << ": no " << kind_name(kind) << " workload is attached; leave the field out";
    return false;
  }
  if (field == nullptr) {
    batch_size = workload->batch_size;
    return true;
  }
  const std::span<const std::int32_t> allowed = batch_sizes(*workload);
  for (const std::int32_t size : allowed) {
    if (field->is_number && field->number == static_cast<double>(size)) {
      batch_size = size;
      return true;
    }
  }
  out << name << ": ";
  write_value(out, *field);
  out << " is not a batch size of '" << workload->name.view() << "'; choose one of";
  for (const std::int32_t size : allowed) out << " " << static_cast<double>(size);
  return false;
}

bool read_run(const SettingFields& fields, const PolicyContext& context, Run& run,
              ErrorText& error) {
  const bool has_train = context.workloads[index(Kind::train)] != nullptr;
  const bool has_infer = context.workloads[index(Kind::infer)] != nullptr;
  const Run all = has_train == has_infer ? Run::both : has_train ? Run::train : Run::infer;
  const SettingField* field = find_field(fields, "run");
  if (field == nullptr) {
    run = all;
    return true;
  }
  for (const Run candidate : {Run::train, Run::infer, Run::both}) {
    const bool attached = (has_train || !runs(candidate, Kind::train)) &&
                          (has_infer || !runs(candidate, Kind::infer));
    if (attached && field->is_text && field->text.view() == run_name(candidate)) {
      run = candidate;
      return true;
    }
  }
  ErrorWriter out(error);
  out << "run: ";
  write_value(out, *field);
  out << " cannot run; attached here: " << run_name(all);
  return false;
}

}  // namespace

bool read_setting(const SettingFields& fields, const PolicyContext& context, Setting& setting,
                  ErrorText& error) noexcept {
  if (!only_known_fields(fields, context, error)) return false;
  Setting read;
  read.mode.count = static_cast<std::uint8_t>(context.knobs->size());
  for (std::size_t i = 0; i < context.knobs->size(); ++i) {
    if (!read_knob(fields, context.knobs->knobs[i], read.mode.values[i], error)) return false;
  }
  for (const Kind kind : {Kind::train, Kind::infer}) {
    if (!read_batch(fields, kind, context.workloads[index(kind)], read.batch_size[index(kind)],
                    error)) {
      return false;
    }
  }
  if (!read_run(fields, context, read.run, error)) return false;
  setting = read;
  return true;
}

}  // namespace gearshift
