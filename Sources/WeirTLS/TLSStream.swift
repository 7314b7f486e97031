internal import CTLS

/// The server's side of one TLS connection. It has no socket: the caller hands it the bytes that come and sends those
/// that it puts out.
///
/// Confined to one thread at a time. In a turn the caller hands over input, calls `step` until the handshake is done,
/// then `read` until it needs more input, and sends the output. There may be output after every call, after failures
/// too, since an alert tells the client of them.
///
/// A client can make it hold at most: the input that the caller hands over before the next call (`inputSpace` leads to
/// 32 KiB), a record of 16 KiB, during the handshake a message of 128 KiB, and 16 KiB of answers after it. An idle
/// connection holds no record, input or output.
package final class TLSStream {
  /// The state of the handshake.
  package enum State: Sendable, Equatable {
    /// The handshake waits for bytes of the client.
    case needsInput
    /// Plaintext may be read and written.
    case done
    /// The connection is to be closed once its output is sent.
    case failed(TLSFailure)
    /// The first bytes are an HTTP request. They stay in the stream, and nothing is put out.
    case plainHTTP
  }

  /// The result of reading plaintext.
  package enum ReadResult: Sendable, Equatable {
    /// So many bytes were read. More may be there.
    case bytes(Int)
    /// There is no more plaintext until the client sends more.
    case needsInput
    /// The client has sent close_notify, and sends no more. It may still be written to.
    case closed
    /// The connection is to be closed once its output is sent.
    case failed(TLSFailure)
  }

  /// The input that a stream should hold at most.
  package static let inputLimit = 32 << 10
  /// The bytes that OpenSSL may put out in answer to the client's key updates and alerts before the caller has sent
  /// everything.
  static let answerLimit = 16 << 10

  let context: TLSServerContext
  /// The certificates for the client's name, one for each kind of key.
  private(set) var chosen: [Identity] = []
  /// The reason for which a callback refuses the client.
  var rejection: TLSFailure.Reason?
  /// The name in the client's first message, during the handshake.
  var helloName: String?
  /// The name that the client asked for, as it sent it; nil if it named none. Clients may send any text.
  package private(set) var serverName: String?

  private enum Phase {
    case opening, handshake, open, plain, failed(TLSFailure)
  }

  let ssl: OpaquePointer
  // Unchecked, as a turn touches them some twenty times. OpenSSL calls back while none of them is being accessed.
  @exclusivity(unchecked) private var phase = Phase.opening
  @exclusivity(unchecked) private var input = ByteQueue()
  @exclusivity(unchecked) private var outgoing = ByteQueue()
  @exclusivity(unchecked) private var isReading = false
  @exclusivity(unchecked) private var answered = 0
  @exclusivity(unchecked) private var hasClosed = false
  @exclusivity(unchecked) private var isClosedByClient = false

  /// A stream whose client has sent nothing yet.
  /// - Throws: `TLSFailure` with the reason `internalFailure`, without memory.
  package init(_ context: TLSServerContext) throws(TLSFailure) {
    OpenSSLError.clear()
    guard let ssl = context.makeConnection() else {
      throw TLSFailure(.internalFailure, detail: OpenSSLError.take().text)
    }
    self.context = context
    self.ssl = ssl
    guard weir_ssl_set_owner(ssl, Unmanaged.passUnretained(self).toOpaque()), let bio = StreamBIO.make(for: self) else {
      throw TLSFailure(.internalFailure, detail: OpenSSLError.take().text)
    }
    // The SSL owns the BIO from here on.
    SSL_set_bio(ssl, bio, bio)
    SSL_set_accept_state(ssl)
  }

  deinit { SSL_free(ssl) }

  /// The number of bytes that the caller may hand over so that the stream stays within `inputLimit`.
  package var inputSpace: Int { max(0, Self.inputLimit - input.count) }

  /// Adds bytes that came from the client. After a failure and after close_notify they are dropped.
  package func take(_ ciphertext: UnsafeRawBufferPointer) {
    if case .failed = phase { return }
    guard !isClosedByClient else { return }
    input.append(ciphertext)
  }

  /// Goes on with the handshake as far as the input allows.
  package func step() -> State {
    switch phase {
    case .open: return .done
    case .plain: return .plainHTTP
    case .failed(let failure): return .failed(failure)
    case .handshake: break
    case .opening:
      switch FirstBytes(input.bytes) {
      case .undecided: return .needsInput
      case .http:
        phase = .plain
        return .plainHTTP
      case .text: return .failed(fail(TLSFailure(.notTLS)))
      case .other: phase = .handshake
      }
    }
    OpenSSLError.clear()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      helloName = nil
      phase = .open
      return .done
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needsInput
    case SSL_ERROR_ZERO_RETURN: return .failed(fail(TLSFailure(.alert, detail: "close notify")))
    default: return .failed(fail())
    }
  }

  /// Decrypts into `target` as many bytes as there are and fit. Before the end of the handshake there are none.
  package func read(into target: UnsafeMutableRawBufferPointer) -> ReadResult {
    switch phase {
    case .open: break
    case .failed(let failure): return .failed(failure)
    case .opening, .handshake, .plain: return .needsInput
    }
    guard target.count > 0 else { return .bytes(0) }
    // OpenSSL would find as much, and prepare its buffers first.
    if input.count == 0, !isClosedByClient, SSL_has_pending(ssl) == 0 { return .needsInput }
    isReading = true
    defer { isReading = false }
    OpenSSLError.clear()
    var count = 0
    let result = SSL_read_ex(ssl, target.baseAddress, target.count, &count)
    if result == 1 { return .bytes(count) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needsInput
    case SSL_ERROR_ZERO_RETURN:
      isClosedByClient = true
      input.removeAll()
      return .closed
    default: return .failed(fail())
    }
  }

  /// Encrypts all bytes and adds them to the output. The caller bounds the output by what it writes.
  package func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSFailure) {
    if case .failed(let failure) = phase { throw failure }
    guard case .open = phase, !hasClosed else { throw TLSFailure(.notOpen) }
    guard plaintext.count > 0 else { return }
    // The head and the tag of a record have less than 64 bytes.
    outgoing.reserve(plaintext.count + (plaintext.count >> 14 + 1) * 64)
    OpenSSLError.clear()
    var count = 0
    guard SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &count) == 1 else { throw fail() }
  }

  /// Says to the client that no more bytes follow. Does nothing before the end of the handshake and after a failure.
  package func closeNotify() {
    guard case .open = phase, !hasClosed else { return }
    hasClosed = true
    OpenSSLError.clear()
    // 0 says that the client's close_notify has not come yet.
    if SSL_shutdown(ssl) < 0 { _ = fail() }
  }

  /// The bytes to be sent, valid until the next call of this stream.
  package var output: UnsafeRawBufferPointer { outgoing.bytes }

  /// Drops the first `count` bytes of the output, which were sent.
  package func consumeOutput(_ count: Int) {
    outgoing.removeFirst(count)
    if outgoing.count == 0 { answered = 0 }
  }

  /// Whether the handshake is done, and nothing has failed since.
  package var isOpen: Bool {
    if case .open = phase { true } else { false }
  }
}

