#include "sensors/nvml_power.h"

#include <chrono>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

// Counters move every 20 to 100 ms, and are looked at every 10: over less than this their steps
// would show.
constexpr Duration kLeastSpan = std::chrono::milliseconds(80);
constexpr int kLearntMoves = 8;
constexpr Duration kStandsStill = std::chrono::seconds(1);
constexpr int kGa100 = 80;  // of Ampere, it alone reports the present power

std::string of_gpu(const NvmlGpu& gpu) { return gpu.name() + ", " + gpu.uuid(); }

std::string meaning_of_power(const NvmlGpu& gpu) {
  if (!gpu.capability()) return "the power NVML reports, over an unknown time";
  return *gpu.capability() > kGa100
             ? "the power NVML reports; where the driver offers no instant power, a mean over 1 s, "
               "so that a reading lags"
             : "the present power";
}

}  // namespace

std::unique_ptr<NvmlPower> NvmlPower::open(const PowerDescription& power, Sysroot& root,
                                           std::vector<std::string>& findings) {
  try {
    NvmlGpu gpu(root, power.gpu);
    gpu.power_mw();
    bool counts = false;
    try {
      counts = gpu.energy_mj() > 0;
    } catch (const NvmlError&) {
      // Before Volta there is no counter.
    }
    findings.push_back(
        "power: NVML, " + of_gpu(gpu) + ": " +
        (counts ? "the energy counter, a mean over 100 ms or more" : meaning_of_power(gpu)) +
        "; of the GPU's board alone, not of the machine");
    return std::unique_ptr<NvmlPower>(new NvmlPower(std::move(gpu), counts, power));
  } catch (const NvmlError& error) {
    findings.push_back(std::string("power: NVML cannot be used: ") + error.what());
    return nullptr;
  }
}

NvmlPower::NvmlPower(NvmlGpu gpu, bool counts, const PowerDescription& power)
    : gpu_(std::move(gpu)), counts_(counts), plausible_max_mw_(power.plausible_max_mw) {}

void NvmlPower::take(std::int64_t power_mw, Time now) {
  const bool absurd = power_mw <= 0 || power_mw > plausible_max_mw_;
  const ReadingState state = absurd ? ReadingState::absurd : ReadingState::ok;
  reading_ = {Quantity::power, state, false, 0, power_mw, now};
}

void NvmlPower::ask(Time now) { take(gpu_.power_mw(), now); }

// Nullopt where the driver does not offer the counter any more. Throws NvmlError.
std::optional<std::int64_t> NvmlPower::look() {
  try {
    return gpu_.energy_mj();
  } catch (const NvmlError& error) {
    const bool ended =
        error.code() == NvmlCode::not_supported || error.code() == NvmlCode::function_not_found;
    if (!ended) throw;
    return std::nullopt;
  }
}

void NvmlPower::count(Time now) {
  if (now < due_) return;
  const std::optional<std::int64_t> counter_mj = look();
  if (!counter_mj) {
    energy_mj_.reset();
    forget_pace(now);
    ask(now);
    return;
  }
  const std::int64_t energy_mj = *counter_mj;
  if (!energy_mj_ || energy_mj < *energy_mj_) {
    reason_ = energy_mj_ ? "the energy counter went back: the driver was restarted"
                         : "a power needs two readings of the energy counter";
    reading_ = {Quantity::power, ReadingState::missing, false, 0, 0, now};
    count_from(energy_mj, now);
    return;
  }
  if (energy_mj == seen_mj_) {
    stands_still_ = now - moved_ > kStandsStill;
    if (!stands_still_) return;
    ask(now);
    due_ = Time{};
    return;
  }
  if (stands_still_) {
    ask(now);
    count_from(energy_mj, now);
    return;
  }
  seen_mj_ = energy_mj;
  learn_pace(now);
  const Duration elapsed = now - counted_;
  if (elapsed < kLeastSpan) return;
  // mJ / ns is MW.
  const double used_mj = static_cast<double>(energy_mj - *energy_mj_);
  take(std::llround(used_mj * 1e9 / static_cast<double>(elapsed.count())), now);
  energy_mj_ = energy_mj;
  counted_ = now;
}

void NvmlPower::count_from(std::int64_t energy_mj, Time now) {
  energy_mj_ = seen_mj_ = energy_mj;
  counted_ = now;
  stands_still_ = false;
  forget_pace(now);
}

// The counter has moved. Once its pace is known it is not looked at before nine tenths of that: a
// look then finds it as it was, and the next one that it moved. The pace is learnt while it is
// looked at all the time: between looks that wait for it, it would seem to be theirs.
void NvmlPower::learn_pace(Time now) {
  if (moves_ < kLearntMoves) {
    ++moves_;
    pace_ = (now - learns_since_) / moves_;
  }
  moved_ = now;
  if (moves_ == kLearntMoves) due_ = now + pace_ * 9 / 10;
}

void NvmlPower::forget_pace(Time since) {
  moves_ = 0;
  learns_since_ = moved_ = since;
  due_ = Time{};
}

void NvmlPower::read(Time now, std::vector<Reading>& readings) {
  try {
    counts_ ? count(now) : ask(now);
  } catch (const NvmlError& error) {
    reason_ = error.what();
    reading_ = {Quantity::power, ReadingState::missing, false, 0, 0, now};
    energy_mj_.reset();
    due_ = Time{};
  }
  readings.push_back(reading_);
}

std::string NvmlPower::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  if (reading.state == ReadingState::missing) return reason_;
  if (reading.value == 0) return "0 mW, which a GPU that runs cannot draw";
  return std::to_string(reading.value) + " mW is outside 0 to " +
         std::to_string(plausible_max_mw_) + " mW";
}

}  // namespace gearshift
