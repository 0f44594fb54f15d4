#include "cli/recording.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "cli/boottime_clock.h"
#include "cli/recording_folder.h"

namespace gearshift {

std::unique_ptr<RecordingWriter> start_recording(const RecordFlag& flag, RecordingHeader header,
                                                 RecordingOptions options) {
  header.gearshift_version = GEARSHIFT_VERSION;
  header.started_unix_ms = unix_time_ms();
  std::vector<std::string> files = check_record_flag(flag);
  if (files.empty()) files = {new_recording_in(flag.path, flag.keep, header.started_unix_ms)};
  if (flag.overwrites) {
    // What stays is told of when the file cannot be made.
    for (const std::string& file : files) unlink(file.c_str());
  }
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

RecordingState TeeRecorder::state() const {
  return {recording_.file().string(), recording_.bytes(), told_ ? recording_.failure() : "",
          ended_unix_ms_};
}

void TeeRecorder::tell_failure() {
  if (told_ || !recording_.failed()) return;
  told_ = true;
  ended_unix_ms_ = unix_time_ms();
  const std::string why = recording_.failure();
  front_.note({.type = NoteType::recording_ended, .time = now_, .text = why});
}

}  // namespace gearshift
