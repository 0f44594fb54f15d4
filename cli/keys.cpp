// gearshift keys: the keys of a daemon that other machines may reach, and what each client may do.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "actuators/closed_folder.h"
#include "bridge/key_files.h"
#include "cli/commands.h"
#include "cli/state_folder.h"
#include "controller/quoted_word.h"

namespace gearshift {
namespace {

struct KeysOptions {
  std::string keys;
  std::string state;
  std::string name;
  std::string public_key;
  std::string server_key;
  std::string output;
  std::vector<std::string> rights;
  bool json = false;

  KeyFolder folder() const { return KeyFolder(keys_folder(keys, state)); }
  // Of another command that is to work on it too.
  std::string flag() const { return keys_folder_flag(keys, state); }
};

Rights rights_of(const std::vector<std::string>& words) {
  Rights rights;
  for (const std::string& word : words) {
    for (const Right right : kRights) {
      if (parse_rights(word).has(right)) rights.add(right);
    }
  }
  return rights;
}

// Also the folders above it that are missing, as the state folder's are made.
void make_folder(const KeyFolder& folder) {
  make_closed_folder(folder.path().parent_path());
  folder.make();
}

// Reads the table, lets `change` change it, and writes it, with other gearshift keys held off.
void change_clients(const KeyFolder& folder, const std::function<void(ClientTable&)>& change) {
  make_folder(folder);
  const KeyFolderLock lock(folder);
  ClientTable clients = folder.read_clients();
  change(clients);
  folder.write_clients(clients);
}

void make_server(const KeysOptions& options) {
  const KeyFolder folder = options.folder();
  make_folder(folder);
  const KeyFile file{"", make_key_pair(), ""};
  write_key_file(folder.server_path(), file);
  std::printf(
      "wrote %s\n"
      "the daemon's public key is %s\n"
      "next: gearshift keys client NAME%s for each client, then gearshift run --listen "
      "tcp://0.0.0.0:5555%s\n",
      folder.server_path().c_str(), file.pair.public_key.c_str(), options.flag().c_str(),
      options.flag().c_str());
  const std::filesystem::path& path = folder.path();
  if (const std::optional<unsigned> owner = foreign_owner(path.parent_path())) {
    std::printf("a daemon of user %u, whose folder %s is, uses them only after chown -R %u %s\n",
                *owner, path.parent_path().c_str(), *owner, quoted_word(path.string()).c_str());
  }
}

void check_name(const KeysOptions& options) {
  if (is_client_name(options.name)) return;
  throw std::invalid_argument(
      "client '" + options.name +
      "': give it 1 to 32 letters, digits, dots, dashes and underscores, of "
      "which the first is a letter or a digit");
}

// Of a client on another machine, where the daemon's folder is not: it authorises nobody.
void make_pair_here(const KeysOptions& options) {
  if (!is_key(options.server_key)) {
    throw std::invalid_argument("--server '" + options.server_key +
                                "': is no public key; gearshift keys server printed one");
  }
  const std::string path = options.output.empty() ? options.name + ".key" : options.output;
  const KeyFile file{options.name, make_key_pair(), options.server_key};
  write_key_file(path, file);
  std::printf(
      "wrote %s\n"
      "next, where the daemon runs: gearshift keys authorise %s '%s'\n",
      path.c_str(), options.name.c_str(), file.pair.public_key.c_str());
}

void make_client(const KeysOptions& options) {
  check_name(options);
  if (!options.server_key.empty()) {
    make_pair_here(options);
    return;
  }
  const KeyFolder folder = options.folder();
  const KeyPair server = folder.read_server();
  const std::string path =
      options.output.empty() ? folder.client_path(options.name).string() : options.output;
  const Rights rights = options.rights.empty() ? Rights{Right::report} : rights_of(options.rights);
  const KeyFile file{options.name, make_key_pair(), server.public_key};
  bool written = false;
  try {
    change_clients(folder, [&](ClientTable& clients) {
      if (clients.find_name(options.name) != nullptr) {
        throw std::runtime_error("client " + options.name +
                                 " is authorised already; gearshift keys revoke it first, or "
                                 "authorise it with another right");
      }
      clients.put({options.name, file.pair.public_key, rights});
      write_key_file(path, file);
      written = true;
    });
  } catch (...) {
    // A key that is in no table lets nobody in, and would be in the way of the next try.
    std::error_code ignored;
    if (written) std::filesystem::remove(path, ignored);
    throw;
  }
  std::printf(
      "wrote %s\n"
      "client %s may: %s\n"
      "next: take the file to the client's machine (scp -p), remove it here, and there set\n"
      "  GEARSHIFT_KEY=FILE GEARSHIFT_ENDPOINT=tcp://THIS_MACHINE:PORT\n",
      path.c_str(), options.name.c_str(), rights_text(rights).c_str());
}

void authorise(const KeysOptions& options) {
  check_name(options);
  if (!options.public_key.empty() && !is_key(options.public_key)) {
    throw std::invalid_argument("key '" + options.public_key +
                                "': is no public key; gearshift keys client printed one");
  }
  Client client{options.name, options.public_key, {}};
  change_clients(options.folder(), [&](ClientTable& clients) {
    const Client* const known = clients.find_name(options.name);
    if (known == nullptr && options.public_key.empty()) {
      throw std::runtime_error("client " + options.name +
                               " is not known yet: give its public key behind the name, or make a "
                               "pair for it with gearshift keys client " +
                               options.name);
    }
    if (known != nullptr && options.public_key.empty()) client.public_key = known->public_key;
    // Another key may be another machine: it begins with what is said here alone.
    const bool same = known != nullptr && known->public_key == client.public_key;
    if (same) client.rights = known->rights;
    const bool said = !options.rights.empty();
    const Rights more = said || same ? rights_of(options.rights) : Rights{Right::report};
    for (const Right right : kRights) {
      if (more.has(right)) client.rights.add(right);
    }
    clients.put(client);
  });
  std::printf("client %s may: %s\n", options.name.c_str(), rights_text(client.rights).c_str());
}

void revoke(const KeysOptions& options) {
  const KeyFolder folder = options.folder();
  const Rights taken = rights_of(options.rights);
  Rights left;
  change_clients(folder, [&](ClientTable& clients) {
    const Client* const known = clients.find_name(options.name);
    if (known == nullptr) {
      throw std::runtime_error("client " + options.name +
                               " is not authorised; gearshift keys list shows who is");
    }
    if (options.rights.empty()) {
      clients.remove(options.name);
      return;
    }
    for (const Right right : kRights) {
      if (known->rights.has(right) && !taken.has(right)) left.add(right);
    }
    clients.put({known->name, known->public_key, left});
  });
  if (!options.rights.empty()) {
    std::printf("client %s may: %s\n", options.name.c_str(), rights_text(left).c_str());
    return;
  }
  std::error_code ignored;
  std::filesystem::remove(folder.client_path(options.name), ignored);
  std::printf("client %s is revoked; a daemon that runs with these keys puts it out\n",
              options.name.c_str());
}

void list(const KeysOptions& options) {
  const KeyFolder folder = options.folder();
  const std::string server = folder.has_server() ? folder.read_server().public_key : "";
  const ClientTable clients = folder.read_clients();
  if (options.json) {
    nlohmann::ordered_json json = {{"folder", folder.path().string()},
                                   {"server", server},
                                   {"clients", nlohmann::json::array()}};
    for (const Client& client : clients.clients()) {
      nlohmann::ordered_json entry = {{"name", client.name},
                                      {"public_key", client.public_key},
                                      {"rights", nlohmann::json::array()}};
      for (const Right right : kRights) {
        if (client.rights.has(right)) entry["rights"].push_back(right_name(right));
      }
      json["clients"].push_back(entry);
    }
    std::printf(
        "%s\n",
        json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("daemon  %s\n",
              server.empty() ? "no key yet: gearshift keys server" : server.c_str());
  for (const Client& client : clients.clients()) {
    std::printf("client  %-32s %s  %s\n", client.name.c_str(), client.public_key.c_str(),
                rights_text(client.rights).c_str());
  }
  if (clients.clients().empty())
    std::printf("no client is authorised: gearshift keys client NAME\n");
}

using Action = void (*)(const KeysOptions&);

CLI::App* add_action(CLI::App& keys, const char* name, const char* text,
                     const std::shared_ptr<KeysOptions>& options, Action action, int& exit_code) {
  CLI::App* command = keys.add_subcommand(name, text);
  command->callback([options, action, &exit_code] {
    try {
      action(*options);
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift keys: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift keys: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
  command->add_option("--keys", options->keys, "folder of the keys (default: keys in --state)");
  command->add_option("--state", options->state,
                      std::string("state folder; ") + kStateFolderDefault);
  return command;
}

CLI::Option* add_rights(CLI::App& command, KeysOptions& options, const char* text) {
  return command.add_option("--right", options.rights, text)
      ->check(CLI::IsMember({"report", "request-batch-size", "change-caps"}));
}

}  // namespace

void add_keys(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<KeysOptions>();
  CLI::App* keys = app.add_subcommand(
      "keys", "Make the keys of a daemon that other machines may reach, and say who may do what");
  keys->require_subcommand(1);
  keys->footer(
      "Rights, the least first:\n"
      "  report              attach and report; it is observed only\n"
      "  request-batch-size  be managed: its reports steer the search, it gets batch sizes\n"
      "  change-caps         status, cap, goal and stop, over a tcp control endpoint\n"
      "Secret keys are never printed. A running daemon follows each change at once.\n"
      "Example: a trainer on another machine\n"
      "  gearshift keys server\n"
      "  gearshift keys client drone7 --right report --right request-batch-size\n"
      "  gearshift run --power 30W --listen tcp://0.0.0.0:5555\n"
      "Read docs/security.md before a daemon listens to other machines.");
  add_action(*keys, "server", "Make the daemon's pair, server.key", options, make_server,
             exit_code);
  CLI::App* client = add_action(*keys, "client", "Make a client's pair, NAME.key, and authorise it",
                                options, make_client, exit_code);
  client->add_option("name", options->name, "who it is, for example drone7")->required();
  CLI::Option* const right =
      add_rights(*client, *options, "what it may do; once for each right (default: report)");
  client->add_option("--output", options->output, "the file to write instead of NAME.key there");
  // Rights and folder are of the machine where the daemon is.
  client
      ->add_option("--server", options->server_key,
                   "the daemon's public key: make the pair on the client's own machine, in "
                   "NAME.key here, and authorise it where the daemon is")
      ->excludes(right)
      ->excludes(client->get_option("--keys"))
      ->excludes(client->get_option("--state"));
  CLI::App* authorised =
      add_action(*keys, "authorise", "Let a client in by its public key, or give one more rights",
                 options, authorise, exit_code);
  authorised->add_option("name", options->name, "who it is")->required();
  authorised->add_option(
      "key", options->public_key,
      "its public key, behind -- where it begins with a dash; left out: the one known");
  add_rights(*authorised, *options, "a right to add; a new client's is report by itself");
  CLI::App* revoked = add_action(*keys, "revoke", "Put a client out, or take rights from it",
                                 options, revoke, exit_code);
  revoked->add_option("name", options->name, "who it is")->required();
  add_rights(*revoked, *options, "take this right alone; left out: the client is forgotten");
  CLI::App* listed = add_action(*keys, "list", "Show the daemon's public key and its clients",
                                options, list, exit_code);
  listed->add_flag("--json", options->json, "JSON instead of text");
}

}  // namespace gearshift
