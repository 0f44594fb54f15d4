#include "trace/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "trace/calling_user.h"
#include "trace/profile_csv.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

// The longest row that is read: one with the text of a measured table, and what stands beside it.
constexpr int kLongestRow = static_cast<int>(kMostProfileBytes) + (1 << 20);

// To SQLite ":memory:" is no file and "file:" begins a URI; what begins with a folder is neither.
std::filesystem::path as_file(const std::filesystem::path& path) {
  return path.is_absolute() ? path : "." / path;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Why no file can be made in the folder, else `error`: SQLite looks twice, and where it may not
// write it keeps only that the file was not there to be read.
int why_no_new_file(const std::filesystem::path& folder, int error) {
  return access(folder.c_str(), W_OK | X_OK) == 0 ? error : errno;
}

std::string why_not_made(const std::filesystem::path& path, int error) {
  const std::filesystem::path folder = folder_of(path);
  if (!is_there(folder)) {
    return "cannot be made: there is no folder " + folder.string() +
           "; make it, or name a file in another one";
  }
  return std::string("cannot be made: ") + std::strerror(why_no_new_file(folder, error)) +
         "; name a new file in a folder that is writable";
}

// SQLite would say "unable to open database file" of each.
void check_readable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw DatabaseError(path.string() + ": no such file");
  }
  if (error) throw NoAccessError(path.string() + ": cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) {
    throw DatabaseError(path.string() + (std::filesystem::is_directory(status)
                                             ? ": is a folder, not a file"
                                             : ": is not a regular file"));
  }
  if (access(path.c_str(), R_OK) == 0) return;
  throw NoAccessError(path.string() + ": cannot be read: " + std::strerror(errno) +
                      "; ask whose file it is for the right to read it");
}

}  // namespace

// A connection to a database in WAL mode keeps a shared lock in the bytes that SQLite's file format
// sets aside for locks, from its first statement to its end.
std::optional<DatabaseUser> user_of_database(const std::filesystem::path& file) {
  constexpr off_t kLockBytes = 0x40000000;
  constexpr off_t kLockByteCount = 512;
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockBytes;
  lock.l_len = kLockByteCount;
  const bool asked = fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
  close(descriptor);
  if (!asked || lock.l_type == F_UNLCK) return std::nullopt;
  return DatabaseUser{.pid = lock.l_pid > 0 ? lock.l_pid : 0};
}

void make_database_file(const std::filesystem::path& file) {
  const bool as_root = geteuid() == 0;
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              as_root ? 0600 : 0644);
  if (descriptor < 0) throw NoAccessError(file.string() + ": " + why_not_made(file, errno));
  const CallingUser caller = calling_user();
  // Where files cannot be given away, it stays root's.
  [[maybe_unused]] const int given = as_root ? fchown(descriptor, caller.user, caller.group) : 0;
  close(descriptor);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void Database::fail(int code) const {
  const int primary = code & 0xff;
  const bool reads = !read_.empty();
  if (reads && (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY)) fail_to_read();
  std::string said = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  if (primary == SQLITE_BUSY) said += ": another program keeps it so";
  throw DatabaseError(name_ + ": " + said);
}

// What a killed run left in FILE-wal, or one that goes on has there, is read by way of FILE-shm,
// which has to be made where it is not.
void Database::fail_to_read() const {
  const int error = why_no_new_file(folder_of(read_), sqlite3_system_errno(database_.get()));
  const std::string name = read_.string();
  const std::string files = is_there(name + "-wal") ? name + " and " + name + "-wal" : name;
  throw NoAccessError(name + ": its run was killed or goes on, and " + name + "-shm cannot be " +
                      "made or written here" + (error != 0 ? ": " : "") +
                      (error != 0 ? std::strerror(error) : "") + "; copy " + files +
                      " to a folder that you may write, and read the copy");
}

void Database::leave_files_alone() {
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Database::wait_for_locks(std::chrono::milliseconds most) {
  sqlite3_busy_timeout(handle(), static_cast<int>(most.count()));
}

Database Database::create(const std::filesystem::path& file) {
  make_database_file(file);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(as_file(file).c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(file.string(), handle);
  const int error = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  if (code != SQLITE_OK && error != 0) {
    throw NoAccessError(file.string() + ": " + why_not_made(file, error));
  }
  if (code != SQLITE_OK) database.fail(code);
  database.wait_for_locks(kLockPatience);
  return database;
}

Database Database::open(const std::filesystem::path& file) {
  check_readable(file);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(as_file(file).c_str(), &handle,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(file.string(), handle);
  if (code != SQLITE_OK) database.fail(code);
  database.read_ = file;
  database.wait_for_locks(kLockPatience);
  database.distrust();
  return database;
}

Database Database::open_bytes(std::span<const std::byte> bytes, std::string name) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(std::move(name), handle);
  if (code != SQLITE_OK) database.fail(code);
  // SQLite owns the copy from here on, also where it refuses it.
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) database.fail(SQLITE_NOMEM);
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int taken =
      sqlite3_deserialize(handle, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (taken != SQLITE_OK) database.fail(taken);
  database.distrust();
  return database;
}

void Database::distrust() {
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, kLongestRow);
  run("PRAGMA cell_size_check = ON");
}

void Database::run(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::optional<std::int64_t> Database::integer(const std::string& sql) {
  Statement statement(*this, sql);
  if (!statement.step()) return std::nullopt;
  return statement.integer_at(0);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Database& database, const std::string& sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database.handle(), sql.c_str(), static_cast<int>(sql.size() + 1),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_->fail(code);
}

Statement& Statement::integer(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::real(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::text(std::string_view value) {
  // The caller's text outlives the step; a null pointer would bind NULL.
  check(sqlite3_bind_text64(statement_.get(), ++bound_, value.empty() ? "" : value.data(),
                            value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::blob(std::span<const std::byte> value) {
  check(sqlite3_bind_blob64(statement_.get(), ++bound_, value.data(), value.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::null() {
  check(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

Statement& Statement::optional(std::optional<std::int64_t> value) {
  return value ? integer(*value) : null();
}

void Statement::run() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    database_->fail(code);
  }
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer_at(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real_at(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text_at(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string_view() : std::string_view(text, static_cast<size_t>(size));
}

std::span<const std::byte> Statement::blob_at(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(size)};
}

}  // namespace gearshift
