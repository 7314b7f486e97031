// Teaches ThreadSanitizer about Swift's Mutex.
//
// Synchronization.Mutex takes a free lock in code that is compiled into its users, which the sanitizer sees. For a
// contended one it calls into the toolchain's library, which is not instrumented: the sanitizer misses that the lock
// changed hands and reports races on what it guards. In builds with the sanitizer this file stands in front of those
// three functions, calls the real ones, and tells the sanitizer of each hand-over.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define HANDLE __attribute__((swift_context)) void *handle
#define NAME(mangled) __asm__("$s15Synchronization12_MutexHandleV" mangled)

SWIFT void weir_tsan_lock(uint32_t thread, HANDLE) NAME("9_lockSlowyys6UInt32VF");
SWIFT bool weir_tsan_try_lock(HANDLE) NAME("12_tryLockSlowSbyF");
SWIFT void weir_tsan_unlock(HANDLE) NAME("11_unlockSlowyyF");

// The address of the toolchain's function, kept in `known` once it was looked up. Threads that look it up at the same
// time find the same address.
static void *toolchain(const char *name, _Atomic(void *) *known) {
  void *address = atomic_load_explicit(known, memory_order_acquire);
  if (address) return address;
  address = dlsym(RTLD_NEXT, name);
  atomic_store_explicit(known, address, memory_order_release);
  return address;
}

SWIFT void weir_tsan_lock(uint32_t thread, HANDLE) {
  static _Atomic(void *) known;
  SWIFT void (*real)(uint32_t, HANDLE) = toolchain("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF", &known);
  real(thread, handle);
  __tsan_acquire(handle);
}

SWIFT bool weir_tsan_try_lock(HANDLE) {
  static _Atomic(void *) known;
  SWIFT bool (*real)(HANDLE) = toolchain("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF", &known);
  bool taken = real(handle);
  if (taken) __tsan_acquire(handle);
  return taken;
}

SWIFT void weir_tsan_unlock(HANDLE) {
  static _Atomic(void *) known;
  SWIFT void (*real)(HANDLE) = toolchain("$s15Synchronization12_MutexHandleV11_unlockSlowyyF", &known);
  __tsan_release(handle);
  real(handle);
}

// Programs that tests start are made of the same code without this file, so what they would report of Mutex is false.
// This process, which runs that code too, has read the variable already.
__attribute__((constructor)) static void weir_tsan_silence_children(void) {
  setenv("TSAN_OPTIONS", "report_bugs=0", 1);
}
#endif
#endif
