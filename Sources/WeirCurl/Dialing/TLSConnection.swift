internal import CCurl
internal import Glibc

/// OpenSSL's object for a TLS connection that libcurl has opened. It is valid for as long as the connection's easy
/// handle is.
struct TLSConnection {
  private struct Functions {
    let hasPending, getShutdown, want, freeBuffers: OpenSSL.Number
    let readState: @convention(c) (OpenSSL.Pointer) -> UnsafePointer<CChar>?
    let getReader: OpenSSL.Part
    let control, readerControl: @convention(c) (OpenSSL.Pointer, CInt, CLong, OpenSSL.Pointer?) -> CLong

    init() throws(OpenSSL.Missing) {
      hasPending = try OpenSSL.required("SSL_has_pending")
      getShutdown = try OpenSSL.required("SSL_get_shutdown")
      want = try OpenSSL.required("SSL_want")
      freeBuffers = try OpenSSL.required("SSL_free_buffers")
      readState = try OpenSSL.required("SSL_rstate_string")
      getReader = try OpenSSL.required("SSL_get_rbio")
      control = try OpenSSL.required("SSL_ctrl")
      readerControl = try OpenSSL.required("BIO_ctrl")
    }
  }

  private static let functions = try? Functions()

  /// Whether the TLS library is one that can be asked.
  static var isKnown: Bool { functions != nil && CurlLibrary.usesOpenSSL }

  private let functions: Functions
  let object: UnsafeMutableRawPointer

  /// Nil without TLS, or with another TLS library.
  init?(_ easy: UnsafeMutableRawPointer) {
    guard let functions = Self.functions, let object = weir_easy_openssl(easy) else { return nil }
    self.functions = functions
    self.object = object
  }

  /// Whether there are bytes that were received and that nobody has read, decrypted or not, be it the beginning of a record
  /// alone.
  var hasPending: Bool {
    // OpenSSL does not count a header that it has read. "RH": it waits for one.
    guard functions.hasPending(object) == 0, let state = functions.readState(object) else { return true }
    return strcmp(state, "RH") != 0
  }

  /// Gives back the 16 KiB for records until there are more bytes. OpenSSL keeps them with TLS 1.3, even if it is told to
  /// release its buffers, as by libcurl 7.88.1.
  func releaseBuffers() {
    // OpenSSL before 3.0.14 would not notice itself that they are in use (CVE-2024-4741).
    if !hasPending { _ = functions.freeBuffers(object) }
  }

  /// Whether the peer has announced its end (close_notify).
  var peerHasClosed: Bool {
    let received: CInt = 2  // SSL_RECEIVED_SHUTDOWN
    return functions.getShutdown(object) & received != 0
  }

  /// Whether a read found the end of the peer's stream. OpenSSL itself asks in this way whether an end without
  /// close_notify is an error; only newer versions of libcurl answer.
  var hasReadEnd: Bool {
    let isAtEnd: CInt = 2  // BIO_CTRL_EOF
    guard let reader = functions.getReader(object) else { return false }
    return functions.readerControl(reader, isAtEnd, 0, nil) == 1
  }

  /// Whether the last call can go on only when the peer has sent something, as in a renegotiation.
  var awaitsPeer: Bool {
    let reading: CInt = 3  // SSL_READING
    return functions.want(object) == reading
  }

  /// The record that says to the peer that nothing more comes (close_notify); nil if there is none.
  ///
  /// libcurl, which writes for OpenSSL, can't be called for that. So the record is written to memory, to be sent on the
  /// socket behind all bytes that libcurl has sent.
  func closeNotify() -> [UInt8]? {
    guard let calls = Shutdown.known, let own = calls.getWriter(object), let memory = calls.new(calls.inMemory())
    else { return nil }
    // Each of the two calls releases the writer that it replaces.
    _ = calls.retain(own)
    calls.setWriter(object, memory)
    _ = calls.shutdown(object)
    var record = [UInt8](repeating: 0, count: 256)
    let count = record.withUnsafeMutableBytes { calls.read(memory, $0.baseAddress, CInt($0.count)) }
    calls.setWriter(object, own)
    return count > 0 ? Array(record.prefix(Int(count))) : nil
  }

  /// OpenSSL's functions about the end of a connection and the places that it writes to.
  private struct Shutdown {
    let shutdown, retain: OpenSSL.Number
    let getWriter: OpenSSL.Part
    let setWriter: @convention(c) (OpenSSL.Pointer, OpenSSL.Pointer) -> Void
    let inMemory: @convention(c) () -> OpenSSL.Pointer?
    let new: @convention(c) (OpenSSL.Pointer?) -> OpenSSL.Pointer?
    let read: @convention(c) (OpenSSL.Pointer, OpenSSL.Pointer?, CInt) -> CInt

