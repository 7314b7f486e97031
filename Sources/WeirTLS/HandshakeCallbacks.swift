internal import CTLS

// OpenSSL calls these from within a stream's own calls alone, on its thread. So the stream that an SSL refers to, and
// the context that the stream keeps, are alive.

/// The stream of a connection.
private func stream(of ssl: OpaquePointer?) -> TLSStream? {
  guard let owner = weir_ssl_owner(ssl) else { return nil }
  return Unmanaged<TLSStream>.fromOpaque(owner).takeUnretainedValue()
}

/// Notes the name in the client's first message before OpenSSL reads it: tickets are opened earlier than that.
func noteHello(_ ssl: OpaquePointer?, _: UnsafeMutablePointer<CInt>?, _: UnsafeMutableRawPointer?) -> CInt {
  guard let stream = stream(of: ssl) else { return SSL_CLIENT_HELLO_ERROR }
  var bytes: UnsafePointer<UInt8>?
  var count = 0
  let isThere = SSL_client_hello_get0_ext(ssl, UInt32(TLSEXT_TYPE_server_name), &bytes, &count) == 1
  stream.helloName = isThere ? hostName(in: UnsafeBufferPointer(start: bytes, count: count)) : nil
  return SSL_CLIENT_HELLO_SUCCESS
}

/// The name of a server_name extension: the list's length, the type 0, the name's length and the name. Nil for another
/// form, which OpenSSL refuses later.
private func hostName(in bytes: UnsafeBufferPointer<UInt8>) -> String? {
  guard bytes.count > 5, bytes[2] == 0, Int(bytes[3]) << 8 | Int(bytes[4]) == bytes.count - 5 else { return nil }
  return String(decoding: bytes[5...], as: UTF8.self)
}

/// Notes the client's server_name (RFC 6066 §3) and finds the certificates for it.
func chooseByName(_ ssl: OpaquePointer?, _ alert: UnsafeMutablePointer<CInt>?, _: UnsafeMutableRawPointer?) -> CInt {
  guard let stream = stream(of: ssl) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  switch stream.choose(name: name) {
  case .known: return SSL_TLSEXT_ERR_OK
  case .unknown: return SSL_TLSEXT_ERR_NOACK
  case .refused:
    alert?.pointee = SSL_AD_UNRECOGNIZED_NAME
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
}

/// Gives the connection its certificates. OpenSSL chooses among their kinds by the client's signature algorithms.
func installIdentities(_ ssl: OpaquePointer?, _: UnsafeMutableRawPointer?) -> CInt {
  guard let ssl, let stream = stream(of: ssl) else { return 0 }
  return stream.chosen.allSatisfy { $0.install(in: ssl) } ? 1 : 0
}

/// Verifies a client's certificate, as far as the settings ask for it: 1 for a good one.
func judgeCertificate(_ verification: OpaquePointer?, _: UnsafeMutableRawPointer?) -> CInt {
  guard let verification,
    let ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()),
    let settings = stream(of: OpaquePointer(ssl))?.context.settings
  else { return 0 }
  if settings.verifiesClients {
    guard X509_verify_cert(verification) == 1 else { return 0 }
  } else {
    X509_STORE_CTX_set_error(verification, X509_V_OK)
  }
  guard let allowed = settings.allowedClientNames else { return 1 }
  guard let certificate = X509_STORE_CTX_get0_cert(verification),
    AlternativeNames.texts(of: certificate).contains(where: allowed.contains)
  else {
    // OpenSSL sends bad_certificate for this code.
    X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_REJECTED)
    return 0
  }
  return 1
}

/// Chooses http/1.1 from the client's protocols (RFC 7301), or http/1.0, which `curl --http1.0` offers.
func chooseProtocol(
  _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
  _: UnsafeMutableRawPointer?
) -> CInt {
  var names: [UnsafeBufferPointer<UInt8>] = []
  var rest = UnsafeBufferPointer(start: offered, count: Int(offeredLength))[...]
  while let length = rest.popFirst() {
    names.append(UnsafeBufferPointer(rebasing: rest.prefix(Int(length))))
    rest = rest.dropFirst(Int(length))
  }
  for known in ["http/1.1", "http/1.0"] {
    guard let name = names.first(where: { $0.elementsEqual(known.utf8) }) else { continue }
    chosen?.pointee = name.baseAddress
    chosenLength?.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
  }
  stream(of: ssl)?.rejection = .applicationProtocol
  return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Prepares the sealing or opening of a ticket: 1 for success, 0 for an unknown key, 2 for a ticket to be replaced, and
/// -1 for an error (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)).
func sealTicket(
  _ ssl: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?, _ vector: UnsafeMutablePointer<UInt8>?,
  _ cipher: OpaquePointer?, _ mac: OpaquePointer?, _ encrypts: CInt
) -> CInt {
  guard let context = stream(of: ssl)?.context, let name, let vector else { return -1 }
  let keys = context.ticketKeys
  var (key, isOld): (TicketKey, Bool)
  if encrypts != 0 {
    guard let current = keys.forEncrypting(now: context.now),
      RAND_bytes(vector, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1
    else { return -1 }
    (key, isOld) = (current, false)
    name.update(from: current.name, count: current.name.count)
  } else {
    guard let found = keys.forDecrypting(name: UnsafeBufferPointer(start: name, count: 16), now: context.now) else {
      return 0
    }
    (key, isOld) = found
  }
  var macKey = key.mac
  guard EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipher, vector, encrypts) == 1,
    weir_mac_set_key(mac, &macKey, macKey.count)
  else { return -1 }
  return isOld ? 2 : 1
}

/// Decides on an opened ticket. One whose client certificate has expired meanwhile is ignored, so that the client shows
/// its certificate anew, and so is one for another name.
func judgeTicket(
  _ ssl: OpaquePointer?, _ session: OpaquePointer?, _: UnsafePointer<UInt8>?, _: Int, _ status: SSL_TICKET_STATUS,
  _: UnsafeMutableRawPointer?
) -> SSL_TICKET_RETURN {
  guard status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW, let session,
    let stream = stream(of: ssl)
  else { return SSL_TICKET_RETURN_IGNORE_RENEW }
  if let certificate = SSL_SESSION_get0_peer(session),
    X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0
  {
    return SSL_TICKET_RETURN_IGNORE_RENEW
  }
  // OpenSSL resumes whatever the client names (RFC 6066 §3 forbids it), although the client has seen no certificate
  // for that name.
  let began = SSL_SESSION_get0_hostname(session).map { String(cString: $0) }
  guard stream.isSameChoice(began, stream.helloName) else { return SSL_TICKET_RETURN_IGNORE_RENEW }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
}
