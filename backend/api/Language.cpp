// Gives the frontend's table of builtins to the outside.
#include "backend/api/Language.h"
#include "frontend/builtins/Builtins.h"

std::map<std::string, std::string> tw::api::builtinSignatures() { return tw::builtinSignatures(); }