// MARK: - OpenSSL's calls

extension TLSStream {
  enum NameChoice {
    case known, unknown, refused
  }

  func choose(name: String?) -> NameChoice {
    serverName = name
    if let found = name.flatMap({ context.identities.find($0) }) {
      chosen = found
      return .known
    }
    if name != nil, context.settings.strictNames {
      rejection = .unknownName
      return .refused
    }
    chosen = context.identities.first
    return .unknown
  }

  /// Whether two names stand for the same choice of certificates. Names that no certificate covers do, and no name.
  func isSameChoice(_ one: String?, _ other: String?) -> Bool {
    let known = { [context] (name: String?) -> String? in
      name.flatMap { context.identities.find($0) == nil ? nil : CertificateNames.normal($0) }
    }
    return known(one) == known(other)
  }

  func moveInput(into target: UnsafeMutableRawBufferPointer) -> Int { input.move(into: target) }

  /// - Returns: Whether the bytes were added. They are not if the client asks for too many answers.
  func addOutput(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if isReading {
      answered += bytes.count
      guard answered <= Self.answerLimit else {
        rejection = .flood
        return false
      }
    }
    outgoing.append(bytes)
    return true
  }

  private func fail() -> TLSFailure {
    let error = OpenSSLError.take()
    if let rejection { return fail(TLSFailure(rejection)) }
    return fail(TLSFailure(error, verification: SSL_get_verify_result(ssl)))
  }

