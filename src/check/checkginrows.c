#include "compat.h"
