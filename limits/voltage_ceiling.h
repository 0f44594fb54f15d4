// The power that a battery's voltage holds, by its charge: learnt from the sags that were seen.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gearshift {

// What sagged at some power does so again at the same charge, and at a lower one: the ceiling is
// 85 % of that power there. The more a battery holds, the more its voltage bears: for each step
// more than it held at the sag, a twentieth of its capacity say, the ceiling is raised by so much
// again. It is not lifted at once: what has been charged by one step sags at little more.
class VoltageCeiling {
 public:
  // The voltage sagged at `power_w` of the board, W, while the battery held `energy_wh`.
  void sagged(double power_w, double energy_wh);
  // It came back while the board drew `power_w`, W, in the lowest mode: the ceiling leaves that,
  // and a little more for noise.
  void recovered(double power_w);
  // Whether any sag is known.
  bool learnt() const { return !sags_.empty(); }
  // The most that the board may draw, W; nullopt where no sag is known. A ceiling that was raised
  // falls again half a step below where it was, so that one does not move with a gauge's noise.
  // Where `step_wh` is not above 0 none is raised.
  std::optional<double> power_w(double energy_wh, double step_wh);

 private:
  struct Sag {
    double energy_wh = 0;
    double ceiling_w = 0;
    double steps = 0;  // by which its ceiling is raised now
  };
  // None that another one says too: of two the one at a higher charge has the higher ceiling. Each
  // has another by a step of charge or by 15 % of power, so that there are some dozens at most.
  std::vector<Sag> sags_;
  double recovered_w_ = 0;  // the most that it came back at
};

}  // namespace gearshift
