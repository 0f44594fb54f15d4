#include "cli/text_recorder.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "cli/standard_output.h"

namespace gearshift {
namespace {

// A live line that wraps could not be drawn over.
std::size_t columns() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

const char* pattern_of(LogPlace place) {
  return place == LogPlace::terminal ? "%H:%M:%S %^%v%$"
         : place == LogPlace::file   ? "%Y-%m-%d %H:%M:%S %v"
                                     : "%v";
}

// The journal takes each line for an entry of its own.
std::string with_priority(std::string_view lines, spdlog::level::level_enum level) {
  const std::string_view priority = level == spdlog::level::warn ? "<4>" : "<6>";
  std::string text;
  bool begins = true;
  for (const char c : lines) {
    if (begins) text += priority;
    text += c;
    begins = c == '\n';
  }
  return text;
}

// As spdlog's own sink for terminals, but that no line waits for a reader.
class OutletSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  OutletSink(Outlet& out, LogPlace place)
      : out_(out),
        place_(place),
        colours_(place == LogPlace::terminal && spdlog::details::os::is_color_terminal()) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view all(line.data(), line.size());
    if (place_ == LogPlace::journal) {
      out_.tell(with_priority(all, message.level));
      return;
    }
    if (!colours_ || message.color_range_end <= message.color_range_start) {
      out_.tell(all);
      return;
    }
    constexpr std::string_view kGreen = "\033[32m";
    constexpr std::string_view kBoldYellow = "\033[33m\033[1m";
    std::string text(all.substr(0, message.color_range_start));
    text += message.level == spdlog::level::warn ? kBoldYellow : kGreen;
    text +=
        all.substr(message.color_range_start, message.color_range_end - message.color_range_start);
    text += "\033[m";
    text += all.substr(message.color_range_end);
    out_.tell(text);
  }
  void flush_() override {}

 private:
  Outlet& out_;
  LogPlace place_;
  bool colours_;
};

}  // namespace

LogPlace log_place_of(int descriptor) {
  return isatty(descriptor) == 1        ? LogPlace::terminal
         : leads_to_journal(descriptor) ? LogPlace::journal
                                        : LogPlace::file;
}

TextRecorder::TextRecorder(const KnobSpace& space, Outlet& out, LogPlace place)
    : space_(space),
      out_(out),
      text_(space),
      logger_(
          std::make_shared<spdlog::logger>("gearshift", std::make_shared<OutletSink>(out, place))),
      terminal_(place == LogPlace::terminal) {
  logger_->set_pattern(pattern_of(place));
}

TextRecorder::~TextRecorder() { finish(); }

void TextRecorder::note(const Note& note) {
  const std::string line = text_.line(note);
  if (line.empty()) return;
  finish();
  logger_->log(NoteText::warns(note.type) ? spdlog::level::warn : spdlog::level::info, line);
}

void TextRecorder::status(const Status& status) {
  text_.follow(status.goal);
  if (!terminal_) return;
  // Twice a second is as fast as people read.
  if (drawn_ && status.time - *drawn_ < std::chrono::milliseconds(500)) return;
  drawn_ = status.time;
  out_.show("\r\033[K" + status_line(space_, status).substr(0, columns() - 1));
}

void TextRecorder::finish() {
  if (terminal_ && drawn_) out_.show("\r\033[K");
  drawn_.reset();
}

}  // namespace gearshift
