#include "trace/recording_writer.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "trace/goal_change_text.h"
#include "trace/recording_header.h"
#include "trace/recording_schema.h"

namespace gearshift {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kEndPages = 4;  // at most, that one more row of metadata takes
// What reads the file when the run ends is not waited for: it may be a shell that stays open.
constexpr std::chrono::milliseconds kTidyPatience{100};
// What SQLite adds to a file's name for the rows that are not in it yet, and for where these are.
constexpr const char* kLog = "-wal";
constexpr const char* kIndex = "-shm";

std::filesystem::path beside(const std::filesystem::path& file, const char* ending) {
  return file.string() + ending;
}

// Files that were made for a recording, and go again where it could not be begun: what is left on
// a full disk would keep the next one from its name.
class UnbegunFiles {
 public:
  UnbegunFiles() = default;
  ~UnbegunFiles() {
    for (const std::filesystem::path& file : files_) unlink(file.c_str());
  }
  UnbegunFiles(const UnbegunFiles&) = delete;
  UnbegunFiles& operator=(const UnbegunFiles&) = delete;
  void add(const std::filesystem::path& file) { files_.push_back(file); }
  void keep() { files_.clear(); }

 private:
  std::vector<std::filesystem::path> files_;
};

Database create(const std::filesystem::path& file, const RecordingHeader& header,
                const RecordingOptions& options) {
  UnbegunFiles made;
  Database database = Database::create(file);
  made.add(file);
  database.run("PRAGMA page_size = " + std::to_string(kPageBytes));
  database.run("PRAGMA journal_mode = WAL");
  // SQLite would take, and map, what somebody has put there since the names were looked at.
  for (const char* ending : {kLog, kIndex}) {
    make_database_file(beside(file, ending));
    made.add(beside(file, ending));
  }
  // A killed process loses nothing that was committed; a power cut may lose the last seconds.
  database.run("PRAGMA synchronous = NORMAL");
  database.run("PRAGMA max_page_count = " + std::to_string(options.most_bytes / kPageBytes));
  database.run("BEGIN");
  database.run("PRAGMA application_id = " + std::to_string(kRecordingApplication));
  database.run("PRAGMA user_version = " + std::to_string(kRecordingVersion));
  for (const Table& table : recording_tables(kRecordingVersion))
    database.run(std::string(table.sql));
  write_header(database, header);
  database.run("COMMIT");
  made.keep();
  return database;
}

}  // namespace

RecordingWriter::RecordingWriter(const std::filesystem::path& file, const RecordingHeader& header,
                                 RecordingOptions options)
    : knobs_(header.knobs),
      options_(options),
      ring_(options.queue_bytes),
      database_(create(file, header, options)),
      path_(file),
      file_(file),
      log_(beside(file, kLog)),
      index_(beside(file, kIndex)),
      rows_(database_, knobs_),
      thread_([this] { work(); }) {}

RecordingWriter::~RecordingWriter() { finish(); }

template <typename Value>
void RecordingWriter::put(EntryType type, const Value& value, std::string_view text) {
  if (!open_) return;
  if (failed()) {
    open_ = false;
    return;
  }
  std::array<std::byte, sizeof(EntryHeader) + sizeof(Value)> fixed;
  const EntryHeader header{type, static_cast<std::uint32_t>(sizeof(Value) + text.size())};
  std::memcpy(fixed.data(), &header, sizeof(header));
  std::memcpy(fixed.data() + sizeof(header), &value, sizeof(value));
  const auto tail = std::as_bytes(std::span(text.data(), text.size()));
  if (ring_.put(fixed, tail)) return;
  if (make_room() && ring_.put(fixed, tail)) return;
  // The tick that did not fit is not recorded in part either.
  ring_.discard();
  open_ = false;
  fail("the disk is slower than the run: the queue of " + std::to_string(ring_.capacity() >> 10) +
       " KiB is full");
}

bool RecordingWriter::make_room() {
  if (options_.when_full == WhenFull::end_recording) return false;
  std::unique_lock lock(mutex_);
  hurry_ = true;
  wake_.notify_one();
  room_.wait(lock, [this] { return ring_.waiting() == 0 || failed(); });
  return !failed();
}

void RecordingWriter::tick(const TickInputs& inputs) {
  calls_ = 0;
  put(EntryType::tick, TickEntry{ticks_++, inputs.now});
  std::uint32_t position = 0;
  for (const Event& event : inputs.events) {
    switch (event.type) {
      case EventType::minibatch:
        put(EntryType::minibatch, MinibatchEntry{position, event.minibatch});
        break;
      case EventType::requests:
        put(EntryType::requests, RequestsEntry{position, event.requests});
        break;
      case EventType::attached:
        put(EntryType::workload, WorkloadEntry{position, event.workload});
        break;
      case EventType::goal:
        put(EntryType::event, EventEntry{.position = position, .type = event.type},
            format_goal_change(event.goal));
        break;
      default:
        put(EntryType::event,
            EventEntry{position, event.type, event.handle, event.batch_size, event.set_sequence,
                       event.signal, event.power_mw},
            event.text.view());
        break;
    }
    ++position;
  }
  for (const Reading& reading : inputs.readings) put(EntryType::reading, reading);
}

void RecordingWriter::note(const Note& note) {
  NoteEntry entry;
  entry.type = note.type;
  entry.time = note.time;
  entry.workload = note.workload;
  entry.value = note.value;
  entry.has_setting = note.setting != nullptr;
  entry.has_observation = note.observation != nullptr;
  if (note.setting != nullptr) entry.setting = *note.setting;
  if (note.observation != nullptr) entry.observation = *note.observation;
  put(EntryType::note, entry, note.text);
  noted_ = true;
  if (note.type != NoteType::stop) return;
  // The tick that stops the loop ends without a status, and what comes after it is no part of it.
  if (open_) ring_.publish();
  open_ = false;
}

