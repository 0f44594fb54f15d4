// What a recording takes of the disk: how often it is written, where it ends, and what is left of
// one that could not be begun.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <optional>

#include "tests/trace/recorded_run.h"
#include "trace/database.h"
#include "trace/recording_reader.h"

namespace gearshift {
namespace {

using fakes::fake_header;
using fakes::Hardware;
using fakes::RecordedRun;
using fakes::TempTree;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Whoever looks at the file of a run that goes on, in one view of it from the first look on.
class Onlooker {
 public:
  explicit Onlooker(const std::filesystem::path& file) {
    sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_busy_timeout(database_, 5000);
  }
  ~Onlooker() { sqlite3_close(database_); }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  std::int64_t number(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr), SQLITE_OK) << sql;
    const bool row = sqlite3_step(statement) == SQLITE_ROW;
    const std::int64_t number = row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return number;
  }

 private:
  sqlite3* database_ = nullptr;
};

// Tens of milliseconds, in which the recorder's thread looks many times.
void let_it_look(Onlooker& other) {
  other.number(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
      "SELECT count(*) FROM n");
}

TEST(RecordingRoom, WhatIsNotedIsWrittenAtOnceAndTicksWithoutANoteLater) {
  RecordedRun run;
  run.options.commit_period = milliseconds(1);
  run.options.quiet_periods = 1'000'000'000;
  run.world.attach(seconds(2));
  std::int64_t holds = 0;
  std::int64_t newest_ns = 0;
  run.world.at(seconds(50), [&] {
    Onlooker other(run.file);
    for (int i = 0; i < 100 && holds == 0; ++i) {
      let_it_look(other);
      holds = other.number("SELECT count(*) FROM notes WHERE type = 'hold'");
    }
    let_it_look(other);
    newest_ns = other.number("SELECT max(time_ns) FROM ticks");
  });
  run.world.at(seconds(60), [&] {
    Onlooker other(run.file);
    let_it_look(other);
    EXPECT_EQ(other.number("SELECT max(time_ns) FROM ticks"), newest_ns) << "nothing is noted";
  });
  run.run();
  EXPECT_EQ(holds, 1);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(RecordingReader(run.file).end(), "complete") << "and at the end all of them";
  RecordingReader reader(run.file);
  RecordedTick tick;
  std::size_t ticks = 0;
  while (reader.next(tick)) ++ticks;
  EXPECT_EQ(ticks, run.kept.times.size());
}

TEST(RecordingRoom, ALogThatAReaderKeepsCountsAgainstTheLargestSize) {
  RecordedRun run;
  run.make_eventful();
  run.options.most_bytes = 512 << 10;
  run.options.queue_bytes = 8192;
  run.options.when_full = WhenFull::wait;  // many small commits
  std::optional<Onlooker> reader;
  run.world.at(seconds(1), [&] {
    reader.emplace(run.file);
    reader->number("BEGIN");
    reader->number("SELECT count(*) FROM ticks");
  });
  run.run();
  const std::string file = run.file.string();
  EXPECT_EQ(run.failure,
            file + " and " + file + "-wal have reached the largest size of a recording");
  EXPECT_GT(run.kept.times.size(), 890U) << "the run goes on";
  const auto bytes = std::filesystem::file_size(file) + std::filesystem::file_size(file + "-wal");
  EXPECT_LT(bytes, (512U << 10) + (128U << 10)) << "but for the commit that passed it, and the end";
  reader.reset();
  EXPECT_EQ(RecordingReader(run.file).end(), run.failure);
}

TEST(RecordingRoom, OneThatCouldNotBeBegunLeavesNothing) {
  const Hardware hardware;
  const TempTree folder;
  RecordingOptions options;
  options.most_bytes = 16 << 10;  // the header takes more
  try {
    RecordingWriter(folder.at("run.db"), fake_header(hardware), options);
    FAIL();
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("run.db: database or disk is full"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
  folder.put("one.db-shm", "another's");
  EXPECT_THROW(RecordingWriter(folder.at("one.db"), fake_header(hardware)), NoAccessError);
  EXPECT_FALSE(std::filesystem::exists(folder.at("one.db")));
  EXPECT_EQ(folder.get("one.db-shm"), "another's");
}

}  // namespace
}  // namespace gearshift
