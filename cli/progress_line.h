// One line on standard error that tells how far a long command is.
#pragma once

#include <optional>
#include <string>

#include "cli/boottime_clock.h"

namespace gearshift {

// "1:02:03", or "2:03" below an hour.
std::string clock_text(double whole_s);

// On a terminal one line that is written over; elsewhere a line every ten seconds.
class ProgressLine {
 public:
  ProgressLine();

  bool terminal() const { return terminal_; }
  // Of real time, since this was made.
  double elapsed_s() const { return gearshift::seconds(clock_.now() - began_); }
  // Whether it is time to say more. The first time is `first` after the beginning, on a terminal
  // `every` after the last, elsewhere ten seconds.
  bool due(Duration first, Duration every);
  // `share` of the whole is done, which a terminal sees as a bar; nullopt where nobody knows.
  void show(std::optional<double> share, const std::string& text) const;
  // Takes the line that is written over off the terminal.
  void clear() const;

 private:
  const BoottimeClock clock_;
  const Time began_;
  const bool terminal_;
  std::optional<Time> shown_;
};

}  // namespace gearshift
