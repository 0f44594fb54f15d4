// Who may come in over tcp: clients by their public key, and what each of them may do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

inline constexpr std::size_t kKeyCharacters = 40;  // of a CURVE key in Z85, ZeroMQ's RFC 32
inline constexpr std::size_t kMaxClients = 256;
inline constexpr std::size_t kMaxClientNameBytes = 32;
inline constexpr std::size_t kMaxClientsBytes = 64 * 1024;

enum class Right : std::uint8_t {
  report,              // attach and report minibatches and requests; it is observed only
  request_batch_size,  // be managed: its reports steer the search, and it gets set commands
  change_caps,         // all that a control endpoint answers: status, cap, goal and stop
};
inline constexpr Right kRights[] = {Right::report, Right::request_batch_size, Right::change_caps};

// "report", "request-batch-size", "change-caps".
std::string_view right_name(Right right);
std::optional<Right> right_named(std::string_view name);

class Rights {
 public:
  Rights() = default;
  Rights(std::initializer_list<Right> rights) {
    for (const Right right : rights) add(right);
  }
  static Rights all() { return {Right::report, Right::request_batch_size, Right::change_caps}; }

  void add(Right right) { bits_ = static_cast<std::uint8_t>(bits_ | bit(right)); }
  bool has(Right right) const { return (bits_ & bit(right)) != 0; }
  bool operator==(const Rights&) const = default;

 private:
  static std::uint8_t bit(Right right) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(right));
  }
  std::uint8_t bits_ = 0;
};

// "report,change-caps"; "none" where there is none.
std::string rights_text(Rights rights);
// Reads rights_text(). Throws std::runtime_error naming the word that is no right, and those that
// are.
Rights parse_rights(std::string_view text);

struct Client {
  std::string name;
  std::string public_key;  // Z85
  Rights rights;
  bool operator==(const Client&) const = default;
};

// The file `clients`: a line a client, "NAME KEY RIGHTS" between blanks; lines that begin with #
// are comments.
class ClientTable {
 public:
  // Throws std::runtime_error naming the line and what is wrong: a name that is not 1 to 32 of
  // letters, digits and . _ -, a key that is none, a right that is none, one that is there twice.
  static ClientTable parse(std::string_view text);
  std::string text() const;

  const std::vector<Client>& clients() const { return clients_; }
  const Client* find_key(std::string_view public_key) const;
  const Client* find_name(std::string_view name) const;
  // Adds a client, or gives the one of its name another key and other rights. Throws as parse().
  void put(Client client);
  bool remove(std::string_view name);  // false where there is none of that name

 private:
  std::vector<Client> clients_;  // in the order of the file
};

// True for a name that a client may have.
bool is_client_name(std::string_view name);
// True for 40 characters that are a key in Z85.
bool is_key(std::string_view text);

// Who sent a message. The one who came over ipc or a loopback port without keys may do everything
// that the socket is for: the operating system has let it in.
struct Caller {
  std::string_view name;  // of a client with a key; empty: without, or of a key that is unknown now
  Rights rights = Rights::all();
  bool keyed = false;
  bool same_machine = true;       // its process numbers are this machine's
  std::string_view public_key{};  // of a client with one, where it is known
};

// The command that lets in who has this key, which a shell takes as it is: keys have characters
// that a shell acts on. NAME and KEY stand for what is empty.
std::string authorising(std::string_view name, std::string_view public_key);

// What a caller is told that lacks a right, 256 bytes at most: which, and how it is granted.
std::string lacking(const Caller& caller, Right right);

}  // namespace gearshift
