/* Failures as a number and a message. */
#include "runtime/aot/Tables.h"
#include <stdarg.h>
#include <stdio.h>

static int tw_fail(struct tilewright_error *error, int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

static int tw_fail(struct tilewright_error *error, int code, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    (void)vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);
  }
  return code;
}
