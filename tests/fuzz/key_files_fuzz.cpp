// Feeds arbitrary bytes to the table of clients and to key files: taken, or refused with an error
// that shows no secret; what is taken reads back as it was.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bridge/key_files.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read_clients(std::string_view text) {
  try {
    const auto table = gearshift::ClientTable::parse(text);
    require(gearshift::ClientTable::parse(table.text()).clients() == table.clients());
    for (const auto& client : table.clients()) {
      require(gearshift::is_client_name(client.name) && gearshift::is_key(client.public_key));
      require(table.find_key(client.public_key) == &client);
    }
  } catch (const std::runtime_error& error) {
    require(std::string_view(error.what()).size() < 512);
  }
}

void read_key_file(std::string_view text) {
  try {
    const gearshift::KeyFile file = gearshift::parse_key_file(text);
    const auto again = gearshift::parse_key_file(gearshift::key_file_text(file));
    require(again.pair.secret_key == file.pair.secret_key && again.name == file.name);
  } catch (const std::runtime_error& error) {
    // Any line may hold a secret: no key of the text comes back.
    const std::string_view what(error.what());
    for (std::size_t i = 0; i + gearshift::kKeyCharacters <= text.size(); ++i) {
      const std::string_view word = text.substr(i, gearshift::kKeyCharacters);
      require(what.find(word) == std::string_view::npos || !gearshift::is_key(word));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_clients(text);
  read_key_file(text);
  return 0;
}
