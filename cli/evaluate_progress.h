// How far an evaluation is, on standard error, and whether a signal has stopped it.
#pragma once

#include <csignal>
#include <cstddef>
#include <string_view>

#include "cli/progress_line.h"
#include "evaluation/case_run.h"

namespace gearshift {

// On a terminal one line that is written over; elsewhere a line at first and every ten seconds.
class EvaluateProgress : public CaseWatch {
 public:
  // `keeps`: finished cases are kept. Then SIGINT and SIGTERM are blocked, for the threads that
  // start afterwards too, so as to ask for them; else they end the program, and nothing is lost by
  // that. `what`: that are counted.
  explicit EvaluateProgress(bool keeps, std::string_view what = "rows");
  void progress(std::size_t done, std::size_t known, std::size_t total) override;
  // By the first signal; a second one ends the program, however long a case takes.
  bool stopped() override;
  // Ends the line that was written over. Signals end the program again: nobody asks for them now.
  void end();
  double seconds_elapsed() const { return line_.elapsed_s(); }

 private:
  ProgressLine line_;
  const bool keeps_;
  const std::string_view what_;
  bool stopped_ = false;
  sigset_t signals_{};
};

}  // namespace gearshift
