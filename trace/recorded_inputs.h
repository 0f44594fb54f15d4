// Wrappers that hand a recorder what the board, the limits and the world answer to the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/actuator.h"
#include "controller/limit_source.h"
#include "controller/sensor.h"
#include "controller/think_time.h"
#include "controller/world.h"
#include "trace/recording_writer.h"

namespace gearshift {

// Every one borrows the writer, which outlives it.

// Records every write, and a read whose answer differs from the last one of its knob: knobs are
// read back each tick and hardly ever change.
class RecordedActuator : public Actuator {
 public:
  RecordedActuator(std::unique_ptr<Actuator> actuator, RecordingWriter& writer);

  const KnobSpace& knobs() const override { return actuator_->knobs(); }
  Progress write(std::size_t knob, std::int64_t value) override;
  std::optional<Time> wrote() const override { return actuator_->wrote(); }
  std::optional<std::int64_t> read(std::size_t knob) override;
  void manage(std::int32_t pid, Kind kind) override;
  void restore() override;

 private:
  std::unique_ptr<Actuator> actuator_;
  RecordingWriter& writer_;
  std::vector<std::optional<std::optional<std::int64_t>>> answered_;  // a knob; nullopt: never read
};

// Its readings reach the recorder with the tick; this adds why one is missing.
class RecordedSensor : public Sensor {
 public:
  RecordedSensor(std::unique_ptr<Sensor> sensor, RecordingWriter& writer)
      : sensor_(std::move(sensor)), writer_(writer) {}

  void read(Time now, std::vector<Reading>& readings) override { sensor_->read(now, readings); }
  std::string explain(const Reading& reading) const override;
  void look_closely(bool closely) override { sensor_->look_closely(closely); }

 private:
  std::unique_ptr<Sensor> sensor_;
  RecordingWriter& writer_;
};

// Records the cap when it changes, so that replay needs to know nothing of where it came from.
class RecordedLimit : public LimitSource {
 public:
  // `limit` is borrowed; `source` is its place in RecordingHeader::limits.
  RecordedLimit(LimitSource& limit, std::uint32_t source, RecordingWriter& writer)
      : limit_(limit), source_(source), writer_(writer) {}

  std::string_view name() const override { return limit_.name(); }
  void consume(const Event& event) override { limit_.consume(event); }
  void read(const Reading& reading) override { limit_.read(reading); }
  void learn(const Observation& observation) override { limit_.learn(observation); }
  void serve_above(std::int64_t power_mw) override { limit_.serve_above(power_mw); }
  void hear(const Prevailing& prevailing) override { limit_.hear(prevailing); }
  Limit limit(Time now) override;

 private:
  LimitSource& limit_;
  std::uint32_t source_;
  RecordingWriter& writer_;
  Limit answered_;  // at first no cap, which is what replay begins with
};

// Records script texts as they are taken, and what the workloads are asked for.
class RecordedWorld : public World {
 public:
  // `world` is borrowed.
  RecordedWorld(World& world, RecordingWriter& writer) : world_(world), writer_(writer) {}

  Time wait_until(Time deadline, EventBuffer& events) override {
    return world_.wait_until(deadline, events);
  }
  void command(WorkloadHandle workload, const WorkloadCommand& command) override;
  std::string_view script() override;
  void publish(const Status& status) override { world_.publish(status); }

 private:
  World& world_;
  RecordingWriter& writer_;
};

// Records at which look a script had thought too long.
class RecordedThinkTime : public ThinkTime {
 public:
  // `time` is borrowed.
  RecordedThinkTime(ThinkTime& time, RecordingWriter& writer) : time_(time), writer_(writer) {}

  void begin() override { time_.begin(); }
  bool over() override;

 private:
  ThinkTime& time_;
  RecordingWriter& writer_;
  std::int64_t looks_ = 0;
};

// A board's parts, each of them recorded.
std::unique_ptr<Actuator> recorded(std::unique_ptr<Actuator> actuator, RecordingWriter& writer);
std::vector<std::unique_ptr<Sensor>> recorded(std::vector<std::unique_ptr<Sensor>> sensors,
                                              RecordingWriter& writer);

}  // namespace gearshift
