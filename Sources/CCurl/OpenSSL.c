#include "CCurl.h"

#include <string.h>

#define FUNCTIONS(USE)          \
  USE(BIO_ctrl)                 \
  USE(BIO_new)                  \
  USE(BIO_read)                 \
  USE(BIO_s_mem)                \
  USE(BIO_up_ref)               \
  USE(OPENSSL_init_crypto)      \
  USE(OPENSSL_sk_num)           \
  USE(OPENSSL_sk_value)         \
  USE(SSL_ctrl)                 \
  USE(SSL_free_buffers)         \
  USE(SSL_get0_alpn_selected)   \
  USE(SSL_get0_verified_chain)  \
  USE(SSL_get_peer_cert_chain)  \
  USE(SSL_get_rbio)             \
  USE(SSL_get_shutdown)         \
  USE(SSL_get_wbio)             \
  USE(SSL_has_pending)          \
  USE(SSL_rstate_string)        \
  USE(SSL_set0_wbio)            \
  USE(SSL_shutdown)             \
  USE(SSL_version)              \
  USE(SSL_want)                 \
  USE(i2d_X509)

#ifdef WEIR_STATIC
// No header of OpenSSL is needed for an address. The linker refuses a name that is not there.
#define DECLARE(name) extern void name(void);
FUNCTIONS(DECLARE)
#define ADDRESS(name) ((void *)name)
#else
#include <dlfcn.h>
#define ADDRESS(name) dlsym(NULL, #name)
#endif

void *weir_openssl_function(const char *name) {
#define COMPARE(known) \
  if (strcmp(name, #known) == 0) return ADDRESS(known);
  FUNCTIONS(COMPARE)
  return NULL;
}
