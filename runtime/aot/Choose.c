/* Finds the specialization that a launch runs: the first whose assumptions all hold. */
#include "runtime/aot/Tables.h"
#include <inttypes.h>

/* An export writes these by the rows of runtime/arguments/ArgumentFacts.def: tells whether an
 * integer of so many bits is as a rule says, and what that is ("not negative"). */
static int tw_rule_holds(int64_t rule, uint64_t bits, unsigned width);
static const char *tw_rule_needs(int64_t rule);

static int tw_holds(const struct tw_kernel *kernel, const struct tw_fact *fact,
                    const uint64_t *values) {
  uint64_t value = values[fact->argument];
  switch (fact->assumption) {
  case TW_EQUALS:
    return value == (uint64_t)fact->value;
  case TW_DIVISIBLE:
    return (value & (uint64_t)(fact->value - 1)) == 0;
  case TW_RULE:
    return tw_rule_holds(fact->value, value, kernel->arguments[fact->argument].bits);
  case TW_AT_LEAST:
    return (int64_t)value >= fact->value;
  case TW_AT_MOST:
    return (int64_t)value <= fact->value;
  default:
    for (unsigned i = 0; i < kernel->num_arguments; ++i)
      if (i != fact->argument && kernel->arguments[i].is_pointer && values[i] == value)
        return 0;
    return 1;
  }
}

static const struct tw_variant *tw_choose(const struct tw_kernel *kernel, const uint64_t *values) {
  for (unsigned i = 0; i < kernel->num_variants; ++i) {
    const struct tw_variant *variant = &kernel->variants[i];
    unsigned held = 0;
    while (held < variant->num_facts && tw_holds(kernel, &variant->facts[held], values))
      ++held;
    if (held == variant->num_facts)
      return variant;
  }
  return NULL;
}

static int tw_refuse_fact(const struct tw_kernel *kernel, const struct tw_variant *nearest,
                          const struct tw_fact *fact, const uint64_t *values,
                          struct tilewright_error *error) {
  const struct tw_argument *argument = &kernel->arguments[fact->argument];
  uint64_t value = values[fact->argument];
  int64_t number = argument->bits == 32 ? (int32_t)(uint32_t)value : (int64_t)value;
  const char *head = "no specialization of %s in the package fits; the nearest is (%s)";
  char start[384];
  (void)snprintf(start, sizeof(start), head, kernel->name, nearest->name);
  if (fact->assumption == TW_DISJOINT)
    return tw_fail(error, TILEWRIGHT_OVERLAP,
                   "%s, and `%s`, which it stores to, is passed for another parameter too", start,
                   argument->name);
  if (fact->assumption == TW_DIVISIBLE && argument->is_pointer)
    return tw_fail(error, TILEWRIGHT_MISALIGNED,
                   "%s, and `%s` is 0x%" PRIx64 ", not a multiple of %" PRId64, start,
                   argument->name, value, fact->value);
  if (fact->assumption == TW_EQUALS)
    return tw_fail(error, TILEWRIGHT_NO_VARIANT, "%s, and `%s` is %" PRId64 " instead of %" PRId64,
                   start, argument->name, number, fact->value);
  if (fact->assumption == TW_AT_LEAST || fact->assumption == TW_AT_MOST)
    return tw_fail(error, TILEWRIGHT_NO_VARIANT, "%s, and `%s` is %" PRId64 ", %s than %" PRId64,
                   start, argument->name, number, fact->assumption == TW_AT_LEAST ? "less" : "more",
                   fact->value);
  if (fact->assumption == TW_DIVISIBLE)
    return tw_fail(error, TILEWRIGHT_NO_VARIANT,
                   "%s, and `%s` is %" PRId64 ", not a multiple of %" PRId64, start, argument->name,
                   number, fact->value);
  return tw_fail(error, TILEWRIGHT_NO_VARIANT, "%s, and `%s` is %" PRId64 ", but must be %s",
                 start, argument->name, number, tw_rule_needs(fact->value));
}

/* Says why no variant was chosen: what the one with the fewest assumptions that fail lacks. */
static int tw_refuse(const struct tw_kernel *kernel, const uint64_t *values,
                     struct tilewright_error *error) {
  const struct tw_variant *nearest = NULL;
  const struct tw_fact *why = NULL;
  unsigned fewest = ~0u;
  for (unsigned i = 0; i < kernel->num_variants; ++i) {
    const struct tw_variant *variant = &kernel->variants[i];
    const struct tw_fact *first = NULL;
    unsigned failed = 0;
    for (unsigned j = 0; j < variant->num_facts; ++j)
      if (!tw_holds(kernel, &variant->facts[j], values)) {
        first = first ? first : &variant->facts[j];
        ++failed;
      }
    if (failed <= fewest) {
      nearest = variant;
      why = first;
      fewest = failed;
    }
  }
  return tw_refuse_fact(kernel, nearest, why, values, error);
}
