#include "bridge/key_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "controller/quoted_word.h"

namespace gearshift {
namespace {

constexpr std::size_t kMaxKeyFileBytes = 4096;

[[noreturn]] void fail_key(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + ": " + why);
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

// Refuses what another user may have written or may read.
void require_private(const std::filesystem::path& path, const struct stat& status) {
  if (status.st_uid != ::geteuid()) {
    fail_key(path, "belongs to user " + std::to_string(status.st_uid) + ", not to this one (" +
                       std::to_string(::geteuid()) + "); keys are used by their owner only" +
                       (::geteuid() == 0
                            ? ": run this with sudo -u '#" + std::to_string(status.st_uid) + "'"
                            : ""));
  }
  if ((status.st_mode & 077U) != 0) {
    const char* const mode = S_ISDIR(status.st_mode) ? "0700 " : "0600 ";
    fail_key(path, "has mode " + octal(status.st_mode) +
                       ", so that other users can get at it; after chmod " + mode +
                       quoted_word(path.string()) +
                       " it is used, but where others may have read a secret key make new ones");
  }
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// The text of a private file. nullopt where there is none.
std::optional<std::string> read_private(const std::filesystem::path& path, std::size_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0) {
    const int code = errno;
    if (code == ENOENT) return std::nullopt;
    std::error_code ignored;
    const bool link = code == ELOOP && std::filesystem::is_symlink(path, ignored);
    fail_key(path, link ? "is a link, and is not used; give the file itself" : std::strerror(code));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_key(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail_key(path, "is no file");
  require_private(path, status);
  std::string text(most_bytes + 1, '\0');
  std::size_t size = 0;
  ssize_t count = 0;
  while (size < text.size() &&
         (count = ::read(file.get(), text.data() + size, text.size() - size)) > 0) {
    size += static_cast<std::size_t>(count);
  }
  if (count < 0) fail_key(path, std::strerror(errno));
  if (size > most_bytes) fail_key(path, "is larger than " + std::to_string(most_bytes) + " bytes");
  text.resize(size);
  return text;
}

// 0 once all of it is on the disk, else the error. A disk that is full takes a part first.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

enum class Existing { refuse, replace };

// Through a file beside it, so that nobody ever reads half of one.
void write_private(const std::filesystem::path& path, const std::string& text, Existing existing) {
  std::string beside = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));  // of mode 0600 from the beginning
  if (file.get() < 0) fail_key(path, std::string("cannot be written: ") + std::strerror(errno));
  int code = write_all(file.get(), text);
  const bool written = code == 0;
  const bool named =
      written && (existing == Existing::replace ? ::rename(beside.c_str(), path.c_str()) == 0
                                                : ::link(beside.c_str(), path.c_str()) == 0);
  if (written && !named) code = errno;
  if (!named || existing == Existing::refuse) ::unlink(beside.c_str());
  if (named) return;
  if (written && code == EEXIST) {
    fail_key(path,
             "is there already and is not overwritten: who has the old pair would be shut out; "
             "remove the file first where that is what you want");
  }
  fail_key(path, std::string("cannot be written: ") + std::strerror(code));
}

std::string parse_key(const std::string& word, std::string_view value) {
  if (!is_key(value)) {
    throw std::runtime_error(word + " is no key: one has " + std::to_string(kKeyCharacters) +
                             " characters of Z85");
  }
  return std::string(value);
}

void take_line(std::string_view line, KeyFile& file) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string word(line.substr(0, blank));
  const std::string_view value = line.substr(std::min(blank + 1, line.size()));
  const std::array<std::pair<std::string_view, std::string*>, 4> known = {
      {{"name", &file.name},
       {"public", &file.pair.public_key},
       {"secret", &file.pair.secret_key},
       {"server", &file.server_key}}};
  const auto* const entry =
      std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == word; });
  if (entry == known.end()) {
    throw std::runtime_error("begins with no word that is known: name, public, secret, server");
  }
  if (!entry->second->empty()) throw std::runtime_error(word + " is there twice");
  if (word == "name" && !is_client_name(value)) throw std::runtime_error("name is no client's");
  *entry->second = word == "name" ? std::string(value) : parse_key(word, value);
}

