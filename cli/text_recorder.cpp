#include "cli/text_recorder.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace gearshift {
namespace {

// A live line that wraps could not be drawn over.
std::size_t columns() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

TextRecorder::TextRecorder(const KnobSpace& space)
    : space_(space),
      text_(space),
      logger_(std::make_shared<spdlog::logger>(
          "gearshift", std::make_shared<spdlog::sinks::stdout_color_sink_st>())),
      terminal_(isatty(STDOUT_FILENO) == 1) {
  logger_->set_pattern("%H:%M:%S %^%v%$");
  logger_->flush_on(spdlog::level::info);
}

TextRecorder::~TextRecorder() { finish(); }

void TextRecorder::note(const Note& note) {
  const std::string line = text_.line(note);
  if (line.empty()) return;
  finish();
  logger_->log(NoteText::warns(note.type) ? spdlog::level::warn : spdlog::level::info, line);
}

void TextRecorder::status(const Status& status) {
  if (!terminal_) return;
  // Twice a second is as fast as people read.
  if (drawn_ && status.time - *drawn_ < std::chrono::milliseconds(500)) return;
  drawn_ = status.time;
  std::printf("\r\033[K%s", status_line(space_, status).substr(0, columns() - 1).c_str());
  std::fflush(stdout);
}

void TextRecorder::finish() {
  if (terminal_ && drawn_) std::printf("\r\033[K");
  drawn_.reset();
}

}  // namespace gearshift
