#include "simulator/virtual_board/plain_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace gearshift {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;
constexpr std::uint16_t kOwnerWrites = 0200;
// What older kernels say of a zone without power. Newer ones answer EAGAIN, which no file can, and
// an empty file would be a sensor that failed.
constexpr std::string_view kPoweredDown = "-256000\n";

std::optional<std::string> content(int descriptor) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || info.st_size < 0) return std::nullopt;
  std::string text(std::min(static_cast<std::size_t>(info.st_size), kMostBytes), '\0');
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  if (size < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// In place, because readers keep the file open; the end is cut off last, so that whoever reads in
// between finds the new value first.
bool replace(int descriptor, std::string_view text) {
  return pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ftruncate(descriptor, static_cast<off_t>(text.size())) == 0;
}

}  // namespace

PlainFolder::PlainFolder(BoardState& board, const Clock& clock, const std::filesystem::path& folder)
    : board_(board), clock_(clock), folder_(folder) {
  board_.advance(clock_.now());
  add("/");
  refresh();
}

PlainFolder::~PlainFolder() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
  std::error_code ignored;
  for (const std::string& name : board_.list("/").value_or(std::vector<std::string>())) {
    std::filesystem::remove_all(folder_ / name, ignored);
  }
}

void PlainFolder::add(const std::string& path) {
  const FileAttributes attributes = board_.attributes(path).value();
  const std::filesystem::path real = folder_.string() + path;
  if (attributes.kind == NodeKind::link) {
    std::filesystem::create_symlink(attributes.target, real);
  } else if (attributes.kind == NodeKind::file) {
    files_.push_back({path, (attributes.mode & kOwnerWrites) != 0, {}, -1});
  } else {
    std::filesystem::create_directories(real);
    const std::vector<std::string> names = board_.list(path).value();
    for (const std::string& name : names) add(path == "/" ? path + name : path + '/' + name);
    chmod(real.c_str(), attributes.mode);
  }
}

void PlainFolder::take_write(File& file) {
  const std::optional<std::string> text = content(file.descriptor);
  // An empty file is one that somebody is about to write.
  if (!text || *text == file.shown || text->empty()) return;
  if (file.path == BoardState::kLoadPath) {
    take_loads(*text);
  } else {
    board_.write(file.path, *text);
  }
  file.shown = *text;
}

void PlainFolder::take_loads(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const LoadHandle handle = board_.open_load();
    if (board_.write_load(handle, text.substr(at, end - at)) == 0) {
      const std::int32_t pid = board_.loads().all().at(handle).pid;
      const auto older = loads_.find(pid);
      if (older != loads_.end()) board_.close_load(older->second);
      loads_[pid] = handle;
    }
    at = end + 1;
  }
}

void PlainFolder::end_dead_loads() {
  for (auto load = loads_.begin(); load != loads_.end();) {
    if (kill(load->first, 0) == 0 || errno == EPERM) {
      ++load;
      continue;
    }
    board_.close_load(load->second);
    load = loads_.erase(load);
  }
}

void PlainFolder::show(File& file) {
  FileText text = board_.read(file.path);
  if (text.error == EAGAIN) text.text = kPoweredDown;
  if (file.descriptor < 0) {
    const std::string real = folder_.string() + file.path;
    const mode_t mode = board_.attributes(file.path).value().mode | kOwnerWrites;
    file.descriptor = open(real.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode);
    if (file.descriptor < 0 || fchmod(file.descriptor, mode) != 0) {
      throw std::runtime_error("cannot make " + real + ": " + std::strerror(errno));
    }
  }
  // Another read that fails has no text: the file stays, empty, because readers keep it open.
  if (text.text == file.shown) return;
  // What somebody wrote since take_write() is for the next round to take, not to be written over.
  if (file.writable && content(file.descriptor).value_or("") != file.shown) return;
  if (!replace(file.descriptor, text.text)) {
    throw std::runtime_error("cannot write " + folder_.string() + file.path + ": " +
                             std::strerror(errno));
  }
  file.shown = text.text;
}

void PlainFolder::refresh() {
  board_.advance(clock_.now());
  for (File& file : files_) {
    if (file.writable && file.descriptor >= 0) take_write(file);
  }
  end_dead_loads();
  // A new load's optimum comes some looks later: all other files would have to wait for it.
  const bool optimum = board_.prepare_optimum();
  for (File& file : files_) {
    if (optimum || file.path != BoardState::kOptimumPath) show(file);
  }
}

void PlainFolder::serve() {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stop, signal);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &stop, &before);
  const timespec period{0, kPeriod.count()};
  while (sigtimedwait(&stop, nullptr, &period) < 0) refresh();
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace gearshift
