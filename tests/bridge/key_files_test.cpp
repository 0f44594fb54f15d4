#include "bridge/key_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>

#include "tests/fakes/file_mode.h"
#include "tests/fakes/says.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using fakes::mode_of;
using fakes::says;

std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

class KeyFiles : public testing::Test {
 protected:
  void make_server() {
    folder.make();
    write_key_file(folder.server_path(), {"", pair, ""});
  }
  // What is wrong with a key file of this text; never its secret.
  std::string failure_of_text(const std::string& text) const {
    std::string failure = failure_of([&] { parse_key_file(text); });
    EXPECT_FALSE(says(failure, pair.secret_key)) << failure;
    EXPECT_FALSE(says(failure, pair.secret_key.substr(1))) << failure;
    return failure;
  }

  const fakes::TempTree tree;
  const KeyFolder folder{tree.at("/keys")};
  const KeyPair pair = make_key_pair();
  const KeyPair other = make_key_pair();
};

// One key in 85 would begin with a dash, and the command that authorises it be refused.
TEST(KeyPairs, ArePutOnACommandLineAsTheyAre) {
  for (int i = 0; i < 600; ++i) ASSERT_NE(make_key_pair().public_key.front(), '-');
}

TEST_F(KeyFiles, AreMadeForTheirOwnerOnlyWhateverTheUmask) {
  const mode_t old = ::umask(0);
  make_server();
  folder.write_clients({});
  ::umask(old);
  EXPECT_EQ(mode_of(folder.path()), 0700u);
  EXPECT_EQ(mode_of(folder.server_path()), 0600u);
  EXPECT_EQ(mode_of(folder.clients_path()), 0600u);
}

TEST_F(KeyFiles, AreMadeInAFolderThatIsThere) {
  const KeyFolder nowhere{tree.at("/none/keys")};
  EXPECT_TRUE(says(failure_of([&] { nowhere.make(); }), "cannot be made"));
}

// As a shell completes the name of a folder.
TEST_F(KeyFiles, MayBeInAFolderThatIsGivenWithASlashAtItsEnd) {
  int number = 0;
  for (const std::string end : {"/", "//", "/.", "/./"}) {
    const std::filesystem::path path = tree.at("/slash" + std::to_string(number++));
    const KeyFolder slashed{path.string() + end};
    EXPECT_EQ(failure_of([&] { slashed.make(); }), "") << end;
    EXPECT_EQ(mode_of(path), 0700u) << end;
    EXPECT_EQ(slashed.path(), path) << end;
    EXPECT_FALSE(slashed.has_server());
  }
  EXPECT_EQ(KeyFolder("/").path(), "/");
  EXPECT_EQ(KeyFolder("./").path(), ".");
}

TEST_F(KeyFiles, AreReadAsTheyAreWritten) {
  make_server();
  EXPECT_EQ(folder.read_server().public_key, pair.public_key);
  EXPECT_EQ(folder.read_server().secret_key, pair.secret_key);
  write_key_file(folder.client_path("drone7"), {"drone7", other, pair.public_key});
  const KeyFile client = read_client_key(folder.client_path("drone7"));
  EXPECT_EQ(client.name, "drone7");
  EXPECT_EQ(client.pair.secret_key, other.secret_key);
  EXPECT_EQ(client.server_key, pair.public_key);
  ClientTable clients;
  clients.put({"drone7", other.public_key, {Right::report}});
  folder.write_clients(clients);
  EXPECT_EQ(folder.read_clients().clients(), clients.clients());
}

TEST_F(KeyFiles, OfAnOlderPairAreNotOverwritten) {
  make_server();
  const std::string failure = failure_of([&] {
    write_key_file(folder.server_path(), {"", other, ""});
  });
  EXPECT_TRUE(says(failure, "there already")) << failure;
  EXPECT_EQ(folder.read_server().public_key, pair.public_key);
  // And nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST_F(KeyFiles, ThatAreMissingAreNamedWithTheWayOut) {
  EXPECT_TRUE(says(failure_of([&] { folder.read_server(); }), "gearshift keys server"));
  EXPECT_TRUE(says(failure_of([&] { read_client_key(tree.at("/x.key")); }), "x.key"));
  EXPECT_TRUE(folder.read_clients().clients().empty());
}

TEST_F(KeyFiles, ThatCannotBeLookedForAreNotSaidToBeMissing) {
  EXPECT_FALSE(folder.has_server());
  tree.link("/keys", "keys");
  const std::string looped = failure_of([&] { folder.has_server(); });
  EXPECT_TRUE(says(looped, "server.key: cannot be looked for: Too many levels")) << looped;
  if (::geteuid() != 0) return;
  tree.remove("/keys");
  make_server();
  EXPECT_TRUE(folder.has_server());
  ASSERT_EQ(::seteuid(12345), 0);
  const std::string denied = failure_of([&] { folder.has_server(); });
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_TRUE(says(denied, "Permission denied")) << denied;
  EXPECT_TRUE(says(denied, "chown -R 12345 " + folder.path().string())) << denied;
}

