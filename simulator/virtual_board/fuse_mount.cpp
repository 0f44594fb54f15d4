#define FUSE_USE_VERSION 312

#include "simulator/virtual_board/fuse_mount.h"

#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace gearshift {
namespace {

// One open file. The text of its first read, or of a read at offset 0, stays for the reads that
// follow it.
struct OpenFile {
  std::string path;
  std::optional<std::string> text;
  std::optional<LoadHandle> load;
};

OpenFile& open_file(const fuse_file_info* info) { return *reinterpret_cast<OpenFile*>(info->fh); }

bool privileged() {
  const uid_t caller = fuse_get_context()->uid;
  return caller == 0 || caller == geteuid();
}

mode_t type_bits(NodeKind kind) {
  return kind == NodeKind::folder ? S_IFDIR : kind == NodeKind::link ? S_IFLNK : S_IFREG;
}

}  // namespace

// The board behind libfuse's callbacks. They return 0, a count of bytes, or an errno below 0.
struct FuseOperations {
  // The board with the time moved on, for as long as this lives.
  class Session {
   public:
    Session() : mount_(*static_cast<FuseMount*>(fuse_get_context()->private_data)) {
      lock_ = std::unique_lock(mount_.mutex_);
      mount_.board_.advance(mount_.clock_.now());
    }
    BoardState* operator->() { return &mount_.board_; }

   private:
    FuseMount& mount_;
    std::unique_lock<std::mutex> lock_;
  };

  // The caller waits outside the lock.
  static void wait_for_hardware(const std::string& path, FileAccess access) {
    const Duration delay = Session()->delay(path, access);
    if (delay > Duration::zero()) std::this_thread::sleep_for(delay);
  }

  static void* init(fuse_conn_info*, fuse_config* config) {
    config->direct_io = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    config->nullpath_ok = 1;
    return fuse_get_context()->private_data;
  }

  static int getattr(const char* path, struct stat* info, fuse_file_info* file) {
    Session board;
    const auto attributes = board->attributes(path ? std::string(path) : open_file(file).path);
    if (!attributes) return -ENOENT;
    std::memset(info, 0, sizeof *info);
    info->st_mode = type_bits(attributes->kind) | attributes->mode;
    info->st_nlink = attributes->kind == NodeKind::folder ? 2 : 1;
    info->st_size = static_cast<off_t>(attributes->size);
    info->st_uid = geteuid();
    info->st_gid = getegid();
    return 0;
  }

  static int readlink(const char* path, char* buffer, std::size_t size) {
    const auto attributes = Session()->attributes(path);
    if (!attributes) return -ENOENT;
    if (attributes->kind != NodeKind::link) return -EINVAL;
    const std::size_t length = std::min(size - 1, attributes->target.size());
    std::memcpy(buffer, attributes->target.data(), length);
    buffer[length] = '\0';
    return 0;
  }

  static int check(Session& board, const char* path, bool reads, bool writes) {
    int error = 0;
    if (reads) error = board->permission(path, FileAccess::read, privileged());
    if (writes && error == 0) error = board->permission(path, FileAccess::write, privileged());
    return -error;
  }

  static void keep(std::unique_ptr<OpenFile> file, fuse_file_info* info) {
    info->fh = reinterpret_cast<std::uint64_t>(file.release());
  }

  static int opendir(const char* path, fuse_file_info* info) {
    Session board;
    if (const int error = check(board, path, true, false)) return error;
    keep(std::make_unique<OpenFile>(OpenFile{path, {}, {}}), info);
    return 0;
  }

  static int releasedir(const char*, fuse_file_info* info) {
    const std::unique_ptr<OpenFile> folder(&open_file(info));
    return 0;
  }

  static int readdir(const char*, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info* info,
                     fuse_readdir_flags) {
    const auto names = Session()->list(open_file(info).path);
    if (!names) return -ENOTDIR;
    for (const char* name : {".", ".."}) fill(buffer, name, nullptr, 0, fuse_fill_dir_flags());
    for (const std::string& name : *names) {
      fill(buffer, name.c_str(), nullptr, 0, fuse_fill_dir_flags());
    }
    return 0;
  }

  static int access(const char* path, int mask) {
    Session board;
    const auto attributes = board->attributes(path);
    if (!attributes) return -ENOENT;
    if (attributes->kind == NodeKind::folder) {
      return check(board, path, (mask & (R_OK | X_OK)) != 0, false);
    }
    if ((mask & X_OK) != 0) return -EACCES;
    return check(board, path, true, (mask & W_OK) != 0);
  }

  static int open(const char* path, fuse_file_info* info) {
    Session board;
    const int mode = info->flags & O_ACCMODE;
    const bool writes = mode != O_RDONLY;
    if (const int error = check(board, path, mode != O_WRONLY, writes)) return error;
    auto file = std::make_unique<OpenFile>();
    file->path = path;
    if (writes && file->path == BoardState::kLoadPath) file->load = board->open_load();
    keep(std::move(file), info);
    return 0;
  }

