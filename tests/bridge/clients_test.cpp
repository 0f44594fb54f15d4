#include "bridge/clients.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "bridge/client_budgets.h"
#include "bridge/key_files.h"
#include "tests/fakes/says.h"

namespace gearshift {
namespace {

using fakes::says;

using std::string_literals::operator""s;

const std::string kOne = make_key_pair().public_key;
const std::string kOther = make_key_pair().public_key;

std::string failure_of(const std::string& text) {
  try {
    ClientTable::parse(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Rights, AreReadAsTheyAreWritten) {
  EXPECT_EQ(parse_rights("report"), Rights{Right::report});
  EXPECT_EQ(parse_rights("change-caps,report"), (Rights{Right::report, Right::change_caps}));
  EXPECT_EQ(parse_rights("none"), Rights());
  EXPECT_EQ(rights_text(Rights::all()), "report,request-batch-size,change-caps");
  EXPECT_EQ(rights_text({}), "none");
  for (const Right right : kRights) EXPECT_EQ(right_named(right_name(right)), right);
}

TEST(Rights, AreNoOthers) {
  for (const char* text : {"", "all", "report,", ",report", "Report", "report change-caps",
                           "none,report", "report,,change-caps"}) {
    EXPECT_THROW(parse_rights(text), std::runtime_error) << text;
  }
  try {
    parse_rights("reprot");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(says(error.what(), "'reprot'"));
    EXPECT_TRUE(says(error.what(), "request-batch-size"));
  }
}

TEST(Rights, OfACallerWithoutAKeyAreAll) { EXPECT_EQ(Caller{}.rights, Rights::all()); }

TEST(Rights, ThatAreLackingAreNamedWithTheWayOut) {
  const Caller caller{"drone7", {}, true};
  const std::string text = lacking(caller, Right::request_batch_size);
  EXPECT_TRUE(says(text, "gearshift keys authorise drone7 --right request-batch-size")) << text;
  EXPECT_TRUE(says(text, "(with its --keys or --state)")) << "the daemon's keys may be anywhere";
  const std::string longest(kMaxClientNameBytes, 'a');
  const std::string observed = "only observed: ";  // as a welcome begins
  EXPECT_LE((observed + lacking({longest, {}, true}, Right::request_batch_size)).size(), 256u);
  Caller unknown{{}, {}, true};
  EXPECT_TRUE(says(lacking(unknown, Right::report), "authorise NAME 'KEY' --right report"));
  unknown.public_key = kOne;
  const std::string of_key = lacking(unknown, Right::request_batch_size);
  EXPECT_TRUE(says(of_key, "authorise NAME '" + std::string(kOne) + "' --right request-b"))
      << of_key;
  EXPECT_LE(of_key.size(), 256u);
}

TEST(ClientTable, IsReadAsItIsWritten) {
  ClientTable table;
  table.put({"drone7", kOne, {Right::report}});
  table.put({"fleet.ground-1", kOther, Rights::all()});
  const ClientTable again = ClientTable::parse(table.text());
  EXPECT_EQ(again.clients(), table.clients());
  EXPECT_EQ(again.find_key(kOther)->name, "fleet.ground-1");
  EXPECT_EQ(again.find_name("drone7")->rights, Rights{Right::report});
  EXPECT_EQ(again.find_name("drone8"), nullptr);
  EXPECT_EQ(again.find_key(""), nullptr);
}

TEST(ClientTable, TakesCommentsBlanksAndLineEndsOfOtherSystems) {
  const ClientTable table =
      ClientTable::parse("# drones\n\n  drone7\t" + kOne + "  report  \r\n#x\n");
  ASSERT_EQ(table.clients().size(), 1u);
  EXPECT_TRUE(ClientTable::parse("").clients().empty());
}

TEST(ClientTable, RefusesALineThatIsNoClientAndNamesIt) {
  EXPECT_TRUE(says(failure_of("\ndrone7\n"), "line 2: it has not the three words"));
  EXPECT_TRUE(says(failure_of("drone7 " + kOne + "\n"), "line 1: it has not the three words"));
  EXPECT_TRUE(says(failure_of("drone7 " + kOne + " report now"), "three words"));
  EXPECT_TRUE(says(failure_of("drone7 " + kOne + " root"), "'root' is no right"));
  EXPECT_TRUE(says(failure_of("drone7 " + kOne.substr(1) + " report"), "is no key"));
  EXPECT_TRUE(says(failure_of("drone7 " + std::string(40, '~') + " report"), "is no key"));
  EXPECT_TRUE(says(failure_of("drone7 " + std::string(40, '#') + " report"), "is no key"))
      << "five # are more than 32 bits";
  EXPECT_TRUE(says(failure_of("../drone " + kOne + " report"), "name"));
  EXPECT_TRUE(says(failure_of("-x " + kOne + " report"), "name"));
  EXPECT_TRUE(says(failure_of("a\0b "s + kOne + " report"), "name"));
  EXPECT_TRUE(says(failure_of(std::string(33, 'a') + " " + kOne + " report"), "name"));
  EXPECT_EQ(failure_of(std::string(32, 'a') + " " + kOne + " report"), "");
  EXPECT_TRUE(says(failure_of("a " + kOne + " report\na " + kOther + " report"), "line 2"));
  EXPECT_TRUE(says(failure_of("a " + kOne + " report\nb " + kOne + " report"), "is that of a"));
  EXPECT_TRUE(says(failure_of(std::string(kMaxClientsBytes + 1, '\n')), "larger"));
  EXPECT_EQ(failure_of(std::string(kMaxClientsBytes, '\n')), "");
}

TEST(ClientTable, HasAnEnd) {
  ClientTable table;
  for (std::size_t i = 0; i < kMaxClients; ++i) {
    table.put({"c" + std::to_string(i), make_key_pair().public_key, {}});
  }
  EXPECT_THROW(table.put({"more", kOne, {}}), std::runtime_error);
  EXPECT_NO_THROW(table.put({"c0", kOne, {}})) << "one that is there gets another key";
  EXPECT_TRUE(table.remove("c1"));
  EXPECT_FALSE(table.remove("c1"));
  EXPECT_NO_THROW(table.put({"more", kOther, {}}));
}

TEST(ClientBudgets, CountEachNameByItself) {
  ClientBudgets budgets(TokenBucket(2, std::chrono::milliseconds(10)));
  Time now{std::chrono::hours(1)};
  EXPECT_TRUE(budgets.take("a", now));
  EXPECT_TRUE(budgets.take("a", now));
  EXPECT_FALSE(budgets.take("a", now));
  EXPECT_TRUE(budgets.take("b", now));
  now += std::chrono::milliseconds(10);
  EXPECT_TRUE(budgets.take("a", now));
  EXPECT_FALSE(budgets.take("a", now));
}

}  // namespace
}  // namespace gearshift