void RecordingWriter::status(const Status&) {
  if (!open_) return;
  ring_.publish();
  if (noted_) eventful_.store(true, std::memory_order_release);
  noted_ = false;
  // The thread looks by itself a few times a second; a flood must not wait for that.
  if (ring_.waiting() > ring_.capacity() / 2) wake_.notify_one();
}

void RecordingWriter::knob_call(const KnobCall& call, std::string_view text) {
  put(EntryType::knob_call, call, text);
}

void RecordingWriter::explanation(const Reading& reading, std::string_view text) {
  put(EntryType::explanation, Explanation{reading.quantity, reading.channel}, text);
}

void RecordingWriter::limit(const LimitAnswer& answer) { put(EntryType::limit, answer); }

void RecordingWriter::script(std::string_view text) { put(EntryType::script, ScriptEntry{}, text); }

void RecordingWriter::script_stop(const ScriptStop& stop) { put(EntryType::script_stop, stop); }

void RecordingWriter::command(const SentCommand& sent) { put(EntryType::command, sent); }

void RecordingWriter::finish() {
  if (!thread_.joinable()) return;
  open_ = false;  // a tick that has not ended, because an exception broke it, is left out
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::string RecordingWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void RecordingWriter::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = std::move(why);
  failed_.store(true, std::memory_order_release);
  room_.notify_one();
}

void RecordingWriter::work() {
  try {
    bool closing = false;
    measure_files();
    while (!closing) {
      bool due = false;
      {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, options_.commit_period, [this] {
          return closing_ || hurry_ || failed() || ring_.waiting() > ring_.capacity() / 2;
        });
        closing = closing_ || failed();
        due = is_due(hurry_ || closing);
        hurry_ = false;
      }
      if (!look_for_files()) break;
      if (!due) continue;
      drain();
      measure_files();
      const std::lock_guard lock(mutex_);
      room_.notify_one();
    }
  } catch (const DatabaseError& error) {
    // The reason is the file that was cut off, where one was.
    if (look_for_files()) leave_transaction();
    fail(error.what());
  }
  if (!look_for_files()) {
    database_.leave_files_alone();
    return;
  }
  try {
    write_end();
  } catch (const DatabaseError& error) {
    fail(error.what());
  }
}

// Some errors have ended it already.
void RecordingWriter::leave_transaction() {
  try {
    database_.run("ROLLBACK");
  } catch (const DatabaseError&) {
  }
}

void RecordingWriter::write_end() {
  // A file of the largest size has room for its last row.
  database_.run("PRAGMA max_page_count = " +
                std::to_string(options_.most_bytes / kPageBytes + kEndPages));
  const std::string why = failure();
  Statement end(database_, "INSERT INTO metadata VALUES ('end', ?)");
  end.text(why.empty() ? "complete" : why).run();
  leave_one_file();
}

// One plain file is left, which also a reader without the right to write here can open. Whoever has
// it open at that moment keeps it from that: then all of it is there all the same, in three files.
void RecordingWriter::leave_one_file() {
  database_.wait_for_locks(kTidyPatience);
  try {
    database_.run("PRAGMA journal_mode = DELETE");
    file_.cut_off();  // looks
    bytes_.store(file_.most_bytes(), std::memory_order_relaxed);
  } catch (const DatabaseError&) {
  }
}

// Whoever tidies up may have taken it away: what is written then goes nowhere. False where a file
// was cut off, as by who makes room on a full disk: SQLite maps one of them and dies of that, and
// takes what is gone of another for rows. None of them grows smaller while it is open here, but by
// another program's PRAGMA wal_checkpoint(TRUNCATE), which is not told apart.
bool RecordingWriter::look_for_files() {
  if (!failed() && file_.removed()) fail(path_.string() + " was removed");
  const char* cut = nullptr;
  if (index_.cut_off()) cut = kIndex;
  if (log_.cut_off()) cut = kLog;
  if (file_.cut_off()) cut = "";
  if (cut == nullptr) return true;
  fail(beside(path_, cut).string() + " was cut off by another program; record into a new file");
  return false;
}

// A reader that stays keeps SQLite from using the log's room again, so that it grows with every
// commit; nothing but this bounds it.
void RecordingWriter::measure_files() {
  look_for_files();
  const std::int64_t bytes = file_.most_bytes() + log_.most_bytes();
  bytes_.store(bytes, std::memory_order_relaxed);
  if (static_cast<std::uint64_t>(bytes) <= options_.most_bytes) return;
  fail(path_.string() + " and " + beside(path_, kLog).string() +
       " have reached the largest size of a recording");
}

// Whether what waits is to be written now, or may wait for more of it.
bool RecordingWriter::is_due(bool hurry) {
  const bool eventful = eventful_.exchange(false, std::memory_order_acq_rel);
  const bool full = ring_.waiting() > ring_.capacity() / 2;
  if (++periods_ < options_.quiet_periods && !hurry && !eventful && !full) return false;
  periods_ = 0;
  return true;
}

// What is published ends with a whole tick, and so does a commit. Who studies the file may have
// locked it: that is waited for before anything is taken from the ring, which fills meanwhile.
void RecordingWriter::drain() {
  std::size_t left = ring_.waiting();
  if (left == 0) return;
  database_.run("BEGIN IMMEDIATE");
  while (left > 0) {
    EntryHeader header;
    if (!ring_.take(std::as_writable_bytes(std::span(&header, 1)))) break;
    entry_.resize(header.size);
    ring_.take(entry_);
    rows_.write(header.type, entry_);
    left -= sizeof(header) + header.size;
  }
  database_.run("COMMIT");
}

}  // namespace gearshift
