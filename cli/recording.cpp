#include "cli/recording.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "boards/board_texts.h"
#include "cli/boottime_clock.h"
#include "cli/output_files.h"

namespace gearshift {

NamedText board_text(const BoardDescription& board) {
  for (const EmbeddedText& text : board_texts()) {
    if (text.file == board.source) return {board.source, std::string(text.text)};
  }
  std::ifstream file(board.source, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return {board.source, text.str()};
}

std::unique_ptr<RecordingWriter> start_recording(const std::string& file, RecordingHeader header,
                                                 RecordingOptions options) {
  const std::vector<std::string> files = recording_files(file);
  std::error_code error;  // what stays is told of when the file cannot be made
  for (const std::string& one : files) std::filesystem::remove(one, error);
  header.gearshift_version = GEARSHIFT_VERSION;
  header.started_unix_ms = unix_time_ms();
  return std::make_unique<RecordingWriter>(files.front(), header, options);
}

void TeeRecorder::tick(const TickInputs& inputs) {
  now_ = inputs.now;
  recording_.tick(inputs);
  front_.tick(inputs);
}

void TeeRecorder::note(const Note& note) {
  recording_.note(note);
  front_.note(note);
}

void TeeRecorder::status(const Status& status) {
  recording_.status(status);
  front_.status(status);
  tell_failure();
}

void TeeRecorder::finish() {
  recording_.finish();
  tell_failure();
}

void TeeRecorder::tell_failure() {
  if (told_ || !recording_.failed()) return;
  told_ = true;
  const std::string why = recording_.failure();
  front_.note({.type = NoteType::recording_ended, .time = now_, .text = why});
}

}  // namespace gearshift
