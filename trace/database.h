// A SQLite database as this room uses it: opened, prepared, stepped, and every error an exception.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gearshift {

// What went wrong in which file: "run.db: database disk image is malformed".
struct DatabaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file that may be one, and cannot be reached: what() has the reason and the way out.
struct NoAccessError : DatabaseError {
  using DatabaseError::DatabaseError;
};

// How long a file that another program has locked is waited for.
inline constexpr std::chrono::milliseconds kLockPatience{5000};

// Of another process that has the database open.
struct DatabaseUser {
  std::int64_t pid = 0;  // 0: it cannot be told, as of a process elsewhere
};
// Who has the database in `file` open, and writes it or has read it while somebody does; nullopt
// where nobody has, as of one that a killed process left, and where that cannot be found out. Asks
// for locks and takes none. Not for a file that this process has open as a database: SQLite's own
// locks on it would be lost.
std::optional<DatabaseUser> user_of_database(const std::filesystem::path& file);

// Makes an empty file, for a database or for what SQLite has beside one; there must be neither a
// file nor a link at its name. As root it is for its owner alone, who is the one that called sudo
// where one has: a recording tells what is trained, and how. Throws NoAccessError.
void make_database_file(const std::filesystem::path& file);

// Any path is that of a file, also one like ":memory:" that SQLite has another meaning for.
class Database {
 public:
  // Makes the file. Throws NoAccessError.
  static Database create(const std::filesystem::path& file);
  // Reads only, and trusts nothing in the file: no trigger, view or function of it runs.
  static Database open(const std::filesystem::path& file);
  // The same for the bytes of a file, which are copied. `name` stands for the file in errors.
  static Database open_bytes(std::span<const std::byte> bytes, std::string name);

  // From now on a statement that meets a lock waits for it so long; kLockPatience until then.
  void wait_for_locks(std::chrono::milliseconds most);
  // Closes without a look at what stands beside the file, which another program has cut off: what
  // SQLite has mapped of it would kill the process. What was moved into the file is all there is.
  void leave_files_alone();
  // Runs statements that answer nothing.
  void run(const std::string& sql);
  // The first column of the first row; nullopt where there is none.
  std::optional<std::int64_t> integer(const std::string& sql);
  sqlite3* handle() const { return database_.get(); }
  const std::string& name() const { return name_; }
  // Throws DatabaseError with what SQLite says of `code`.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(std::string name, sqlite3* database) : name_(std::move(name)), database_(database) {}
  void distrust();
  [[noreturn]] void fail_to_read() const;

  std::string name_;
  std::filesystem::path read_;  // the file, where it is read; empty where it is not
  std::unique_ptr<sqlite3, Close> database_;
};

// One prepared statement. Parameters are bound in order, from the first, after each reset.
class Statement {
 public:
  // `database` is borrowed.
  Statement(Database& database, const std::string& sql);

  Statement& integer(std::int64_t value);
  Statement& real(double value);
  Statement& text(std::string_view value);
  Statement& blob(std::span<const std::byte> value);
  Statement& null();
  Statement& optional(std::optional<std::int64_t> value);
  // Runs a statement without an answer, and makes it ready for the next parameters.
  void run();

  // True while there is a row. Columns are read before the next step.
  bool step();
  bool is_null(int column) const;
  std::int64_t integer_at(int column) const;
  double real_at(int column) const;
  std::string_view text_at(int column) const;
  std::span<const std::byte> blob_at(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

}  // namespace gearshift
