// Recordings as the commands use them: started for a run, and told of when they end too soon.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/record_flag.h"
#include "controller/recorder.h"
#include "controller/recording_state.h"
#include "trace/recording.h"
#include "trace/recording_writer.h"

namespace gearshift {

// Creates the recording, where a link leads to if the flag names one, in place of what may be
// replaced there. That is asked anew: what the command was begun with may be long ago, and somebody
// else may have put something there since.
// Fills in the version and the wall time of the header. Throws as check_record_flag does, and
// DatabaseError.
std::unique_ptr<RecordingWriter> start_recording(const RecordFlag& flag, RecordingHeader header,
                                                 RecordingOptions options = {});

// Gives all that it is given to the operator's recorder and to the recording, and tells the
// operator once when the recording ends before the run does.
class TeeRecorder : public Recorder {
 public:
  // Borrows both.
  TeeRecorder(Recorder& front, RecordingWriter& recording) : front_(front), recording_(recording) {}

  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override;
  void status(const Status& status) override;
  // Completes the recording.
  void finish();
  // As an operator is told it.
  RecordingState state() const;

 private:
  void tell_failure();

  Recorder& front_;
  RecordingWriter& recording_;
  Time now_{};
  bool told_ = false;
  std::int64_t ended_unix_ms_ = 0;
};

}  // namespace gearshift
