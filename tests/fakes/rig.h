// The loop on fakes: hardware, world, board, a policy that follows a list, and a recorder.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "limits/operator_limit.h"
#include "tests/fakes/fake_world.h"

namespace gearshift::fakes {

inline const PowerMode kFast = mode(4, 900000);    // 22 W loaded
inline const PowerMode kMiddle = mode(3, 600000);  // 17 W
inline const PowerMode kSlow = mode(1, 300000);    // 10 W, the safe mode

inline Setting setting_of(const PowerMode& mode) {
  Setting setting;
  setting.mode = mode;
  return setting;
}

struct Rig {
  explicit Rig(ListPolicy::Decide decide, Duration end = std::chrono::seconds(60),
               std::optional<std::int64_t> cap_mw = std::nullopt, std::vector<PowerMode> modes = {})
      : world(hardware, end),
        board(fake_board(hardware, std::move(modes))),
        policy(std::move(decide)),
        limit(cap_mw) {}

  void run() {
    LimitSource* limits[] = {&limit};
    Controller controller(world, board, policy, recorder, limits, options);
    controller.run();
    summary = controller.summary();
    over_cap_s = controller.ledger().over_cap_s();
  }
  Time time_of(NoteType type, std::size_t i = 0) const { return recorder.of(type).at(i).time; }

  Hardware hardware;
  FakeWorld world;
  Board board;
  ListPolicy policy;
  OperatorLimit limit;
  KeepingRecorder recorder;
  ControllerOptions options;
  Summary summary;
  double over_cap_s = 0;
};

}  // namespace gearshift::fakes
