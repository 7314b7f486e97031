internal import CCurl
internal import Glibc

/// OpenSSL's object for a TLS connection that libcurl has opened. It is valid for as long as the connection's easy
/// handle is.
///
/// Its functions are found by name at run time: libcurl brings its own TLS library, and linking one here could bring a
/// second.
struct TLSConnection {
  private typealias Number = @convention(c) (UnsafeMutableRawPointer) -> CInt
  private typealias Control = @convention(c) (UnsafeMutableRawPointer, CInt, CLong, UnsafeMutableRawPointer?) -> CLong

  private struct Functions {
    let hasPending: Number
    let getShutdown: Number
    let want: Number
    let control: Control
  }

  private static let functions: Functions? = {
    guard let hasPending = dlsym(nil, "SSL_has_pending"), let shutdown = dlsym(nil, "SSL_get_shutdown"),
      let want = dlsym(nil, "SSL_want"), let control = dlsym(nil, "SSL_ctrl")
    else { return nil }
    return Functions(
      hasPending: unsafeBitCast(hasPending, to: Number.self), getShutdown: unsafeBitCast(shutdown, to: Number.self),
      want: unsafeBitCast(want, to: Number.self), control: unsafeBitCast(control, to: Control.self))
  }()

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

  /// Whether there are bytes that were received and that nobody has read, decrypted or not.
  var hasPending: Bool { functions.hasPending(object) != 0 }

  /// Whether the peer has announced its end (close_notify).
  var peerHasClosed: Bool {
    let received: CInt = 2  // SSL_RECEIVED_SHUTDOWN
    return functions.getShutdown(object) & received != 0
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
    typealias Pointer = UnsafeMutableRawPointer

    let shutdown: Number
    let getWriter: @convention(c) (Pointer) -> Pointer?
    let setWriter: @convention(c) (Pointer, Pointer) -> Void
    let retain: Number
    let inMemory: @convention(c) () -> Pointer?
    let new: @convention(c) (Pointer?) -> Pointer?
    let read: @convention(c) (Pointer, Pointer?, CInt) -> CInt

    static let known: Shutdown? = {
      guard let shutdown = dlsym(nil, "SSL_shutdown"), let getWriter = dlsym(nil, "SSL_get_wbio"),
        let setWriter = dlsym(nil, "SSL_set0_wbio"), let retain = dlsym(nil, "BIO_up_ref"),
        let inMemory = dlsym(nil, "BIO_s_mem"), let new = dlsym(nil, "BIO_new"), let read = dlsym(nil, "BIO_read")
      else { return nil }
      return Shutdown(
        shutdown: unsafeBitCast(shutdown, to: Number.self),
        getWriter: unsafeBitCast(getWriter, to: (@convention(c) (Pointer) -> Pointer?).self),
        setWriter: unsafeBitCast(setWriter, to: (@convention(c) (Pointer, Pointer) -> Void).self),
        retain: unsafeBitCast(retain, to: Number.self),
        inMemory: unsafeBitCast(inMemory, to: (@convention(c) () -> Pointer?).self),
        new: unsafeBitCast(new, to: (@convention(c) (Pointer?) -> Pointer?).self),
        read: unsafeBitCast(read, to: (@convention(c) (Pointer, Pointer?, CInt) -> CInt).self))
    }()
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
