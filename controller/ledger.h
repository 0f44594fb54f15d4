// Adds up what a run cost: energy, time over the cap, and the epochs of each kind of workload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/setting.h"

namespace gearshift {

// One epoch as its minibatches were reported. Stall and compute are sums over the minibatches, as
// the papers define them; `energy_j` is whole-board energy from its first to its last minibatch.
// Another workload's epoch of the same number is another one.
struct Epoch {
  std::uint32_t number = 0;
  WorkloadHandle workload = 0;
  // All of it was reported: it has its workload's samples of an epoch, or another one of the same
  // workload came before it, or it is number 0, and another one behind it.
  bool complete = false;
  std::uint64_t minibatches = 0;
  std::uint64_t samples = 0;
  Duration elapsed{};
  Duration fetch_stall{};
  Duration compute{};
  double energy_j = 0;
};

// What became of the requests that were reported.
struct Requests {
  std::uint64_t arrived = 0;
  std::uint64_t served = 0;
  std::uint64_t late = 0;     // refused and dropped ones too
  std::uint64_t refused = 0;  // or dropped
  Duration latency_max{};
};

// Keeps at most kMostEpochs epochs a kind; later ones are added up in the last.
class Ledger {
 public:
  static constexpr std::size_t kMostEpochs = 1024;
  Ledger();

  // `samples_per_epoch`: of its workload, as that said; 0: unknown.
  void add(const Minibatch& minibatch, std::int64_t samples_per_epoch = 0);
  void add(const RequestReport& report);
  // Integrates windowed power since the last call. Unknown power adds nothing.
  void tick(Time now, std::optional<std::int64_t> power_mw, std::optional<std::int64_t> cap_mw);

  const Requests& requests() const { return requests_; }
  double energy_j() const { return energy_j_; }
  double over_cap_s() const { return over_cap_s_; }
  double over_cap_j() const { return over_cap_j_; }
  const std::vector<Epoch>& epochs(Kind kind) const { return epochs_[index(kind)]; }

 private:
  // Energy that belongs to an epoch only if another minibatch of its kind arrives: after the last
  // one the board may idle for hours.
  struct Unclaimed {
    double energy_j = 0;
    double span_s = 0;
    double arrived_s = 0;  // minibatch time reported since the last tick
    bool arrived = false;
    bool opened = false;  // an epoch began since the last tick
  };
  static void claim(Unclaimed& unclaimed, Epoch& epoch);

  std::array<std::vector<Epoch>, kKinds> epochs_;
  std::array<Unclaimed, kKinds> unclaimed_{};
  Requests requests_;
  std::optional<Time> last_;
  double energy_j_ = 0;
  double over_cap_s_ = 0;
  double over_cap_j_ = 0;
};

}  // namespace gearshift
