// Reads a sensor whose reads block (430 ms a file on JetPack 5) in a thread of its own, so that the
// control loop never waits for one. The thread is this file's purpose: it sleeps between two reads
// and reads the clock to stamp each reading. Values are handed over, never references.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/clock.h"
#include "controller/sensor.h"

namespace gearshift {

// A sensor whose read may block for long.
class BlockingSensor : public Sensor {
 public:
  // Makes a read in progress return after the file it is reading, with missing readings; every
  // later read returns at once. Called from another thread than read.
  virtual void interrupt() noexcept = 0;
};

// What a read from `begin` to `end` shows is what was at this time: one that waits for the
// processor shows what was at any time of it, one that blocks for the sensor what was at its end.
Time shown_at(Time begin, Time end);

class Sampler : public Sensor {
 public:
  // Starts the thread, which reads `sensor` every `period`, or as fast as it answers if that is
  // slower. `clock` must outlive the sampler. Throws std::system_error where the machine is out of
  // descriptors or threads.
  Sampler(std::unique_ptr<BlockingSensor> sensor, const Clock& clock, Duration period);
  // Stops within the file read in progress: a blocking read cannot be cut shorter.
  ~Sampler() override;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // The newest readings, with the times they were taken at: one that hangs grows old in the
  // reader's eyes. One missing power reading before the first has ended. Does not block.
  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  // From now on every kClosePeriod, or every period again. The read in progress ends first.
  void look_closely(bool closely) override;
  // Becomes readable at every new set of readings; see OpenedSensors::wake_descriptor.
  int wake_descriptor() const { return wake_descriptor_; }

 private:
  struct Explanation {
    Quantity quantity;
    std::uint8_t channel;
    std::string text;
  };

  void run();
  void rest(std::unique_lock<std::mutex>& lock, Duration since_begin);

  const std::unique_ptr<BlockingSensor> sensor_;
  const Clock& clock_;
  const Duration period_;
  int wake_descriptor_ = -1;
  mutable std::mutex mutex_;  // guards everything below it but the thread
  std::condition_variable stopping_;
  bool stop_ = false;
  bool closely_ = false;
  std::vector<Reading> newest_;
  std::vector<Explanation> explanations_;
  std::thread thread_;
};

}  // namespace gearshift