    static let known = try? Shutdown()

    init() throws(OpenSSL.Missing) {
      shutdown = try OpenSSL.required("SSL_shutdown")
      retain = try OpenSSL.required("BIO_up_ref")
      getWriter = try OpenSSL.required("SSL_get_wbio")
      setWriter = try OpenSSL.required("SSL_set0_wbio")
      inMemory = try OpenSSL.required("BIO_s_mem")
      new = try OpenSSL.required("BIO_new")
      read = try OpenSSL.required("BIO_read")
    }
  }

  /// Lets bytes that were not taken be offered again from another address. A call to receive ends with each record that
  /// has no bytes of HTTP, such as a KeyUpdate, since a peer may send those without end.
  func configure() {
    let (set, partial, moving): (CInt, CLong, CLong) = (33, 1, 2)  // SSL_CTRL_MODE and two SSL_MODE flags
    let (clear, automaticRetry): (CInt, CLong) = (78, 4)  // SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY
    _ = functions.control(object, set, partial | moving, nil)
    _ = functions.control(object, clear, automaticRetry, nil)
  }
}

extension TLSConnection {
  /// OpenSSL's functions about the peer of a connection.
  private struct PeerFunctions {
    let version: OpenSSL.Number
    let certificates, verifiedChain: OpenSSL.Part
    let count: OpenSSL.Number
    let element: @convention(c) (OpenSSL.Pointer, CInt) -> OpenSSL.Pointer?
    let encode: @convention(c) (OpenSSL.Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt

    static let known = try? PeerFunctions()

    init() throws(OpenSSL.Missing) {
      version = try OpenSSL.required("SSL_version")
      certificates = try OpenSSL.required("SSL_get_peer_cert_chain")
      verifiedChain = try OpenSSL.required("SSL_get0_verified_chain")
      count = try OpenSSL.required("OPENSSL_sk_num")
      element = try OpenSSL.required("OPENSSL_sk_value")
      encode = try OpenSSL.required("i2d_X509")
    }

    /// The certificates of one of OpenSSL's stacks, in DER.
    func certificates(in stack: OpenSSL.Pointer?) -> [[UInt8]] {
      guard let stack else { return [] }
      return (0..<max(0, count(stack))).compactMap { index in
        guard let certificate = element(stack, index) else { return nil }
        let length = encode(certificate, nil)
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, written in
          var end = buffer.baseAddress
          written = max(0, Int(encode(certificate, &end)))
        }
      }
    }
  }

  /// What is known of the peer once the handshake is over.
  func peer() -> TLSPeer? {
    guard let functions = PeerFunctions.known else { return nil }
    return TLSPeer(
      version: Int(functions.version(object)),
      certificates: functions.certificates(in: functions.certificates(object)),
      verifiedChain: functions.certificates(in: functions.verifiedChain(object)))
  }
}

/// The protocol agreed on in the TLS handshake (ALPN, RFC 7301).
enum AgreedProtocol {
  private typealias Selected =
    @convention(c) (
      UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<CUnsignedInt>
    ) -> Void

  private static let selected: Selected? = OpenSSL.function("SSL_get0_alpn_selected")

  /// Unknown without TLS, or with a TLS library other than OpenSSL.
  ///
  /// - Parameter silence: The protocol of a server that has chosen none.
  static func expectation(
    _ easy: UnsafeMutableRawPointer, ofSilence silence: ProtocolExpectation
  )
    -> ProtocolExpectation
  {
    guard let selected, let connection = weir_easy_openssl(easy) else { return .unknown }
    var name: UnsafePointer<UInt8>?
    var length: CUnsignedInt = 0
    selected(connection, &name, &length)
    guard let name, length > 0 else { return silence }
    return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8) ? .multiplexed : .http1
  }
}

/// The functions of the TLS library that libcurl uses, if it is OpenSSL or has functions of the same names.
enum OpenSSL {
  typealias Pointer = UnsafeMutableRawPointer
  typealias Number = @convention(c) (Pointer) -> CInt
  typealias Part = @convention(c) (Pointer) -> Pointer?

  /// The process has no function of a name.
  struct Missing: Error {}

  /// Nil if the process has no function of that name, or if CCurl/OpenSSL.c does not list it.
  ///
  /// - Parameter type: The function's type, which is `@convention(c)`.
  static func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
    weir_openssl_function(name).map { unsafeBitCast($0, to: type) }
  }

  static func required<Function>(_ name: String) throws(Missing) -> Function {
    guard let function: Function = function(name) else { throw Missing() }
    return function
  }
}
