// Feeds the bytes of a file to the reader of recordings and plays back what it accepts: nothing but
// a RecordingError may come out, and the loop must get to the end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "trace/recording_profile.h"
#include "trace/replay.h"

namespace {

// Holds the fastest mode that the board has, where it is given the time to say so.
class FastestPolicy : public gearshift::Policy {
 public:
  explicit FastestPolicy(gearshift::ThinkTime& time) : time_(time) {}

  gearshift::Request start(const gearshift::PolicyContext& context) override {
    gearshift::Request request;
    if (time_.over()) {
      request.what = gearshift::Request::What::failed;
      return request;
    }
    request.what = gearshift::Request::What::hold;
    request.setting.mode = context.knobs->highest();
    for (const gearshift::Workload* workload : context.workloads) {
      if (workload == nullptr) continue;
      request.setting.batch_size[gearshift::index(workload->kind)] = workload->batch_size;
    }
    return request;
  }
  gearshift::Request resume(const gearshift::Observation&) override { return {}; }
  gearshift::Request replace(std::string_view, const gearshift::PolicyContext& context) override {
    return start(context);
  }
  std::string_view failure() const override { return {}; }
  std::string take_log() override { return {}; }

 private:
  gearshift::ThinkTime& time_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    gearshift::RecordingReader reader(bytes, "fuzz.db");
    gearshift::Replay replay(reader);
    FastestPolicy policy(replay.think_time());
    replay.run(policy);
    gearshift::RecordingReader again(bytes, "fuzz.db");
    gearshift::read_recorded_profiles(again);
  } catch (const gearshift::RecordingError& error) {
    if (std::string_view(error.what()).find("fuzz.db: ") != 0) std::abort();
  }
  return 0;
}