TEST_F(KeyFiles, OfAnotherUserTellRootWhoUsesThem) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  make_server();
  ASSERT_EQ(::lchown(folder.path().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_TRUE(says(failure_of([&] { folder.make(); }), "sudo -u '#12345'"));
}

TEST_F(KeyFiles, ThatOthersMayReadAreRefused) {
  make_server();
  for (const unsigned mode : {0604u, 0640u, 0620u, 0601u}) {
    ASSERT_EQ(::chmod(folder.server_path().c_str(), mode), 0);
    const std::string failure = failure_of([&] { folder.read_server(); });
    EXPECT_TRUE(says(failure, "chmod 0600")) << failure;
  }
  ASSERT_EQ(::chmod(folder.server_path().c_str(), 0400), 0);
  EXPECT_EQ(failure_of([&] { folder.read_server(); }), "");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0750), 0);
  EXPECT_TRUE(says(failure_of([&] { folder.read_server(); }), "chmod 0700"));
  EXPECT_TRUE(says(failure_of([&] { folder.make(); }), "chmod 0700"));
}

TEST_F(KeyFiles, AreNamedAsAShellTakesThem) {
  const KeyFolder spaced{tree.at("/my keys")};
  spaced.make();
  ASSERT_EQ(::chmod(spaced.path().c_str(), 0750), 0);
  const std::string failure = failure_of([&] { spaced.make(); });
  EXPECT_TRUE(says(failure, "chmod 0700 '" + spaced.path().string() + "' it is used")) << failure;
}

// As a disk does that is full, a limit takes the first part of what is written.
TEST_F(KeyFiles, OfWhichOnlyAPartCanBeWrittenAreNotMade) {
  folder.make();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 40;  // bytes
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  errno = EEXIST;  // of something else before
  const std::string failure = failure_of([&] {
    write_key_file(folder.server_path(), {"", pair, ""});
  });
  ::signal(SIGXFSZ, old);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(failure, folder.server_path().string() + ": cannot be written: File too large");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(KeyFiles, OfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  make_server();
  folder.write_clients({});
  ASSERT_EQ(::chown(folder.clients_path().c_str(), 1000, 1000), 0);
  EXPECT_TRUE(says(failure_of([&] { folder.read_clients(); }), "belongs to user 1000"));
}

TEST_F(KeyFiles, ThatAreLinksOrPipesAreRefused) {
  folder.make();
  write_key_file(folder.path() / "real", {"", pair, ""});
  std::filesystem::create_symlink(folder.path() / "real", folder.server_path());
  EXPECT_TRUE(says(failure_of([&] { folder.read_server(); }),
                   "server.key: is a link, and is not used; give the file itself"));
  ASSERT_EQ(::mkfifo(folder.clients_path().c_str(), 0600), 0);
  EXPECT_TRUE(says(failure_of([&] { folder.read_clients(); }), "is no file"));
}

TEST_F(KeyFiles, OfBadBytesAreRefusedByLine) {
  const std::string good = "public " + pair.public_key + "\nsecret " + pair.secret_key + "\n";
  EXPECT_EQ(failure_of_text(good), "");
  EXPECT_EQ(failure_of_text("# comment\n\n" + good), "");
  EXPECT_TRUE(says(failure_of_text(""), "not both"));
  EXPECT_TRUE(says(failure_of_text("public " + pair.public_key + "\n"), "not both"));
  EXPECT_TRUE(says(failure_of_text(good + "public " + pair.public_key), "line 3: public is there"));
  EXPECT_TRUE(says(failure_of_text(pair.secret_key + "\n" + good), "line 1"));
  EXPECT_TRUE(says(failure_of_text("secret " + pair.secret_key.substr(1)), "secret is no key"));
  EXPECT_TRUE(says(failure_of_text("secret " + pair.secret_key + "x"), "secret is no key"));
  EXPECT_TRUE(says(failure_of_text("name ../x\n" + good), "name is no client's"));
  EXPECT_TRUE(says(failure_of_text(std::string(3000, '\0')), "line 1"));
  const std::string mixed = "public " + other.public_key + "\nsecret " + pair.secret_key + "\n";
  EXPECT_TRUE(says(failure_of_text(mixed), "not that of its secret key"));
}

TEST_F(KeyFiles, ThatAreTooLargeAreRefused) {
  make_server();
  tree.put("/keys/server.key", std::string(4097, '\n'));
  EXPECT_TRUE(says(failure_of([&] { folder.read_server(); }), "larger"));
}

TEST_F(KeyFiles, OfAClientNameItsDaemon) {
  folder.make();
  write_key_file(folder.client_path("a"), {"a", pair, ""});
  EXPECT_TRUE(says(failure_of([&] { read_client_key(folder.client_path("a")); }), "server line"));
}

}  // namespace
}  // namespace gearshift
