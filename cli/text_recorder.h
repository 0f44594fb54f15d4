// Tells a person what the loop does: a log line a decision, and one live line on a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cli/note_text.h"
#include "cli/outlet.h"
#include "controller/recorder.h"

namespace spdlog {
class logger;
}

namespace gearshift {

// Where lines go decides what each begins with.
enum class LogPlace : std::uint8_t {
  terminal,  // the time of day; lines are coloured, and a live line follows them
  file,      // or a pipe: the date too, since it may be kept
  journal,   // systemd's, which has its own date: the priority, "<4>" of warnings and "<6>"
};
LogPlace log_place_of(int descriptor);

class TextRecorder : public Recorder {
 public:
  // Both are borrowed; `place` is where `out` leads.
  TextRecorder(const KnobSpace& space, Outlet& out, LogPlace place);
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
  bool terminal_;
};

}  // namespace gearshift
