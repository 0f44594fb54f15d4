// The cap that a battery sets: what is left of it is planned over the work that is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/limit_source.h"
#include "limits/battery_gauge.h"
#include "limits/battery_plan.h"
#include "limits/drain_meter.h"
#include "limits/forecast_drain.h"
#include "limits/forecast_plan.h"
#include "limits/trained_samples.h"
#include "limits/voltage_ceiling.h"
#include "limits/work_table.h"

namespace gearshift {

struct BatteryLimitOptions {
  BatteryAim aim = BatteryAim::progress;
  std::uint32_t epochs = 0;         // of the managed training; finish and least_energy
  std::optional<Duration> until{};  // from the first tick: serve and least_energy need it
  double reserve_share = 0.2;       // of the capacity: below it the workloads wait
  double resume_share = 0.05;       // so much above the reserve they go on, at least
  double checkpoint_share = 0.03;   // so much above it who can save its work does; 0: never
  double capacity_wh = 0;           // where the gauge does not tell; 0: the most it ever showed
  // At the terminals: below it the lowest mode is held, and while nobody reads the voltage.
  std::optional<double> brownout_v{};
  // That the battery ever gives; 0: the highest power known, what was measured to flow beside it
  // included, and a half more.
  double most_w = 0;
  double pause_w = 0;  // of the board without work; above 0 a plan may pause the workloads
  // Of what charges the battery, for `serve`; what else flows is then not measured. It is counted
  // on for the share that is reached with this confidence.
  std::vector<ForecastStep> forecast{};
  double confidence = 0.95;
  double forecast_deviation = 0.15;
  Duration replan = std::chrono::seconds(5);
  Duration cycle = std::chrono::seconds(60);  // in which a plan takes its two turns
  Duration stale_after = std::chrono::seconds(30);

  // So much above the reserve, of the capacity, do workloads that wait go on: never where work that
  // is saved at `checkpoint` above it would be saved again at once.
  double resumes_above(double checkpoint) const {
    constexpr double kAboveSaving = 0.02;
    return std::max(resume_share, checkpoint + kAboveSaving);
  }
};

// What settings are expected to do for a workload that came; empty where nothing is known.
using PredictWork = std::function<WorkPrediction(const Workload&)>;

// What the limit does now.
enum class BatteryState : std::uint8_t {
  unknown,    // no energy was ever read, or none yet after a gap: the lowest mode
  planned,    // follows the plan
  done,       // the work is done: the lowest mode
  brown_out,  // the voltage sagged, or may have unread: the lowest mode
  reserve,    // nothing above the reserve is left: the workloads wait
  low,        // as planned, but the reserve is near: work is saved, and who has waits
};
std::string_view battery_state_name(BatteryState state);

// How it plans is in battery_replan.cpp.
class BatteryLimit : public LimitSource {
 public:
  // `predict` may be empty: nothing is then known until it is measured, and no plan caps until
  // then.
  explicit BatteryLimit(const BatteryLimitOptions& options, PredictWork predict = {});

  std::string_view name() const override { return "battery"; }
  void consume(const Event& event) override;
  void read(const Reading& reading) override;
  void learn(const Observation& observation) override;
  // No cap while the plan is to be as fast as the board goes, or none can be made.
  Limit limit(Time now) override;
  // Turns then go no lower, but for a mean power that is lower still, which takes none.
  void serve_above(std::int64_t power_mw) override;
  // A plan caps no lower for what the others say, which may be gone soon; it tells what comes of
  // the work if that stays.
  void hear(const Prevailing& prevailing) override { prevailing_ = prevailing; }

  BatteryState state() const { return state_; }
  const BatteryPlan& plan() const { return plan_; }
  // Of a number of samples, if the others' cap that stands below the plan's power stays; nullopt
  // where none does.
  const std::optional<BatteryPlan>& plan_within_others() const { return plan_within_others_; }
  // What is planned for: progress where the samples that are left cannot be counted, and once the
  // time to serve until is over.
  BatteryAim aim() const;
  std::uint32_t brown_outs() const { return brown_outs_; }
  // The gauge was not read lately: what is surely left may be less than it told.
  bool gauge_late() const { return gauge_.late(); }
  // "planned: 12.4 W and 28.1 W in turns, ...", for people.
  std::string describe() const;

 private:
  void attach(const Workload& workload);
  void detach(WorkloadHandle handle);
  void choose_workload();
  // Why progress is planned for another aim; empty where it is not.
  std::string_view why_progress() const;
  void watch_time(Time now);
  bool awaits_reading(Time now) const;
  BatteryState judge(Time now);
  std::optional<double> drawn_w(Time now) const;
  bool browned_out(Time now);
  double share_wh(double share) const { return share * gauge_.capacity_wh(options_.capacity_wh); }
  double reserve_wh() const { return share_wh(options_.reserve_share); }
  double checkpoint_share() const { return savers_.empty() ? 0 : options_.checkpoint_share; }
  // That a battery gives, where nobody says it: so much at least.
  static constexpr double kMostPowerUnknownW = 100;
  double most_w(Time now) const;
  void learn_drain(const DrainWindow& window);
  ForecastBattery forecast_battery() const;
  void replan(Time now);
  void plan_forecast(const BatteryTask& task, Time now);
  void keep_serving();
  BatteryTask task(Time now) const;
  std::optional<std::int64_t> planned_mw(Time now);
  std::optional<std::int64_t> planned_pause_mw(Time now);
  std::optional<std::int64_t> ceiling_mw(Time now);
  double samples_left() const;

  BatteryLimitOptions options_;
  PredictWork predict_;
  BatteryGauge gauge_;
  DrainMeter drain_;
  ForecastDrain forecast_drain_;
  WorkTable table_;
  bool table_changed_ = true;
  PowerHull hull_;
  std::optional<ForecastPlan> forecast_;
  double forecast_other_w_ = 0;  // that it was made with
  BatteryPlan plan_;
  Prevailing prevailing_;
  std::optional<BatteryPlan> plan_within_others_;
  double serves_w_ = 0;  // the least power at which requests are answered; 0: none is needed
  BatteryState state_ = BatteryState::unknown;
  std::optional<Time> started_;
  std::optional<Time> planned_;
  bool time_is_over_ = false;  // that was to be served

  bool ends_soon_ = false;  // the reserve is near, or reached, and was not left by enough since

  std::array<std::optional<Workload>, kKinds> attached_;  // the managed ones
  std::optional<Workload> workload_;                      // that the table is of
  std::optional<Workload> training_;                      // the newest
  TrainedSamples done_;                                   // of it, however often it came back
  std::vector<WorkloadHandle> savers_;  // those attached that save their work when they are asked

  Time cycle_began_{};
  double cycle_s_ = 0;  // how long it lasts
  WorkPoint cycle_low_;
  WorkPoint cycle_high_;
  double cycle_share_ = 0;  // of the higher power, in this cycle
  std::optional<std::int64_t> low_mw_;
  std::optional<std::int64_t> high_mw_;
  std::optional<Reading> power_;  // the board's newest that is ok
  VoltageCeiling ceiling_;        // at which the voltage does not sag below the threshold
  Time browned_out_{};
  bool blind_ = false;  // no voltage is read that would show a brown-out
  std::uint32_t brown_outs_ = 0;
};

}  // namespace gearshift
