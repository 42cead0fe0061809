"""Names in C: which ones kernels and parameters cannot have there, as somebody else has them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..native.errors import UnsupportedError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

# Words of C and C++, macros of the headers that packages include, and those that compilers predefine.
_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class compl concept const consteval constexpr constinit const_cast continue co_await "
    "co_return co_yield decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq NULL linux unix i386 errno offsetof stdin stdout "
    "stderr assert complex imaginary I size_t ptrdiff_t max_align_t intptr_t uintptr_t intmax_t "
    "uintmax_t nullptr_t".split()
)
_FIXED_WIDTH = re.compile(r"U?INT(_LEAST|_FAST|MAX|PTR|SIZE|)\d*_(C|MIN|MAX)|u?int(_least|_fast|)\d+_t")

# Functions of the C library and of POSIX that link everywhere, which a function of a package would
# replace, or whose declaration it would contradict. Those of <math.h> come as f and l, too.
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 "
    "fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p "
    "log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round "
    "scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc drem finite gamma significand j0 j1 jn "
    "y0 y1 yn cabs cacos carg casin catan ccos cexp cimag clog conj cpow cproj creal csin csqrt ctan"
).split()
_LIBRARY = frozenset(
    "abort abs accept access acos aligned_alloc alarm asctime asprintf atexit atof atoi atol atoll "
    "basename bcmp bcopy bind bsearch bzero calloc chdir chmod chown clearenv clock close closedir "
    "connect creat ctime difftime dirname div dlclose dlerror dlopen dlsym dprintf dup dup2 "
    "environ error execl execv execve execvp exit fclose fcntl feof ferror fflush ffs fgetc "
    "fgetpos fgets fileno fnmatch fopen fork fprintf fputc fputs fread free freopen fscanf fseek fsetpos "
    "fsync ftell ftruncate fwrite getc getchar getcwd getenv geteuid getline getopt getpid gets gettid "
    "getuid getw glob gmtime index insque ioctl isalnum isalpha isascii isatty isblank iscntrl isdigit "
    "isgraph islower isprint ispunct isspace isupper isxdigit kill labs ldiv link listen llabs lldiv "
    "localeconv localtime longjmp lseek lstat main malloc mblen mbtowc memccpy memchr memcmp memcpy "
    "memmem memmove mempcpy memset mkdir mknod mktime mmap mprotect munmap nanosleep nice open "
    "opendir pause pclose perror pipe poll popen prctl printf psignal putc putchar putenv puts putw "
    "qsort raise rand random read readdir readlink realloc realpath recv remove remque rename rewind "
    "rindex rmdir sbrk scanf select send setbuf setenv setjmp setlocale setvbuf shutdown sigaction "
    "signal sigprocmask sleep snprintf socket sprintf srand srandom sscanf stat stpcpy strcat "
    "strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen strncat strncmp strncpy "
    "strnlen strpbrk strrchr strsep strspn strstr strtod strtof strtok strtol strtold strtoll strtoul "
    "strtoull strxfrm symlink sync syscall sysconf sysinfo system tempnam time tmpfile "
    "tmpnam toascii tolower toupper truncate tzset umask uname ungetc unlink unsetenv usleep "
    "vfork vfprintf vprintf vscanf vsnprintf vsprintf wait waitpid wcscpy wcslen "
    "wctomb write".split()
) | {name + end for name in _MATH for end in ("", "f", "l")}  # fmt: skip

# What the functions of a package's header call their own parameters.
_TAKEN = frozenset({"launch", "error", "arguments", "interface_", "unused_"})


def _is_reserved(name: str) -> bool:
    """Whether compilers and headers may define it in any way: C11, 7.1.3."""
    return name.startswith("__") or (name[:1] == "_" and name[1:2].isupper())


def check_name(name: object) -> None:
    """Refuse what cannot be a function of C here. Raises UnsupportedError TW0802."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise _no_name(name, "letters, digits and _")
    if name.startswith(("tw_", "tilewright_", "TILEWRIGHT_")) or _is_reserved(name):
        raise _no_name(name, "not tw_..., tilewright_..., which packages use, and __..., which C does")
    if name in _WORDS or _FIXED_WIDTH.fullmatch(name):
        raise _no_name(name, "it is a word of C, C++ or their headers: give another, name='...'")
    if name in _LIBRARY:
        raise _no_name(name, "the C library has a function of this name: give another, name='...'")


def _no_name(name: object, hint: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name!r} is not a name that a function in C can have here", code="TW0802", hint=hint
    )


def c_name(name: str) -> str:
    """A parameter's name in C."""
    is_taken = name in _WORDS or name in _TAKEN or _FIXED_WIDTH.fullmatch(name)
    return name + "_" if is_taken else name


def check_parameters(kernel: str, names: Sequence[str]) -> None:
    """Refuse parameters that C cannot tell apart or write. Raises UnsupportedError TW0802."""
    functions = {f"{kernel}{end}" for end in ("", "_run", "_launch", "_arguments")}
    known: dict[str, str] = {}
    for name in names:
        written = c_name(name)
        hint = "give the parameter another name"
        if not _IDENTIFIER.fullmatch(name) or _is_reserved(name):
            problem = f"the parameter `{name}` of {kernel} is not a name of C"
        elif written in known:
            problem = f"`{known[written]}` and `{name}` of {kernel} would both be {written} in C"
        elif name in functions or name.startswith(("tw_", "tilewright_", "TILEWRIGHT_")):
            problem = f"`{name}` of {kernel} has the name of a function or type of the package"
        else:
            known[written] = name
            continue
        raise UnsupportedError(problem, code="TW0802", hint=hint)
