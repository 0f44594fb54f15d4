// Records a run into one SQLite file, without ever making the loop wait for the disk.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controller/recorder.h"
#include "trace/byte_ring.h"
#include "trace/database.h"
#include "trace/held_file.h"
#include "trace/recording.h"
#include "trace/recording_entry.h"
#include "trace/recording_rows.h"

namespace gearshift {

enum class WhenFull : std::uint8_t {
  end_recording,  // live: the loop never waits
  wait,           // in virtual time, where nobody is hurt by waiting
};

struct RecordingOptions {
  std::size_t queue_bytes = std::size_t{4} << 20;  // a power of two
  // Of the file and of the log beside it together; then the recording ends.
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
  WhenFull when_full = WhenFull::end_recording;
  Duration commit_period = std::chrono::milliseconds(250);
  // Ticks without a note wait for so many of these periods: each commit writes the last page of
  // every table anew, which an SD card feels.
  std::uint32_t quiet_periods = 8;
};

// A thread of its own writes, because a disk may take seconds to take a row; the loop puts plain
// values into a ring of fixed size. What cannot be recorded whole is not recorded: a full queue, a
// full disk or an error of the file ends the recording, and failure() says why; there is never a
// hole. A tick is handed over when it has ended, so a file that was cut off ends with a whole tick.
//
// The controller's Recorder gets ticks, notes and ends of ticks; what the board, the limits and the
// world answered comes from the wrappers of recorded_inputs.h.
class RecordingWriter : public Recorder {
 public:
  // Creates the file; it must not exist. The header's knobs are copied. Throws DatabaseError, and
  // leaves no file then.
  RecordingWriter(const std::filesystem::path& file, const RecordingHeader& header,
                  RecordingOptions options = {});
  ~RecordingWriter() override;
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override;
  void status(const Status& status) override;

  // The number of the actuator's next call in this tick; every call asks, recorded or not.
  std::uint32_t next_call() { return calls_++; }
  void knob_call(const KnobCall& call, std::string_view text);
  void explanation(const Reading& reading, std::string_view text);
  void limit(const LimitAnswer& answer);
  void script(std::string_view text);
  void script_stop(const ScriptStop& stop);
  void command(const SentCommand& sent);

  // Writes what is queued, marks the recording as complete and closes it. What comes later is not
  // recorded. The destructor does the same.
  void finish();
  const std::filesystem::path& file() const { return path_; }
  // True once the recording has ended before the run.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Why; empty while it has not failed.
  std::string failure() const;
  // That the file and the log beside it take, a moment ago.
  std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  template <typename Value>
  void put(EntryType type, const Value& value, std::string_view text = {});
  bool make_room();
  void fail(std::string why);
  void work();
  bool is_due(bool hurry);
  void drain();
  bool look_for_files();
  void measure_files();
  void leave_transaction();
  void write_end();
  void leave_one_file();

  const KnobSpace knobs_;
  RecordingOptions options_;
  ByteRing ring_;

  // The loop's own.
  bool open_ = true;  // false: nothing is taken any more
  std::int64_t ticks_ = 0;
  std::uint32_t calls_ = 0;
  bool noted_ = false;  // in this tick

  std::atomic<bool> failed_{false};
  std::atomic<bool> eventful_{false};  // a tick with a note waits to be written
  std::atomic<std::int64_t> bytes_{0};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable room_;
  bool closing_ = false;  // with mutex_
  bool hurry_ = false;    // with mutex_: the loop waits for room
  std::string failure_;   // with mutex_

  // The thread's own once it runs.
  Database database_;
  std::filesystem::path path_;
  // The file, and what SQLite keeps beside it.
  HeldFile file_;
  HeldFile log_;
  HeldFile index_;
  RecordingRows rows_;
  std::vector<std::byte> entry_;
  std::uint32_t periods_ = 0;  // since the last commit
  std::thread thread_;
};

}  // namespace gearshift
