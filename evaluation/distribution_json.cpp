#include "evaluation/distribution_json.h"

namespace gearshift {

nlohmann::ordered_json to_json(const Distribution& of) {
  if (of.count == 0) return {};
  return {{"median", of.median},
          {"first_quartile", of.first_quartile},
          {"third_quartile", of.third_quartile},
          {"mean", of.mean},
          {"least", of.least},
          {"most", of.most}};
}

}  // namespace gearshift
