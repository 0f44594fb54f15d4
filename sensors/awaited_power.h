// Stands where no power can be read, and tries its source again: a driver may be loaded late.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sensors/awaited_reason.h"
#include "sensors/sampler.h"

namespace gearshift {

// Power is missing until the source can be opened, and what the source says from then on.
class AwaitedPower : public BlockingSensor {
 public:
  // Opens the source; null while it cannot be, and why not is added to the findings. Called from
  // the thread that reads.
  using Open = std::function<std::unique_ptr<Sensor>(std::vector<std::string>& findings)>;

  // `why` there is none at the start, for people. The source is tried with the first read, and then
  // so often.
  AwaitedPower(std::string why, Open open, Duration every)
      : why_(std::move(why)), open_(std::move(open)), every_(every) {}

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  // An opening in progress ends first.
  void interrupt() noexcept override { interrupted_.store(true, std::memory_order_relaxed); }

 private:
  AwaitedReason why_;
  const Open open_;
  const Duration every_;
  std::unique_ptr<Sensor> source_;
  std::optional<Time> tried_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace gearshift
