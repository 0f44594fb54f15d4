#include "bridge/authenticator.h"

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/quoted_word.h"

namespace gearshift {
namespace {

constexpr char kEndpoint[] = "inproc://zeromq.zap.01";
constexpr std::string_view kVersion = "1.0";
constexpr int kMostAnswers = 64;
constexpr std::size_t kRequestFrames = 9;  // who asks, a delimiter, and RFC 27's seven
constexpr std::size_t kKeyBytes = 32;

// Z85 of a key's bytes; empty for anything else.
std::string key_text(std::string_view bytes) {
  if (bytes.size() != kKeyBytes) return {};
  std::array<char, kKeyCharacters + 1> text{};
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (::zmq_z85_encode(text.data(), data, bytes.size()) == nullptr) return {};
  return text.data();
}

bool same_machine(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// The property of a message, empty where it has none.
std::string_view property(zmq::message_t& frame, const char* name) {
  // cppzmq throws where there is none, and this is asked for every message.
  const char* const value = ::zmq_msg_gets(frame.handle(), name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Authenticator::Authenticator(zmq::context_t& context, const KeyFolder& folder)
    : folder_(folder),
      folder_flag_(
          " --keys " +
          quoted_word(std::filesystem::absolute(folder.path()).lexically_normal().string())),
      server_(folder.read_server()),
      watch_(folder.clients_path()),
      clients_(folder.read_clients()),
      socket_(context, zmq::socket_type::router) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(kEndpoint);
  if (!watch_.watches()) complain_unwatched();
}

void Authenticator::complain_unwatched() {
  complaint_ = folder_.clients_path().string() +
               ": cannot be watched, so that a client whose key is revoked stays until the daemon "
               "is started again; its folder must be there, or raise fs.inotify.max_user_instances";
}

bool Authenticator::decide(std::string_view domain, std::string_view address,
                           std::string_view mechanism, std::string_view credentials, Time now) {
  key_ = mechanism == "CURVE" ? key_text(credentials) : std::string();
  if (!key_.empty() && clients_.find_key(key_) != nullptr) return true;
  if (refusals_.take(now)) {
    // A public key may be shown, and is what the operator needs to let its owner in.
    complaint_ =
        "refused a client from " + std::string(address.substr(0, 64)) + " at the " +
        std::string(domain.substr(0, 16)) + " endpoint: " +
        (key_.empty() ? "it has no key; to let it in: gearshift keys client NAME"
                      : "its key is not authorised; to let it in: " + authorising("", key_)) +
        folder_flag_;
  }
  return false;
}

void Authenticator::answer(Time now) {
  std::vector<zmq::message_t> request;
  for (int count = 0; count < kMostAnswers; ++count) {
    request.clear();
    do {
      if (!socket_.recv(request.emplace_back(), zmq::recv_flags::dontwait)) return;
    } while (request.back().more());
    if (request.size() < kRequestFrames) continue;
    const auto text = [&](std::size_t i) { return request[i].to_string_view(); };
    const bool version_known = text(2) == kVersion;
    const bool let_in = version_known && decide(text(4), text(5), text(7), text(8), now);
    const std::array<std::string_view, 8> answer = {text(0),
                                                    "",
                                                    kVersion,
                                                    text(3),
                                                    let_in ? "200" : "400",
                                                    let_in ? "" : "not authorised",
                                                    let_in ? std::string_view(key_) : "",
                                                    ""};
    for (std::size_t i = 0; i < answer.size(); ++i) {
      const auto more = i + 1 < answer.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      socket_.send(zmq::const_buffer(answer[i].data(), answer[i].size()),
                   more | zmq::send_flags::dontwait);
    }
  }
}

bool Authenticator::take_changes() {
  if (!watch_.take_changes()) return false;
  if (!watch_.watches()) complain_unwatched();
  try {
    clients_ = folder_.read_clients();
    return true;
  } catch (const std::runtime_error& error) {
    complaint_ = std::string(error.what()) + "; the clients known before stay in force";
    return false;
  }
}

Caller Authenticator::caller_of(zmq::message_t& frame) const {
  Caller caller;
  caller.keyed = true;
  caller.rights = {};
  caller.same_machine = same_machine(property(frame, "Peer-Address"));
  caller.public_key = property(frame, "User-Id");
  if (const Client* client = clients_.find_key(caller.public_key)) {
    caller.name = client->name;
    caller.rights = client->rights;
  }
  return caller;
}

std::string Authenticator::take_complaint() { return std::exchange(complaint_, std::string()); }

}  // namespace gearshift
