// A small AGX Orin with a made-up workload that the board's model describes exactly, for tests of
// what predicts.
#pragma once

#include "boards/board_model.h"
#include "tests/policies/profile_problem.h"

namespace gearshift {

struct OrinProblem : PolicyProblem {
  explicit OrinProblem(Kind kind = Kind::train) {
    knobs.knobs = {
        {"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}},
        {"cpu_mhz", Unit::khz, KnobClass::clock, {422'400, 1'036'800, 1'651'200, 2'201'600}},
        {"gpu_mhz", Unit::khz, KnobClass::clock, {318'750, 624'750, 930'750, 1'300'500}},
        {"mem_mhz", Unit::khz, KnobClass::memory, {665'600, 2'133'000, 3'199'000}}};
    modes.clear();
    trainer.kind = kind;
    if (kind == Kind::train) {
      trainer.batch_size_count = 0;
    } else {
      trainer.batch_sizes = {1, 4, 16};
      trainer.batch_size_count = 3;
      trainer.batch_size = 1;
    }
  }

  static TrueCost cost(const BoardModel& board, const ModelMode& mode, double batch_size,
                       Kind kind = Kind::train) {
    const double share = kind == Kind::train ? 1 : 0.1 + batch_size / 16;
    const Demand demand{.A = 70 * share,
                        .B = 90 * share,
                        .L = 60 * share,
                        .P = 120 * share,
                        .O = 8 * share,
                        .workers = 4,
                        .kg = 9};
    const MinibatchCost one = minibatch_cost(board.parameters[index(kind)], demand, mode);
    return {one.minibatch_ms, one.power_w};
  }
  // The problem as a world to search in.
  ProfileWorld world(const BoardModel& board) const {
    const Kind kind = trainer.kind;
    const KnobSpace space = knobs;
    return {*this, [board, kind, space](const Setting& setting) {
              return cost(board, model_mode(space, setting.mode, board.highest),
                          setting.batch_size[index(kind)], kind);
            }};
  }
};

}  // namespace gearshift