void require_pair(const KeyPair& pair) {
  if (pair.public_key.empty() || pair.secret_key.empty()) {
    throw std::runtime_error("it has not both a public and a secret key");
  }
  std::array<char, kKeyCharacters + 1> derived{};
  if (::zmq_curve_public(derived.data(), pair.secret_key.c_str()) != 0) {
    throw std::runtime_error(std::string("CURVE: ") + zmq_strerror(errno));
  }
  if (pair.public_key != derived.data()) {
    throw std::runtime_error("its public key is not that of its secret key");
  }
}

// `parse` with the file's name before what it throws.
template <typename Parse>
auto parse_file(const std::filesystem::path& path, const Parse& parse) {
  try {
    return parse();
  } catch (const std::runtime_error& error) {
    fail_key(path, error.what());
  }
}

}  // namespace

KeyPair make_key_pair() {
  std::array<char, kKeyCharacters + 1> public_key{};
  std::array<char, kKeyCharacters + 1> secret_key{};
  do {
    if (::zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
      throw std::runtime_error(std::string("this libzmq makes no CURVE keys: ") +
                               zmq_strerror(errno) + "; install one that was built with libsodium");
    }
  } while (public_key[0] == '-');  // on a command line it would be taken for an option
  return {public_key.data(), secret_key.data()};
}

KeyFile parse_key_file(std::string_view text) {
  KeyFile file;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    try {
      take_line(line, file);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  require_pair(file.pair);
  return file;
}

std::string key_file_text(const KeyFile& file) {
  std::string text = "# A key of gearshift. Whoever reads the secret line can use it: mode 0600.\n";
  if (!file.name.empty()) text += "name " + file.name + "\n";
  text += "public " + file.pair.public_key + "\nsecret " + file.pair.secret_key + "\n";
  if (!file.server_key.empty()) text += "server " + file.server_key + "\n";
  return text;
}

// The parent of DIR/ and of DIR/. is DIR itself, which would be made as what is above it is.
KeyFolder::KeyFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  while (folder_.has_relative_path() && folder_.has_parent_path() &&
         (!folder_.has_filename() || folder_.filename() == ".")) {
    folder_ = folder_.parent_path();
  }
}

bool KeyFolder::has_server() const {
  struct stat status {};
  if (::stat(server_path().c_str(), &status) == 0) return true;
  const int code = errno;
  if (code == ENOENT || code == ENOTDIR) return false;
  fail_key(server_path(),
           std::string("cannot be looked for: ") + std::strerror(code) +
               "; keys are used by their owner only: where root made them, they are this user's "
               "after chown -R " +
               std::to_string(::geteuid()) + ' ' + quoted_word(folder_.string()));
}

void KeyFolder::make() const {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_key(folder_, std::string("cannot be made: ") + std::strerror(errno) +
                          "; give another folder with --keys");
  }
  struct stat status {};
  if (::lstat(folder_.c_str(), &status) != 0) fail_key(folder_, std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) fail_key(folder_, "is no folder");
  require_private(folder_, status);
}

KeyPair KeyFolder::read_server() const {
  struct stat status {};
  if (::lstat(folder_.c_str(), &status) == 0) require_private(folder_, status);
  const std::optional<std::string> text = read_private(server_path(), kMaxKeyFileBytes);
  if (!text)
    fail_key(server_path(), "is missing; make the daemon's keys with gearshift keys server");
  return parse_file(server_path(), [&] { return parse_key_file(*text); }).pair;
}

ClientTable KeyFolder::read_clients() const {
  const std::optional<std::string> text = read_private(clients_path(), kMaxClientsBytes);
  return parse_file(clients_path(), [&] { return ClientTable::parse(text.value_or("")); });
}

void KeyFolder::write_clients(const ClientTable& clients) const {
  write_private(clients_path(), clients.text(), Existing::replace);
}

KeyFile read_client_key(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_private(path, kMaxKeyFileBytes);
  if (!text) fail_key(path, "is missing; gearshift keys client makes one");
  return parse_file(path, [&] {
    KeyFile file = parse_key_file(*text);
    if (file.server_key.empty()) {
      throw std::runtime_error(
          "it has no server line: give the file that gearshift keys client made");
    }
    return file;
  });
}

void write_key_file(const std::filesystem::path& path, const KeyFile& file) {
  write_private(path, key_file_text(file), Existing::refuse);
}

KeyFolderLock::KeyFolderLock(const KeyFolder& folder)
    : descriptor_(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX) != 0) {
    const int code = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    fail_key(folder.path(), std::strerror(code));
  }
}

KeyFolderLock::~KeyFolderLock() { ::close(descriptor_); }

}  // namespace gearshift
