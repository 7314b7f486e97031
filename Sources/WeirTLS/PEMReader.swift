internal import CTLS

/// Reads the blocks of PEM files (RFC 7468) from memory, as OpenSSL does. Problems name the part of the settings that the
/// bytes are.
enum PEMReader {
  /// The certificates in their order, with a reference to each that the caller releases. Other blocks are skipped.
  static func certificates(
    _ bytes: [UInt8], of part: TLSProblem.Subject
  ) throws(TLSProblem) -> [OpaquePointer] {
    let bio = try open(bytes, of: part)
    defer { BIO_free(bio) }
    var found: [OpaquePointer] = []
    OpenSSLError.clear()
    while let certificate = PEM_read_bio_X509(bio, nil, refusePassword, nil) { found.append(certificate) }
    let error = OpenSSLError.takeLast()
    guard error.isEndOfPEM else {
      found.forEach { X509_free($0) }
      throw .damaged(part, detail: error.text)
    }
    guard !found.isEmpty else { throw .noCertificate(part) }
    return found
  }

  /// The first private key, which the caller releases.
  ///
  /// - Parameter index: The certificate's place in the settings.
  static func privateKey(_ bytes: [UInt8], index: Int) throws(TLSProblem) -> OpaquePointer {
    let bio = try open(bytes, of: .key(index))
    defer { BIO_free(bio) }
    var isAsked = false
    OpenSSLError.clear()
    let key = withUnsafeMutablePointer(to: &isAsked) { PEM_read_bio_PrivateKey(bio, nil, refusePassword, $0) }
    let error = OpenSSLError.take()
    guard let key else { throw isAsked ? .keyEncrypted(index: index) : .damaged(.key(index), detail: error.text) }
    return key
  }

  /// A BIO over a copy of the bytes, which have at least one block.
  private static func open(_ bytes: [UInt8], of part: TLSProblem.Subject) throws(TLSProblem) -> OpaquePointer {
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    guard bytes.count <= Int(CInt.max), lines.contains(where: { $0.starts(with: "-----BEGIN ".utf8) }) else {
      throw .notPEM(part)
    }
    OpenSSLError.clear()
    let memory = BIO_new(BIO_s_mem())
    guard let bio = memory, BIO_write(bio, bytes, CInt(bytes.count)) == CInt(bytes.count) else {
      BIO_free(memory)
      throw .damaged(part, detail: OpenSSLError.take().text)
    }
    return bio
  }
}

/// Notes that a passphrase is needed. OpenSSL would ask for it on the terminal.
private func refusePassword(
  _: UnsafeMutablePointer<CChar>?, _: CInt, _: CInt, _ isAsked: UnsafeMutableRawPointer?
) -> CInt {
  isAsked?.assumingMemoryBound(to: Bool.self).pointee = true
  return -1
}
