// The memory clock (EMC), locked through the power processor's debugfs.
#include <algorithm>
#include <utility>
#include <vector>

#include "actuators/knob_control.h"
#include "actuators/number_list.h"
#include "boards/clock_units.h"

namespace gearshift {
namespace {

// nvpmodel's limit, in Hz, where JetPack 6 and where 4 and 5 have it; 0 and a missing file both
// mean that there is none.
constexpr std::string_view kCaps[] = {"/sys/kernel/nvpmodel_clk_cap/emc",
                                      "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap"};

// The files are in Hz, the knob and the table in kHz.
class MemoryClock : public KnobControl {
 public:
  MemoryClock(Knob knob, KnobFile lock, KnobFile state, KnobFile rate, std::optional<KnobFile> cap)
      : KnobControl(std::move(knob)),
        lock_(std::move(lock)),
        state_(std::move(state)),
        rate_(std::move(rate)),
        cap_(std::move(cap)) {
    if (cap_) found_cap_ = cap_->file.try_read_integer().value_or(0);
  }

  void save(KnobJournal& journal) override {
    if (cap_) journal.save(SavedRole::memory_cap, cap_->path, cap_->file.read());
    journal.save(SavedRole::memory_rate, rate_.path, rate_.file.read());
    journal.save(SavedRole::memory_state, state_.path, state_.file.read());
    journal.save(SavedRole::memory_lock, lock_.path, lock_.file.read());
  }

  Progress write(std::int64_t value, KnobJournal&) override {
    const std::int64_t rate_hz = value * kHzInKhz;
    if (lock_.file.read_integer() != 1) lock_.file.write("1");
    if (state_.file.read_integer() != 1) state_.file.write("1");
    // A cap is raised before the rate that needs it, and goes back after it.
    const std::int64_t cap_hz = found_cap_ == 0 ? 0 : std::max(found_cap_, rate_hz);
    const std::int64_t cap_now_hz = cap_hz == 0 ? 0 : cap_->file.read_integer();
    if (cap_hz > cap_now_hz) cap_->file.write(std::to_string(cap_hz));
    rate_.file.write(std::to_string(rate_hz));
    if (cap_hz < cap_now_hz) cap_->file.write(std::to_string(cap_hz));
    const std::optional<std::int64_t> actual_hz = rate_.file.try_read_integer();
    if (actual_hz == rate_hz) return read_back_.taken();
    return read_back_.not_taken(knob_, value,
                                actual_hz ? std::optional(*actual_hz / kHzInKhz) : std::nullopt,
                                rate_.file.path());
  }

  std::optional<std::int64_t> read() override {
    const std::optional<std::int64_t> rate_hz = rate_.file.try_read_integer();
    return rate_hz ? std::optional(*rate_hz / kHzInKhz) : std::nullopt;
  }

 private:
  KnobFile lock_;
  KnobFile state_;
  KnobFile rate_;
  std::optional<KnobFile> cap_;
  std::int64_t found_cap_ = 0;  // Hz; 0: none
  ReadBack read_back_;
};

}  // namespace

std::unique_ptr<KnobControl> open_memory_clock(const KnobDescription& description, Sysroot& root,
                                               std::string& finding) {
  const std::string clock = description.path + "/clk/emc";
  try {
    KnobFile lock(root, clock + "/mrq_rate_locked");
    KnobFile state(root, clock + "/state");
    KnobFile rate(root, clock + "/rate");
    rate.file.read_integer();
    std::optional<KnobFile> cap;
    for (const std::string_view path : kCaps) {
      if (!cap && root.exists(path)) cap.emplace(root, std::string(path));
    }
    Knob knob = description.knob;
    const ClockTable table =
        parse_clock_table(root.try_read(description.path + "/emc/possible_rates").value_or(""));
    if (!table.khz.empty()) knob.values = table.khz;
    finding = "memory clock at " + clock + ", " + std::to_string(knob.values.size()) + " rates " +
              table.origin();
    return std::make_unique<MemoryClock>(std::move(knob), std::move(lock), std::move(state),
                                         std::move(rate), std::move(cap));
  } catch (const FileError& error) {
    throw KnobError(std::string(error.what()) +
                    "; the memory clock needs root and a kernel with debugfs");
  }
}

}  // namespace gearshift
