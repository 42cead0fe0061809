// Loops over lanes that are compiled for wider vectors too and chosen when the program starts.
#ifndef BACKEND_WARPSIM_EXEC_VECTORCLONES_H
#define BACKEND_WARPSIM_EXEC_VECTORCLONES_H

// The choice is made before the thread sanitizer has started, which it does not survive.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define TW_VECTOR_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define TW_VECTOR_CLONES
#endif

#endif
