// The clock of the integrated GPU: its devfreq device pinned to one frequency.
#include <algorithm>
#include <vector>

#include "actuators/clock_watch.h"
#include "actuators/knob_control.h"
#include "actuators/limit_pair.h"
#include "actuators/number_list.h"
#include "boards/clock_units.h"

namespace gearshift {
namespace {

// devfreq counts in Hz, the knob in kHz.
class GpuClock : public KnobControl {
 public:
  GpuClock(Knob knob, LimitPair limits, std::optional<DeviceFile> current,
           std::optional<DeviceFile> railgated)
      : KnobControl(std::move(knob)),
        limits_(std::move(limits)),
        current_(std::move(current)),
        railgated_(std::move(railgated)) {}

  void save(KnobJournal& journal) override { limits_.save(journal); }

  Progress write(std::int64_t value, KnobJournal&) override {
    wanted_hz_ = value * kHzInKhz;
    watch_.expect(*wanted_hz_);
    limits_.pin(*wanted_hz_);
    if (limits_.pinned(*wanted_hz_)) return read_back_.taken();
    return read_back_.not_taken(knob_, value, read(), limits_.shown_path());
  }

  std::optional<std::int64_t> read() override {
    const auto limits = limits_.read();
    if (!limits) return std::nullopt;
    const std::int64_t limit_hz = held(*limits, wanted_hz_);
    if (limit_hz != wanted_hz_ || !current_) return limit_hz / kHzInKhz;
    // The limits hold what we wrote; the clock may still not follow them.
    const std::optional<std::int64_t> current_hz = current_->try_read_integer();
    if (!current_hz || *current_hz <= 0) return limit_hz / kHzInKhz;
    const bool stale = !ClockWatch::follows(*current_hz, limit_hz) && is_railgated();
    return (stale ? limit_hz : watch_.judge(*current_hz)) / kHzInKhz;
  }

 private:
  // A GPU without power keeps showing the clock that it went to sleep with.
  bool is_railgated() {
    if (!railgated_) return false;
    try {
      return railgated_->read() == "yes";
    } catch (const FileError&) {
      return false;
    }
  }

  LimitPair limits_;
  std::optional<DeviceFile> current_;
  std::optional<DeviceFile> railgated_;
  std::optional<std::int64_t> wanted_hz_;
  ClockWatch watch_;
  ReadBack read_back_;
};

// By the device tree's name; by the device's own ("17000000.ga10b") where there is no device tree
// to see, as in some containers.
bool is_gpu(const Sysroot& root, const std::string& path, const std::string& entry,
            const std::vector<std::string>& names) {
  const auto node = root.try_read(path + '/' + entry + "/device/of_node/name");
  const std::string name = node ? *node : entry.substr(entry.find('.') + 1);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string find_gpu(const KnobDescription& description, const Sysroot& root) {
  std::string others;
  for (const std::string& entry : root.list(description.path)) {
    if (is_gpu(root, description.path, entry, description.device_names)) {
      return description.path + '/' + entry;
    }
    others += (others.empty() ? "" : ", ") + entry;
  }
  std::string names;
  for (const std::string& name : description.device_names) {
    names += (names.empty() ? "" : " or ") + name;
  }
  throw KnobError("no device named " + names + " below " + description.path +
                  " (there: " + (others.empty() ? "nothing" : others) +
                  "); the node appears once the GPU was used, so use it and start again");
}

}  // namespace

std::unique_ptr<KnobControl> open_gpu_clock(const KnobDescription& description, Sysroot& root,
                                            std::string& finding) {
  const std::string folder = find_gpu(description, root);
  try {
    LimitPair limits(root, folder + "/min_freq", folder + "/max_freq");
    if (!limits.read()) throw KnobError(folder + " has limits that cannot be read");
    Knob knob = description.knob;
    const ClockTable table =
        parse_clock_table(root.try_read(folder + "/available_frequencies").value_or(""), kHzInKhz);
    if (!table.khz.empty()) knob.values = table.khz;
    finding = "GPU at " + root.resolve(folder) + ", " + std::to_string(knob.values.size()) +
              " frequencies " + table.origin();
    return std::make_unique<GpuClock>(std::move(knob), std::move(limits),
                                      root.try_open(folder + "/cur_freq"),
                                      root.try_open(folder + "/device/is_railgated"));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift
