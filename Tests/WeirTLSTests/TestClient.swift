import CTLS
import Glibc
import Testing
import WeirTLS

/// OpenSSL as a client, in memory.
final class TestClient {
  struct Options {
    var serverName: String?
    var protocols: [String] = []
    var minimum = TLS1_2_VERSION
    var maximum = TLS1_3_VERSION
    var certificate: MadeCertificate?
    var signatures: String?
    /// OpenSSL's names of the cipher suites of TLS 1.2, in the client's order.
    var ciphers: String?
    /// The groups for the exchange of keys.
    var groups: String?
    var session: Session?
    /// Whether it trusts the authorities of the system alone, of which none has issued a test's certificate.
    var verifies = false
  }

  /// A session to resume.
  final class Session {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { SSL_SESSION_free(pointer) }
  }

  let ssl: OpaquePointer
  private let input: OpaquePointer
  private let out: OpaquePointer
  private(set) var isDone = false
  /// The reason of the failure in OpenSSL's words; alerts of the server have "alert" in them.
  private(set) var failure: String?

  init(_ options: Options = Options()) throws {
    let context = try #require(SSL_CTX_new(TLS_client_method()))
    defer { SSL_CTX_free(context) }
    if options.maximum < TLS1_2_VERSION { SSL_CTX_set_security_level(context, 0) }
    _ = weir_ctx_set_min_version(context, options.minimum)
    _ = weir_ctx_set_max_version(context, options.maximum)
    if let signatures = options.signatures { setSignatures(context, signatures) }
    if let ciphers = options.ciphers { try #require(SSL_CTX_set_cipher_list(context, ciphers) == 1) }
    if let groups = options.groups { try #require(weir_ctx_set_groups(context, groups)) }
    if let certificate = options.certificate {
      SSL_CTX_use_certificate(context, certificate.x509)
      SSL_CTX_use_PrivateKey(context, certificate.key)
    }
    if options.verifies { SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil) }
    ssl = try #require(SSL_new(context))
    input = try #require(BIO_new(BIO_s_mem()))
    out = try #require(BIO_new(BIO_s_mem()))
    BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
    SSL_set_bio(ssl, input, out)
    SSL_set_connect_state(ssl)
    if let name = options.serverName { _ = weir_ssl_set_host_name(ssl, name) }
    let offered = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    if !offered.isEmpty { SSL_set_alpn_protos(ssl, offered, UInt32(offered.count)) }
    if let session = options.session { SSL_set_session(ssl, session.pointer) }
  }

  deinit {
    // OpenSSL forgets the session of a connection that was not shut down.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
  }

  func handshake() {
    guard !isDone, failure == nil else { return }
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 { isDone = true } else { note(result) }
  }

  func take(_ bytes: [UInt8]) {
    if !bytes.isEmpty { BIO_write(input, bytes, CInt(bytes.count)) }
  }

  func takeOutput() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(out))
    if !bytes.isEmpty { BIO_read(out, &bytes, CInt(bytes.count)) }
    return bytes
  }

  /// All plaintext that is there.
  func read() -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16384)
    while true {
      ERR_clear_error()
      let count = SSL_read(ssl, &piece, CInt(piece.count))
      guard count > 0 else {
        note(count)
        return all
      }
      all += piece[..<Int(count)]
    }
  }

  func write(_ bytes: [UInt8]) {
    ERR_clear_error()
    #expect(SSL_write(ssl, bytes, CInt(bytes.count)) == CInt(bytes.count))
  }

  func close() { SSL_shutdown(ssl) }
  var hasServerClosed: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

  var session: Session? { SSL_get1_session(ssl).map(Session.init) }
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// The name at IANA of the cipher suite.
  var cipherSuite: String? { SSL_get_current_cipher(ssl).flatMap(SSL_CIPHER_standard_name).map { String(cString: $0) } }

  var chosenProtocol: String? {
    var bytes: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &bytes, &count)
    return bytes.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
  }

  /// The common name of the server's certificate.
  var serverCommonName: String? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    var text = [CChar](repeating: 0, count: 100)
    guard X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, 100) > 0 else {
      return nil
    }
    return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
  }

  private func note(_ result: CInt) {
    let kind = SSL_get_error(ssl, result)
    guard kind != SSL_ERROR_WANT_READ, kind != SSL_ERROR_ZERO_RETURN else { return }
    failure = ERR_reason_error_string(ERR_peek_error()).map { String(cString: $0) } ?? "no reason"
  }
}

/// A stream with a client at its other end.
struct Connection {
  let stream: TLSStream
  let client: TestClient
  private(set) var state = TLSStream.State.needsInput

  init(_ context: TLSServerContext, _ options: TestClient.Options = .init()) throws {
    stream = try TLSStream(context)
    client = try TestClient(options)
  }

  /// Runs the handshake to its end on both sides, with pieces of at most `size` bytes to the server.
  mutating func open(pieces size: Int = .max) {
    for _ in 0..<12 {
      client.handshake()
      for piece in client.takeOutput().pieces(of: size) {
        stream.take(piece)
        state = stream.step()
      }
      client.take(stream.takeOutput())
    }
    // Tickets of TLS 1.3 come after the handshake.
    if client.isDone { #expect(client.read().isEmpty) }
  }

  static func opened(
    _ context: TLSServerContext, _ options: TestClient.Options = .init(), pieces: Int = .max
  ) throws -> Connection {
    var connection = try Connection(context, options)
    connection.open(pieces: pieces)
    return connection
  }

  var failure: TLSFailure.Reason? {
    if case .failed(let failure) = state { failure.reason } else { nil }
  }

  /// Moves the client's bytes to the server, which reads all of them.
  func sendToServer() -> (bytes: [UInt8], end: TLSStream.ReadResult) {
    stream.take(client.takeOutput())
    return stream.readAll()
  }
}

extension TLSStream {
  func take(_ bytes: [UInt8]) { bytes.withUnsafeBytes { take($0) } }

  func write(_ bytes: [UInt8]) throws(TLSFailure) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    try write(UnsafeRawBufferPointer(copy))
  }

  func takeOutput() -> [UInt8] {
    let bytes = Array(output)
    consumeOutput(bytes.count)
    return bytes
  }

  func readAll() -> (bytes: [UInt8], end: ReadResult) {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16384)
    while true {
      let result = piece.withUnsafeMutableBytes { read(into: $0) }
      guard case .bytes(let count) = result else { return (all, result) }
      all += piece[..<count]
    }
  }
}

extension [UInt8] {
  func pieces(of size: Int) -> [[UInt8]] {
    guard size < count else { return isEmpty ? [] : [self] }
    return stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}

/// SSL_CTX_set1_sigalgs_list is a macro.
private func setSignatures(_ context: OpaquePointer, _ list: String) {
  var list = Array(list.utf8CString)
  #expect(list.withUnsafeMutableBytes { SSL_CTX_ctrl(context, SSL_CTRL_SET_SIGALGS_LIST, 0, $0.baseAddress) } == 1)
}