  private func fail(_ failure: TLSFailure) -> TLSFailure {
    phase = .failed(failure)
    input.removeAll()
    return failure
  }
}

/// A client's certificate as upstreams are told of it.
package struct ClientCertificate: Sendable, Equatable {
  /// The subject in the notation of RFC 2253, in ASCII without control characters.
  package let subject: String
  /// The certificate's DER as a byte sequence between colons, the value of `Client-Cert` (RFC 9440 §2.2).
  package let encoded: String
}

/// The facts of a connection, known once its handshake is done.
extension TLSStream {
  /// The version of TLS, as "1.2" or "1.3".
  package var version: String { SSL_version(ssl) == TLS1_3_VERSION ? "1.3" : "1.2" }

  /// Whether only hosts are to be served that the certificate covers.
  package var hasStrictNames: Bool { context.settings.strictNames }

  /// Whether the connection began with a ticket in place of certificates.
  package var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// The client's certificate, the earlier connection's if this one is resumed; nil if the client has none.
  package var clientCertificate: ClientCertificate? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    guard let subject = Self.subject(of: certificate), let encoded = Self.encode(certificate) else { return nil }
    return ClientCertificate(subject: subject, encoded: encoded)
  }

  /// Whether the certificate that the client has seen is for `host`, a URL's host without port. A resumed connection
  /// shows none; then one of those for the client's name has to be.
  package func certificateCovers(host: String) -> Bool {
    if !isResumed, let shown = SSL_get_certificate(ssl), let identity = chosen.first(where: { $0.isCertificate(shown) })
    {
      return identity.names.covers(host: host)
    }
    return chosen.contains { $0.names.covers(host: host) }
  }

  private static func subject(of certificate: OpaquePointer) -> String? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard let name = X509_get_subject_name(certificate), X509_NAME_print_ex(bio, name, 0, weir_name_rfc2253) >= 0
    else { return nil }
    var count = 0
    let bytes = weir_bio_memory(bio, &count)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), as: UTF8.self)
  }

  private static func encode(_ certificate: OpaquePointer) -> String? {
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_X509(certificate, &der)
    guard length > 0, let der else { return nil }
    defer { CRYPTO_free(der, nil, 0) }
    // OpenSSL ends the text with a NUL.
    var text = [UInt8](repeating: 0, count: (Int(length) + 2) / 3 * 4 + 1)
    let written = EVP_EncodeBlock(&text, der, length)
    return ":\(String(decoding: text.prefix(Int(written)), as: UTF8.self)):"
  }
}

/// A guess at the protocol of a connection by its first bytes. A TLS record begins with a type of 20 to 24 (RFC 8446
/// §5.1), and an HTTP request with the capital letters of its method and a blank.
enum FirstBytes: Equatable {
  case undecided
  case http
  /// The bytes are text, and no request of HTTP.
  case text
  /// The bytes may be TLS.
  case other

  /// The longest method that is looked for.
  static let longestMethod = 24

  init(_ bytes: UnsafeRawBufferPointer) {
    for (index, byte) in bytes.prefix(Self.longestMethod + 1).enumerated() {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): continue
      case UInt8(ascii: " ") where index > 0:
        self = .http
        return
      default:
        self = index == 0 ? .other : .text
        return
      }
    }
    self = bytes.count > Self.longestMethod ? .text : .undecided
  }
}
