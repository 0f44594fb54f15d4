// Others read and write the file of a run, or it cannot be reached: what is lost, and what is said.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/trace/recorded_run.h"
#include "trace/database.h"
#include "trace/recording_reader.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

// Another program's connection to a file.
class Other {
 public:
  explicit Other(const std::filesystem::path& file) { sqlite3_open(file.c_str(), &database_); }
  ~Other() { sqlite3_close(database_); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  void run(const char* sql) {
    char* error = nullptr;
    sqlite3_exec(database_, sql, nullptr, nullptr, &error);
    EXPECT_EQ(error, nullptr) << sql << ": " << error;
    sqlite3_free(error);
  }

 private:
  sqlite3* database_ = nullptr;
};

std::string opening_error(const std::filesystem::path& file) {
  try {
    RecordingReader reader(file);
  } catch (const RecordingError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RecordingLocks, AreWaitedForWhileTheRunGoesOn) {
  RecordedRun run;
  run.options.commit_period = std::chrono::milliseconds(1);
  run.world.attach(seconds(2));
  run.world.at(seconds(20), [&run] {
    Other other(run.file);
    other.run("PRAGMA busy_timeout = 5000");
    other.run("BEGIN IMMEDIATE");
    other.run("CREATE VIEW answers AS SELECT * FROM readings");
    // Tens of milliseconds: the recorder's thread meets the lock many times over.
    other.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
        "SELECT count(*) FROM n");
    other.run("COMMIT");
  });
  run.run();
  EXPECT_EQ(run.failure, "");
  RecordingReader reader(run.file);
  EXPECT_EQ(reader.end(), "complete");
  RecordedTick tick;
  std::size_t ticks = 0;
  while (reader.next(tick)) ++ticks;
  EXPECT_EQ(ticks, run.kept.times.size());
}

// As by who makes room on a full disk. What SQLite maps of the last one would kill the process.
TEST(RecordingFiles, ThatAreCutOffEndTheRecordingAndTheRunGoesOn) {
  for (const char* ending : {"", "-wal", "-shm"}) {
    RecordedRun run;
    run.options.commit_period = std::chrono::hours(1);  // its thread sleeps until the end
    const std::string cut = run.file.string() + ending;
    run.world.at(seconds(30), [&] { std::filesystem::resize_file(cut, 0); });
    run.run();
    EXPECT_EQ(run.failure, cut + " was cut off by another program; record into a new file");
    EXPECT_GT(run.kept.times.size(), 890U);
    EXPECT_EQ(std::filesystem::file_size(cut), 0U) << "it is left alone";
  }
}

TEST(RecordingLocks, AReaderAtTheEndLeavesTheRecordingComplete) {
  RecordedRun run;
  std::optional<Other> reader;
  run.world.at(seconds(20), [&] {
    reader.emplace(run.file);
    reader->run("BEGIN");
    reader->run("SELECT count(*) FROM ticks");
  });
  run.run();
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(RecordingReader(run.file).end(), "complete");
  reader.reset();
  EXPECT_EQ(RecordingReader(run.file).end(), "complete") << "and without it";
}

// A process that made the file, and has it open until it is told to end.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file) {
    EXPECT_EQ(pipe(ready_) + pipe(end_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    Database database = Database::create(file);
    database.run("PRAGMA journal_mode = WAL; CREATE TABLE kept (value)");
    char byte = 0;
    const bool told = ::write(ready_[1], &byte, 1) == 1 && ::read(end_[0], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  pid_t wait_until_open() {
    char byte = 0;
    EXPECT_EQ(::read(ready_[0], &byte, 1), 1);
    return pid_;
  }
  void end_at_once() {
    EXPECT_EQ(::write(end_[1], "", 1), 1);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
    for (const int descriptor : {ready_[0], ready_[1], end_[0], end_[1]}) close(descriptor);
  }

 private:
  int ready_[2] = {-1, -1};
  int end_[2] = {-1, -1};
  pid_t pid_ = 0;
};

TEST(RecordingLocks, TellWhoHasTheFileOpenAndNobodyOfAKilledRuns) {
  const TempTree folder;
  const std::filesystem::path file = folder.at("run.db");
  EXPECT_FALSE(user_of_database(file)) << "it is not there";
  Writer writer(file);
  const pid_t pid = writer.wait_until_open();
  const std::optional<DatabaseUser> user = user_of_database(file);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->pid, pid);
  writer.end_at_once();
  EXPECT_TRUE(std::filesystem::exists(file.string() + "-wal"));
  EXPECT_FALSE(user_of_database(file));
}

TEST(RecordingPaths, AreFilesWhateverTheyAreCalled) {
  const TempTree folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.root());
  for (const char* name : {":memory:", "file:x.db?mode=memory", "file::memory:"}) {
    Database::create(name).run("CREATE TABLE kept (value)");
    EXPECT_TRUE(std::filesystem::is_regular_file(name)) << name;
    EXPECT_EQ(Database::open(name).integer("SELECT count(*) FROM kept"), 0) << name;
  }
  std::filesystem::current_path(before);
}

// In a folder that all may write, another user would read what SQLite writes there, and kill the
// process that maps -shm by cutting that off.
TEST(RecordingPaths, HaveNothingBesideThemThatWasThereBefore) {
  const Hardware hardware;
  const TempTree folder;
  folder.put("one.db-shm", "x");
  try {
    RecordingWriter(folder.at("one.db"), fake_header(hardware)).finish();
    FAIL() << folder.get("one.db-shm");
  } catch (const NoAccessError& error) {
    EXPECT_NE(std::string(error.what()).find("one.db-shm: cannot be made: File exists"),
              std::string::npos)
        << error.what();
  }
  folder.put("two.db-wal", "x");
  std::filesystem::create_hard_link(folder.at("two.db-wal"), folder.at("opened"));
  RecordingWriter(folder.at("two.db"), fake_header(hardware)).finish();
  EXPECT_EQ(folder.get("opened"), "x") << "SQLite removes this one";
}

TEST(RecordingPaths, AreNoFilesOfBefore) {
  const TempTree folder;
  folder.put("victim.db", "");
  std::filesystem::create_symlink("victim.db", folder.at("link.db"));
  std::filesystem::create_symlink("none.db", folder.at("loose.db"));
  for (const char* name : {"victim.db", "link.db", "loose.db"}) {
    try {
      Database::create(folder.at(name));
      FAIL() << name;
    } catch (const NoAccessError& error) {
      EXPECT_NE(std::string(error.what()).find(": cannot be made: File exists; name a new file"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder.at("none.db")));
}

TEST(RecordingPaths, ThatCannotBeReadAreToldApart) {
  const TempTree folder;
  EXPECT_NE(opening_error(folder.at("none.db")).find("none.db: no such file"), std::string::npos);
  EXPECT_NE(opening_error(folder.root()).find(": is a folder, not a file"), std::string::npos)
      << opening_error(folder.root());
  EXPECT_NE(opening_error("/dev/null").find(": is not a regular file"), std::string::npos);
  std::filesystem::create_symlink("round.db", folder.at("round.db"));
  EXPECT_NE(opening_error(folder.at("round.db")).find("round.db: cannot be read: Too many levels"),
            std::string::npos)
      << opening_error(folder.at("round.db"));
}

TEST(RecordingPaths, ThatCannotBeMadeAreNamedWithTheWayOut) {
  RecordedRun run;
  run.file = run.folder.at("nowhere/run.db");
  try {
    run.run();
    ADD_FAILURE() << "recorded";
  } catch (const NoAccessError& error) {
    const std::string folder = run.folder.at("nowhere");
    EXPECT_EQ(std::string(error.what()), run.file.string() +
                                             ": cannot be made: there is no folder " + folder +
                                             "; make it, or name a file in another one");
  }
}

TEST(RecordingPaths, AKilledRunThatWasCopiedInPartIsToBeCopiedWhole) {
  RecordedRun run;
  const std::filesystem::path killed = run.folder.at("killed.db");
  run.world.at(seconds(1), [&] { std::filesystem::copy_file(run.file, killed); });
  run.run();
  const std::string name = killed.string();
  const std::string expected = name +
                               ": holds nothing by itself: what a killed run recorded is in " +
                               name + "-wal, which is not beside it; copy both";
  for (const char* when : {"first", "with the empty one that reading may leave"}) {
    const std::string error = opening_error(killed);
    EXPECT_EQ(error.substr(0, expected.size()), expected) << when;
    run.folder.put("killed.db-wal", "");
  }
}

// A link in the place of the file that SQLite would make there keeps root from it too.
TEST(RecordingPaths, AKilledRunThatCannotBeReadHereIsToBeCopied) {
  RecordedRun run;
  const std::filesystem::path killed = run.folder.at("killed.db");
  run.options.commit_period = std::chrono::milliseconds(1);
  run.world.at(seconds(20), [&] {
    Other other(run.file);
    other.run("PRAGMA busy_timeout = 5000");
    other.run("BEGIN IMMEDIATE");  // nothing is written while it is copied
    for (const char* part : {"", "-wal"}) {
      std::filesystem::copy_file(run.file.string() + part, killed.string() + part);
    }
    other.run("COMMIT");
  });
  run.run();
  std::filesystem::create_symlink("nowhere", killed.string() + "-shm");
  const std::string name = killed.string();
  const std::string error = opening_error(killed);
  EXPECT_NE(
      error.find(name + ": its run was killed or goes on, and " + name + "-shm cannot be made"),
      std::string::npos)
      << error;
  EXPECT_NE(error.find("copy " + name + " and " + name + "-wal to a folder that you may write"),
            std::string::npos)
      << error;
  std::filesystem::remove(killed.string() + "-shm");
  EXPECT_EQ(opening_error(killed), "no error");
}

}  // namespace
}  // namespace gearshift
