// One table of a recording, read row by row in the order it was written, each value checked.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "trace/database.h"
#include "trace/recording.h"
#include "trace/recording_names.h"

namespace gearshift {

// Times and powers beyond these are no measurement; sums of a few of them cannot overflow.
inline constexpr std::int64_t kMostTimeNs = std::int64_t{1} << 60;
inline constexpr std::int64_t kMostPowerMw = std::int64_t{1} << 40;
// Of a battery, which are read as floating point.
inline constexpr std::int64_t kMostEnergyMj = std::int64_t{1} << 53;
// 366 days, as a flag may say.
inline constexpr std::int64_t kMostLatencyNs = 8784 * std::int64_t{3'600'000'000'000};

class Cursor {
 public:
  // The first column of the table is the tick, unless `sql` asks otherwise.
  Cursor(Database& database, std::string table, const std::string& sql)
      : table_(std::move(table)), statement_(database, sql), row_(statement_.step()) {}
  Cursor(Database& database, const std::string& table)
      : Cursor(database, table, "SELECT * FROM " + table + " ORDER BY rowid") {}

  bool at_row() const { return row_; }
  // True while the row belongs to the tick; a row of an earlier one is an error.
  bool at(std::int64_t tick) const {
    if (!row_) return false;
    const std::int64_t of_row = statement_.integer_at(0);
    if (of_row < tick) fail("tick", std::to_string(of_row) + " comes after a later one");
    return of_row == tick;
  }
  void next() { row_ = statement_.step(); }

  bool is_null(int column) const { return statement_.is_null(column); }
  std::string_view text(int column) const { return statement_.text_at(column); }
  double real(int column) const { return statement_.real_at(column); }
  template <typename Integer>
  Integer integer(int column, std::string_view name,
                  std::int64_t least = std::numeric_limits<Integer>::min(),
                  std::int64_t most = std::numeric_limits<Integer>::max()) const {
    const std::int64_t value = statement_.integer_at(column);
    if (value < least || value > most) {
      fail(name, std::to_string(value) + " is not between " + std::to_string(least) + " and " +
                     std::to_string(most));
    }
    return static_cast<Integer>(value);
  }
  bool flag(int column, std::string_view name) const {
    return integer<std::int64_t>(column, name, 0, 1) != 0;
  }
  Time time(int column, std::string_view name) const {
    return Time(Duration(integer<std::int64_t>(column, name, -kMostTimeNs, kMostTimeNs)));
  }
  Duration duration(int column, std::string_view name) const {
    return Duration(integer<std::int64_t>(column, name, 0, kMostTimeNs >> 10));
  }
  std::int64_t power_mw(int column, std::string_view name) const {
    return integer<std::int64_t>(column, name, -kMostPowerMw, kMostPowerMw);
  }
  std::int64_t energy_mj(int column, std::string_view name) const {
    return integer<std::int64_t>(column, name, -kMostEnergyMj, kMostEnergyMj);
  }
  template <typename E>
  E word(int column, std::string_view name) const {
    return known(from_word<E>(text(column)), column, name);
  }
  template <typename E>
  E known(const std::optional<E>& value, int column, std::string_view name) const {
    if (!value) fail(name, "'" + std::string(text(column).substr(0, 64)) + "' is unknown");
    return *value;
  }
  [[noreturn]] void fail(std::string_view column, const std::string& what) const {
    throw RecordingError(table_ + "." + std::string(column) + ": " + what);
  }

 private:
  std::string table_;
  Statement statement_;
  bool row_;
};

}  // namespace gearshift
