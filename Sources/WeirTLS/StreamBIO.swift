internal import CTLS

/// The BIO by which OpenSSL reads a stream's input and adds to its output. A memory BIO of OpenSSL would keep the
/// memory of the most bytes that it ever held.
enum StreamBIO {
  /// A BIO that refers to a stream without retaining it; nil without memory.
  static func make(for stream: TLSStream) -> OpaquePointer? {
    guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(stream).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// The functions of the BIO, made once and never freed. Unchecked, since OpenSSL only reads them.
  private struct Method: @unchecked Sendable {
    let pointer: OpaquePointer?
  }

  private static let method: Method = {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir") else {
      return Method(pointer: nil)
    }
    BIO_meth_set_read(method) { bio, target, count in
      guard let stream = StreamBIO.stream(of: bio) else { return -1 }
      weir_bio_clear_retry(bio)
      let moved = stream.moveInput(into: UnsafeMutableRawBufferPointer(start: target, count: Int(max(count, 0))))
      if moved > 0 { return CInt(moved) }
      weir_bio_set_retry_read(bio)
      return -1
    }
    BIO_meth_set_write(method) { bio, source, count in
      guard let stream = StreamBIO.stream(of: bio) else { return -1 }
      weir_bio_clear_retry(bio)
      return stream.addOutput(UnsafeRawBufferPointer(start: source, count: Int(max(count, 0)))) ? count : -1
    }
    BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return Method(pointer: method)
  }()

  private static func stream(of bio: OpaquePointer?) -> TLSStream? {
    guard let owner = BIO_get_data(bio) else { return nil }
    return Unmanaged<TLSStream>.fromOpaque(owner).takeUnretainedValue()
  }
}
