// libcurl, with typed functions for its variadic ones, which Swift cannot call.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

// Names that newer headers have. The library in the process may know it nevertheless; an older one refuses the options and
// ignores the flag.
#if LIBCURL_VERSION_NUM < 0x075700
static const CURLoption CURLOPT_CA_CACHE_TIMEOUT = (CURLoption)(CURLOPTTYPE_LONG + 321);
static const CURLoption CURLOPT_QUICK_EXIT = (CURLoption)(CURLOPTTYPE_LONG + 322);
#endif
#if LIBCURL_VERSION_NUM < 0x075800
#define CURLU_PUNYCODE (1 << 12)
#endif

// There is one setter per type of argument: `curl_easy_setopt` and `curl_multi_setopt` are variadic, so the type that
// the caller passes matters.

static inline CURLcode weir_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode weir_easy_set_offset(CURL *easy, CURLoption option, int64_t value) {
  return curl_easy_setopt(easy, option, (curl_off_t)value);
}

static inline CURLcode weir_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode weir_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode weir_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the bytes.
static inline CURLcode weir_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t length) {
  struct curl_blob blob = {.data = (void *)bytes, .len = length, .flags = CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

// For WRITEFUNCTION, HEADERFUNCTION and READFUNCTION, which share a type.
static inline CURLcode weir_easy_set_io_callback(
    CURL *easy, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode weir_easy_set_seek_callback(CURL *easy, curl_seek_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}

static inline CURLcode weir_easy_set_open_socket_callback(CURL *easy, curl_opensocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode weir_easy_set_close_socket_callback(CURL *easy, curl_closesocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode weir_easy_set_before_request_callback(CURL *easy, curl_prereq_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode weir_easy_set_lookup_callback(CURL *easy, curl_resolver_start_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline CURLcode weir_easy_set_tls_callback(CURL *easy, curl_ssl_ctx_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline CURLMcode weir_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode weir_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode weir_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode weir_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

static inline CURLSHcode weir_share_set_long(CURLSH *share, CURLSHoption option, long value) {
  return curl_share_setopt(share, option, value);
}

// `curl_easy_getinfo` is variadic and writes through a pointer, whose type depends on the info's name. If libcurl does
// not know the info, the value stays as initialized.

static inline long weir_easy_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

static inline int64_t weir_easy_get_offset(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

static inline void *weir_easy_get_private(CURL *easy) {
  char *value = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
  return value;
}

// Whether the transfer's present connection is encrypted, even if only up to a proxy.
static inline bool weir_easy_has_tls(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  return curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK && info && info->internals;
}

// OpenSSL's object for the transfer's present connection; NULL without TLS or with another library.
static inline void *weir_easy_openssl(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  CURLcode code = curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info);
  return code == CURLE_OK && info && info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

// A function of OpenSSL, by its name; NULL if the process has none, or if OpenSSL.c does not list it. It is looked up at run
// time: libcurl brings its own TLS library, and linking one here could bring a second. A static program has one library
// and no names to look up; built with WEIR_STATIC, it has the functions linked.
void *weir_openssl_function(const char *name);

// The socket of the transfer's connection; CURL_SOCKET_BAD if it has none.
static inline curl_socket_t weir_easy_active_socket(CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket : CURL_SOCKET_BAD;
}

// The next finished transfer, or NULL. Its message is a union inside a struct that libcurl may reuse at once.
static inline CURL *weir_multi_next_done(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  }
  return NULL;
}

// Constants that are macros or casts, which Swift's importer does not import.
static const curl_socket_t weir_socket_bad = CURL_SOCKET_BAD;
static const curl_socket_t weir_socket_timeout = CURL_SOCKET_TIMEOUT;
static const size_t weir_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t weir_read_pause = CURL_READFUNC_PAUSE;
static const size_t weir_read_abort = CURL_READFUNC_ABORT;
static const long weir_global_default = CURL_GLOBAL_DEFAULT;
static const long weir_headers_separate = CURLHEADER_SEPARATE;
// Both schemes together: with Digest alone libcurl first sends a request without its body.
static const long weir_auth_schemes = CURLAUTH_BASIC | CURLAUTH_DIGEST;

// The version number (0xXXYYZZ) of the library in the process, which may be newer than the header.
static inline unsigned int weir_curl_version_number(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num;
}

static inline const char *weir_curl_version_text(void) {
  return curl_version_info(CURLVERSION_NOW)->version;
}

static inline const char *weir_curl_tls_text(void) {
  return curl_version_info(CURLVERSION_NOW)->ssl_version;
}
