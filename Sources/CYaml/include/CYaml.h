// libyaml, the configuration parser of the gateway.
#pragma once
#include <yaml.h>
