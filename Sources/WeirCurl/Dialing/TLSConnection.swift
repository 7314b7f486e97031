internal import CCurl
import Glibc

/// OpenSSL's object for a TLS connection that libcurl has opened. It is valid for as long as the connection's easy
/// handle is.
struct TLSConnection {
  private typealias Number = @convention(c) (UnsafeMutableRawPointer) -> CInt
  private typealias Text = @convention(c) (UnsafeMutableRawPointer) -> UnsafePointer<CChar>?
  private typealias Control = @convention(c) (UnsafeMutableRawPointer, CInt, CLong, UnsafeMutableRawPointer?) -> CLong
  private typealias Reader = @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?

  private struct Functions {
    let hasPending: Number
    let getShutdown: Number
    let want: Number
    let control: Control
    let readState: Text
    let freeBuffers: Number
    let getReader: Reader
    let readerControl: Control
  }

  private static let functions: Functions? = {
    guard let hasPending: Number = OpenSSL.function("SSL_has_pending"),
      let getShutdown: Number = OpenSSL.function("SSL_get_shutdown"),
      let want: Number = OpenSSL.function("SSL_want"), let control: Control = OpenSSL.function("SSL_ctrl"),
      let readState: Text = OpenSSL.function("SSL_rstate_string"),
      let freeBuffers: Number = OpenSSL.function("SSL_free_buffers"),
      let getReader: Reader = OpenSSL.function("SSL_get_rbio"),
      let readerControl: Control = OpenSSL.function("BIO_ctrl")
    else { return nil }
    return Functions(
      hasPending: hasPending, getShutdown: getShutdown, want: want, control: control, readState: readState,
      freeBuffers: freeBuffers, getReader: getReader, readerControl: readerControl)
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
    typealias Pointer = UnsafeMutableRawPointer
    typealias Writer = @convention(c) (Pointer) -> Pointer?
    typealias SetWriter = @convention(c) (Pointer, Pointer) -> Void
    typealias Method = @convention(c) () -> Pointer?
    typealias Creation = @convention(c) (Pointer?) -> Pointer?
    typealias Read = @convention(c) (Pointer, Pointer?, CInt) -> CInt

    let shutdown: Number
    let getWriter: Writer
    let setWriter: SetWriter
    let retain: Number
    let inMemory: Method
    let new: Creation
    let read: Read

    static let known: Shutdown? = {
      guard let shutdown: Number = OpenSSL.function("SSL_shutdown"),
        let getWriter: Writer = OpenSSL.function("SSL_get_wbio"),
        let setWriter: SetWriter = OpenSSL.function("SSL_set0_wbio"),
        let retain: Number = OpenSSL.function("BIO_up_ref"), let inMemory: Method = OpenSSL.function("BIO_s_mem"),
        let new: Creation = OpenSSL.function("BIO_new"), let read: Read = OpenSSL.function("BIO_read")
      else { return nil }
      return Shutdown(
        shutdown: shutdown, getWriter: getWriter, setWriter: setWriter, retain: retain, inMemory: inMemory, new: new,
        read: read)
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
