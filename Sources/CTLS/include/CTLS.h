// OpenSSL 3, with typed functions for its macros, which Swift cannot call.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// SSL_CTX_ctrl, SSL_ctrl and BIO_ctrl hide behind macros, whose argument types differ by command.

static inline bool weir_ctx_set_min_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version) == 1;
}

static inline bool weir_ctx_set_max_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_max_proto_version(context, version) == 1;
}

static inline bool weir_ctx_set_groups(SSL_CTX *context, const char *names) {
  return SSL_CTX_set1_groups_list(context, names) == 1;
}

static inline void weir_ctx_set_mode(SSL_CTX *context, long mode) {
  SSL_CTX_set_mode(context, mode);
}

static inline void weir_ctx_disable_session_cache(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void weir_ctx_set_max_cert_list(SSL_CTX *context, long bytes) {
  SSL_CTX_set_max_cert_list(context, bytes);
}

typedef int (*weir_name_callback)(SSL *ssl, int *alert, void *argument);

static inline void weir_ctx_set_name_callback(SSL_CTX *context, weir_name_callback callback) {
  SSL_CTX_set_tlsext_servername_callback(context, callback);
}

typedef int (*weir_ticket_callback)(
    SSL *ssl, unsigned char *name, unsigned char *vector, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int encrypts);

static inline bool weir_ctx_set_ticket_callback(SSL_CTX *context, weir_ticket_callback callback) {
  return SSL_CTX_set_tlsext_ticket_key_evp_cb(context, callback) == 1;
}

static inline bool weir_ssl_set_host_name(SSL *ssl, const char *name) {
  return SSL_set_tlsext_host_name(ssl, name) == 1;
}

// The first slot of an SSL's data is the application's and needs no registration (SSL_set_app_data).

static inline bool weir_ssl_set_owner(SSL *ssl, void *owner) {
  return SSL_set_app_data(ssl, owner) == 1;
}

static inline void *weir_ssl_owner(const SSL *ssl) {
  return SSL_get_app_data(ssl);
}

// The bytes of a memory BIO, valid until the BIO changes.
static inline const char *weir_bio_memory(BIO *bio, size_t *length) {
  char *bytes = NULL;
  long count = BIO_get_mem_data(bio, &bytes);
  *length = count > 0 ? (size_t)count : 0;
  return bytes;
}

static inline void weir_bio_clear_retry(BIO *bio) {
  BIO_clear_retry_flags(bio);
}

static inline void weir_bio_set_retry_read(BIO *bio) {
  BIO_set_retry_read(bio);
}

// Sets the key of the HMAC-SHA-256 that protects a ticket.
static inline bool weir_mac_set_key(EVP_MAC_CTX *mac, unsigned char *key, size_t length) {
  OSSL_PARAM parameters[3] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key, length),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

// Stacks have macros for each type of element.

static inline STACK_OF(X509) *weir_certificates_new(void) {
  return sk_X509_new_null();
}

static inline bool weir_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
  return sk_X509_push(stack, certificate) > 0;
}

static inline int weir_certificates_count(const STACK_OF(X509) *stack) {
  return sk_X509_num(stack);
}

static inline X509 *weir_certificates_at(const STACK_OF(X509) *stack, int index) {
  return sk_X509_value(stack, index);
}

// Frees the stack and its references to the certificates.
static inline void weir_certificates_free(STACK_OF(X509) *stack) {
  sk_X509_pop_free(stack, X509_free);
}

static inline int weir_names_count(const GENERAL_NAMES *names) {
  return sk_GENERAL_NAME_num(names);
}

static inline GENERAL_NAME *weir_names_at(const GENERAL_NAMES *names, int index) {
  return sk_GENERAL_NAME_value(names, index);
}

static inline bool weir_error_is_end_of_pem(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline bool weir_error_is_tls(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL;
}

static inline int weir_error_reason(unsigned long error) {
  return ERR_GET_REASON(error);
}

// Constants whose macros hold casts or shifts, which Swift's importer does not import, or are of another type there.
static const uint64_t weir_op_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t weir_op_no_compression = SSL_OP_NO_COMPRESSION;
static const uint64_t weir_op_server_preference = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const long weir_mode_release_buffers = SSL_MODE_RELEASE_BUFFERS;
static const unsigned long weir_name_rfc2253 = XN_FLAG_RFC2253;
static const int weir_alert_reason_offset = SSL_AD_REASON_OFFSET;
