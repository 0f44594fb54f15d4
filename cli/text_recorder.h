// Tells a person what the loop does: a log line a decision, and one live line on a terminal.
#pragma once

#include <memory>
#include <optional>

#include "cli/note_text.h"
#include "cli/outlet.h"
#include "controller/recorder.h"

namespace spdlog {
class logger;
}

namespace gearshift {

class TextRecorder : public Recorder {
 public:
  // Both are borrowed; `out` leads to standard output. The live line appears only where that is a
  // terminal.
  TextRecorder(const KnobSpace& space, Outlet& out);
  ~TextRecorder() override;
  void tick(const TickInputs&) override {}
  void note(const Note& note) override;
  void status(const Status& status) override;
  // Removes the live line.
  void finish();

 private:
  const KnobSpace& space_;
  Outlet& out_;
  NoteText text_;
  std::shared_ptr<spdlog::logger> logger_;  // spdlog's own type of handle
  std::optional<Time> drawn_;
  bool terminal_ = false;
};

}  // namespace gearshift
