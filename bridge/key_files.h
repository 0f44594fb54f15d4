// The files of `gearshift keys`: the daemon's pair, a client's pair, and who is authorised.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "bridge/clients.h"

namespace gearshift {

// Keys in Z85. Of the secret ones nothing is ever shown.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

// One file of a pair. A client's says who it is and which daemon it trusts; the daemon's has
// neither. Lines are a word and a value: name, public, secret, server; # begins a comment line.
struct KeyFile {
  std::string name;
  KeyPair pair;
  std::string server_key;  // the daemon's public key
};

// A new pair of libzmq's CURVE (elliptic curve 25519), whose public key does not begin like an
// option of a command line. Throws std::runtime_error where this libzmq was built without it.
KeyPair make_key_pair();

// Throws std::runtime_error naming the line and what is wrong, without what it holds: a secret key
// may be on any line. Refuses a secret key that is not the public one's.
KeyFile parse_key_file(std::string_view text);
std::string key_file_text(const KeyFile& file);

// The folder of the daemon's keys: server.key, clients, and a NAME.key for each client whose pair
// was made there.
class KeyFolder {
 public:
  // A slash at the end counts for nothing.
  explicit KeyFolder(std::filesystem::path folder);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path server_path() const { return folder_ / "server.key"; }
  std::filesystem::path clients_path() const { return folder_ / "clients"; }
  std::filesystem::path client_path(const std::string& name) const {
    return folder_ / (name + ".key");
  }
  // Throws where that cannot be told.
  bool has_server() const;

  // Makes the folder (mode 0700) where it is missing, in one that is there.
  void make() const;
  // Each throws std::runtime_error naming the file and the way out, and refuses a folder or a file
  // that other users may read or that is not this user's.
  KeyPair read_server() const;
  ClientTable read_clients() const;  // empty where there is no file yet
  void write_clients(const ClientTable& clients) const;

 private:
  std::filesystem::path folder_;
};

// Reads a client's file, as a client does: with the checks above.
KeyFile read_client_key(const std::filesystem::path& path);

// Writes a file of mode 0600 that was not there; makes it whole on disk before it has its name.
// Throws std::runtime_error, also where there is a file of that name.
void write_key_file(const std::filesystem::path& path, const KeyFile& file);

// Holds other `gearshift keys` off while it lives. Throws as KeyFolder.
class KeyFolderLock {
 public:
  explicit KeyFolderLock(const KeyFolder& folder);
  ~KeyFolderLock();
  KeyFolderLock(const KeyFolderLock&) = delete;
  KeyFolderLock& operator=(const KeyFolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace gearshift
