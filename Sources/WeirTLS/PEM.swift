internal import CTLS

/// Reads the blocks of PEM files (RFC 7468) from memory.
enum PEM {
  enum Trouble: Error {
    /// There is no block at all.
    case notPEM
    /// No block is a certificate.
    case empty
    case damaged(String)
    case encrypted
  }

  /// The certificates in their order, with a reference to each that the caller releases. Other blocks are skipped.
  static func certificates(_ bytes: [UInt8]) throws(Trouble) -> [OpaquePointer] {
    guard isPEM(bytes) else { throw .notPEM }
    let bio = try open(bytes)
    defer { BIO_free(bio) }
    var found: [OpaquePointer] = []
    OpenSSLError.clear()
    while let certificate = PEM_read_bio_X509(bio, nil, refusePassword, nil) { found.append(certificate) }
    let error = OpenSSLError.takeLast()
    guard error.isEndOfPEM else {
      found.forEach { X509_free($0) }
      throw .damaged(error.text)
    }
    guard !found.isEmpty else { throw .empty }
    return found
  }

  /// The first private key, which the caller releases.
  static func privateKey(_ bytes: [UInt8]) throws(Trouble) -> OpaquePointer {
    guard isPEM(bytes) else { throw .notPEM }
    let bio = try open(bytes)
    defer { BIO_free(bio) }
    var isAsked = false
    OpenSSLError.clear()
    let key = withUnsafeMutablePointer(to: &isAsked) { PEM_read_bio_PrivateKey(bio, nil, refusePassword, $0) }
    let error = OpenSSLError.take()
    guard let key else { throw isAsked ? .encrypted : .damaged(error.text) }
    return key
  }

  private static func isPEM(_ bytes: [UInt8]) -> Bool {
    bytes.count <= Int(CInt.max)
      && bytes.split(separator: UInt8(ascii: "\n")).contains {
        $0.starts(with: "-----BEGIN ".utf8)
      }
  }

  /// A BIO over a copy of the bytes.
  private static func open(_ bytes: [UInt8]) throws(Trouble) -> OpaquePointer {
    OpenSSLError.clear()
    guard let bio = BIO_new(BIO_s_mem()) else { throw .damaged(OpenSSLError.take().text) }
    guard BIO_write(bio, bytes, CInt(bytes.count)) == CInt(bytes.count) else {
      BIO_free(bio)
      throw .damaged(OpenSSLError.take().text)
    }
    return bio
  }
}

/// Notes that a passphrase is needed. OpenSSL would ask for it on the terminal.
private let refusePassword:
  @convention(c) (UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?) -> CInt = {
    _, _, _, isAsked in
    isAsked?.assumingMemoryBound(to: Bool.self).pointee = true
    return -1
  }
