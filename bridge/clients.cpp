#include "bridge/clients.h"

#include <zmq.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kHead =
    "# Clients that may come in over tcp, written by gearshift keys: name, public key, rights.\n";

// Which folder that is, a client on another machine is not told.
constexpr std::string_view kGranting =
    "the daemon's operator can grant it (with its --keys or --state): ";

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The next word of `line`, which loses it; empty at its end.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

void check(const Client& client) {
  if (!is_client_name(client.name)) {
    throw std::runtime_error("a client's name is 1 to " + std::to_string(kMaxClientNameBytes) +
                             " letters, digits, dots, dashes and underscores, of which the first "
                             "is a letter or a digit");
  }
  if (!is_key(client.public_key)) {
    throw std::runtime_error("the public key of " + client.name + " is no key: one has " +
                             std::to_string(kKeyCharacters) +
                             " characters of Z85, as gearshift keys prints it");
  }
}

}  // namespace

std::string_view right_name(Right right) {
  constexpr std::array<std::string_view, 3> kNames = {"report", "request-batch-size",
                                                      "change-caps"};
  return kNames[static_cast<std::size_t>(right)];
}

std::optional<Right> right_named(std::string_view name) {
  for (const Right right : kRights) {
    if (right_name(right) == name) return right;
  }
  return std::nullopt;
}

std::string rights_text(Rights rights) {
  std::string text;
  for (const Right right : kRights) {
    if (!rights.has(right)) continue;
    if (!text.empty()) text += ',';
    text += right_name(right);
  }
  return text.empty() ? "none" : text;
}

Rights parse_rights(std::string_view text) {
  Rights rights;
  if (text == "none") return rights;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::optional<Right> right = right_named(text.substr(0, comma));
    if (!right) {
      // A word of a broken file may be a key that slipped in: it is shown only where it is short.
      const std::string word(text.substr(0, comma));
      throw std::runtime_error((word.size() <= kMaxClientNameBytes ? "'" + word + "'" : "a word") +
                               " is no right; rights are report, request-batch-size and "
                               "change-caps, or none");
    }
    rights.add(*right);
    if (comma == std::string_view::npos) return rights;
    text.remove_prefix(comma + 1);
  }
}

bool is_client_name(std::string_view name) {
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxClientNameBytes && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool is_key(std::string_view text) {
  if (text.size() != kKeyCharacters || text.find('\0') != std::string_view::npos) return false;
  std::array<std::uint8_t, 32> bytes{};
  return ::zmq_z85_decode(bytes.data(), std::string(text).c_str()) != nullptr;
}

ClientTable ClientTable::parse(std::string_view text) {
  if (text.size() > kMaxClientsBytes) {
    throw std::runtime_error("it is larger than " + std::to_string(kMaxClientsBytes) + " bytes");
  }
  ClientTable table;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view name = next_word(line);
    if (name.empty() || name.front() == '#') continue;
    const std::string_view key = next_word(line);
    const std::string_view rights = next_word(line);
    try {
      if (rights.empty() || !next_word(line).empty()) {
        throw std::runtime_error("it has not the three words NAME KEY RIGHTS");
      }
      if (table.find_name(name) != nullptr) {
        throw std::runtime_error("client " + std::string(name) + " is there twice");
      }
      table.put({std::string(name), std::string(key), parse_rights(rights)});
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return table;
}

std::string ClientTable::text() const {
  std::string text(kHead);
  for (const Client& client : clients_) {
    text += client.name + " " + client.public_key + " " + rights_text(client.rights) + "\n";
  }
  return text;
}

const Client* ClientTable::find_key(std::string_view public_key) const {
  for (const Client& client : clients_) {
    if (client.public_key == public_key) return &client;
  }
  return nullptr;
}

const Client* ClientTable::find_name(std::string_view name) const {
  for (const Client& client : clients_) {
    if (client.name == name) return &client;
  }
  return nullptr;
}

void ClientTable::put(Client client) {
  check(client);
  const Client* const same_key = find_key(client.public_key);
  if (same_key != nullptr && same_key->name != client.name) {
    throw std::runtime_error("the key of " + client.name + " is that of " + same_key->name +
                             ": give each client a key of its own");
  }
  for (Client& known : clients_) {
    if (known.name != client.name) continue;
    known = std::move(client);
    return;
  }
  if (clients_.size() >= kMaxClients) {
    throw std::runtime_error(std::to_string(kMaxClients) +
                             " clients are authorised, which is the most: revoke one");
  }
  clients_.push_back(std::move(client));
}

bool ClientTable::remove(std::string_view name) {
  return std::erase_if(clients_, [name](const Client& client) { return client.name == name; }) > 0;
}

std::string authorising(std::string_view name, std::string_view public_key) {
  // No character of Z85, and none of a name, ends a quotation.
  return "gearshift keys authorise " + std::string(name.empty() ? "NAME" : name) + " '" +
         std::string(public_key.empty() ? "KEY" : public_key) + "'";
}

std::string lacking(const Caller& caller, Right right) {
  const std::string word(right_name(right));
  if (caller.name.empty()) {
    return "this client's key is not authorised any more; " + std::string(kGranting) +
           authorising("", caller.public_key) + " --right " + word;
  }
  const std::string name(caller.name);
  return "client " + name + " lacks the right " + word + "; " + std::string(kGranting) +
         "gearshift keys authorise " + name + " --right " + word;
}

}  // namespace gearshift
