/* The texts of the enums of deep_pair.h. */
#include "model/deep_pair.h"

ENUM_DEFINE(deep_pair_result, DEEP_PAIR_RESULT_LIST)
ENUM_DEFINE(deep_pair_word, DEEP_PAIR_WORD_LIST)
