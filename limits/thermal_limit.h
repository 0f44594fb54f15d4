// The cap that keeps a board's thermal zones below the temperatures at which it is slowed down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/limit_source.h"
#include "limits/heat_estimate.h"

namespace gearshift {

// A zone and how hot it may become.
struct ThermalZoneLimit {
  std::uint8_t channel = 0;  // of its readings
  double limit_c = 0;
  std::string type{};  // of the zone, for people
  // Whether it really tells a temperature is not known: it is no danger until it has told one that
  // can be believed.
  bool may_be_dummy = false;
};

// Whether it tells how hot a zone is. Exactly zero is a failed sensor's word.
bool tells_temperature(const Reading& reading);

struct ThermalLimitOptions {
  std::vector<ThermalZoneLimit> zones{};
  // A power is allowed that keeps the limits for so long: what is over sooner may be warmer than
  // what lasts. The cap falls as the board warms up.
  Duration horizon = std::chrono::minutes(2);
  // A zone that was not read for so long, or reads what cannot be, is danger: the lowest mode. A
  // block that is powered down has no temperature, and is none.
  Duration stale_after = std::chrono::seconds(10);
};

class ThermalLimit : public LimitSource {
 public:
  explicit ThermalLimit(ThermalLimitOptions options);

  std::string_view name() const override { return "thermal"; }
  void consume(const Event&) override {}
  void read(const Reading& reading) override;
  // No cap while more is allowed than the board ever drew.
  Limit limit(Time now) override;

  const std::vector<ThermalZoneLimit>& zones() const { return options_.zones; }
  Duration stale_after() const { return options_.stale_after; }
  // Whether the zone of this channel is danger, because it cannot be read.
  bool lost(std::uint8_t channel, Time now) const;

 private:
  struct Zone {
    ThermalZoneLimit limit{};
    HeatEstimate estimate{};
    std::optional<double> temperature_c{};
    Time read{};  // last, or powered down; when it can be believed
    bool off = false;
    bool told = false;           // a temperature, ever
    std::optional<Time> felt{};  // up to when the estimate knows what the zone has felt
    // What was read before one sample that rose by more than a zone falls; nullopt once another
    // sample bears it out, or it was taken back.
    std::optional<double> before_c{};
    std::optional<Time> falls_back{};  // since when the samples agree with what was before
    bool taken_back = false;           // since the last judgement

    bool cooled_too_fast(double to_c, Time taken) const;
    // Whether the temperature was one glitch of the sensor.
    bool take_back(double to_c, Time taken);
    double learnt_c() const { return before_c.value_or(*temperature_c); }
  };

  void take(Zone& zone, const Reading& reading);
  void judge(Time now);
  void feel(Time now);
  bool lost(const Zone& zone, Time now) const {
    if (zone.limit.may_be_dummy && !zone.told) return false;
    return now - zone.read > options_.stale_after;
  }
  std::optional<double> allowed_w(const Zone& zone, Time now) const;
  void follow(std::optional<double> allowed_w, Time now);

  ThermalLimitOptions options_;
  std::vector<Zone> zones_;
  std::optional<Time> judged_;
  double power_sum_w_ = 0;
  int power_count_ = 0;
  double highest_w_ = 0;  // mean of the board's power over a second, ever
  bool danger_ = false;   // a zone cannot be read
  std::optional<std::int64_t> cap_mw_;
  Time tight_{};  // when the cap was last no more than was allowed
};

}  // namespace gearshift