  static int release(const char*, fuse_file_info* info) {
    const std::unique_ptr<OpenFile> file(&open_file(info));
    if (file->load) Session()->close_load(*file->load);
    return 0;
  }

  static int read(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* info) {
    OpenFile& file = open_file(info);
    if (offset == 0 || !file.text) {
      wait_for_hardware(file.path, FileAccess::read);
      Session board;
      FileText text = board->read(file.path);
      if (text.error != 0) return -text.error;
      file.text = std::move(text.text);
    }
    const auto begin = std::min(static_cast<std::size_t>(offset), file.text->size());
    const std::size_t length = std::min(size, file.text->size() - begin);
    std::memcpy(buffer, file.text->data() + begin, length);
    return static_cast<int>(length);
  }

  static int write(const char*, const char* text, std::size_t size, off_t, fuse_file_info* info) {
    const OpenFile& file = open_file(info);
    wait_for_hardware(file.path, FileAccess::write);
    Session board;
    const int error = file.load ? board->write_load(*file.load, {text, size})
                                : board->write(file.path, {text, size});
    return error != 0 ? -error : static_cast<int>(size);
  }

  // A shell opens with O_TRUNC: accepted, and without effect.
  static int truncate(const char* path, off_t, fuse_file_info* file) {
    Session board;
    const std::string name = path ? path : open_file(file).path;
    return check(board, name.c_str(), false, true);
  }

  static int create(const char*, mode_t, fuse_file_info*) { return -EACCES; }
  static int make_node(const char*, mode_t, dev_t) { return -EACCES; }
  static int make_folder(const char*, mode_t) { return -EPERM; }
  static int remove(const char*) { return -EPERM; }
  static int rename(const char*, const char*, unsigned int) { return -EPERM; }
  static int make_link(const char*, const char*) { return -EPERM; }
  static int set_mode(const char*, mode_t, fuse_file_info*) { return -EPERM; }
  static int set_owner(const char*, uid_t, gid_t, fuse_file_info*) { return -EPERM; }
  static int set_times(const char*, const timespec*, fuse_file_info*) { return -EPERM; }

  static fuse_operations table() {
    fuse_operations operations{};
    operations.init = init;
    operations.getattr = getattr;
    operations.readlink = readlink;
    operations.opendir = opendir;
    operations.readdir = readdir;
    operations.releasedir = releasedir;
    operations.access = access;
    operations.open = open;
    operations.release = release;
    operations.read = read;
    operations.write = write;
    operations.truncate = truncate;
    operations.create = create;
    operations.mknod = make_node;
    operations.mkdir = make_folder;
    operations.unlink = remove;
    operations.rmdir = remove;
    operations.rename = rename;
    operations.symlink = make_link;
    operations.link = make_link;
    operations.chmod = set_mode;
    operations.chown = set_owner;
    operations.utimens = set_times;
    return operations;
  }
};

FuseMount::FuseMount(BoardState& board, const Clock& clock, const std::filesystem::path& folder)
    : board_(board), clock_(clock) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "gearshift");
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(
      &arguments, geteuid() == 0 ? "fsname=gearshift-board,allow_other" : "fsname=gearshift-board");
  static const fuse_operations kOperations = FuseOperations::table();
  fuse_ = fuse_new(&arguments, &kOperations, sizeof kOperations, this);
  fuse_opt_free_args(&arguments);
  if (!fuse_) throw std::runtime_error("libfuse3 cannot be set up for " + folder.string());
  // Before the mount, so that no signal can leave one behind that nobody serves.
  if (fuse_set_signal_handlers(fuse_get_session(fuse_)) != 0) {
    fuse_destroy(fuse_);
    throw std::runtime_error("cannot watch for SIGINT and SIGTERM");
  }
  if (fuse_mount(fuse_, folder.c_str()) != 0) {
    fuse_remove_signal_handlers(fuse_get_session(fuse_));
    fuse_destroy(fuse_);
    throw std::runtime_error("cannot mount a virtual board at " + folder.string() +
                             " (fusermount3 says why); use --plain where FUSE is not allowed");
  }
}

FuseMount::~FuseMount() {
  fuse_remove_signal_handlers(fuse_get_session(fuse_));
  fuse_unmount(fuse_);
  fuse_destroy(fuse_);
}

void FuseMount::serve() {
  constexpr unsigned kMostThreads = 16;
  const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(
      fuse_loop_cfg_create(), fuse_loop_cfg_destroy);
  fuse_loop_cfg_set_max_threads(config.get(), kMostThreads);
  const int result = fuse_loop_mt(fuse_, config.get());
  if (result < 0) {
    throw std::runtime_error(std::string("the virtual board's file system ended: ") +
                             std::strerror(-result));
  }
}

}  // namespace gearshift
