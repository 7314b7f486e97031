import Glibc
internal import WeirIO

/// The TLS of a listener, with its certificates and keys in files. A value.
package struct TLSFiles: Sendable, Equatable {
  /// A certificate with its key, by the paths of their files.
  package struct Pair: Sendable, Equatable {
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
      self.certificate = certificate
      self.key = key
    }
  }

  package var certificates: [Pair]
  /// The path of the authorities of clients' certificates; nil asks clients for none.
  package var clientCA: String?
  /// The path of the ticket keys; nil draws them.
  package var ticketKeys: String?
  /// The settings without what the files hold.
  package var rules = TLSSettings(certificates: [])

  package init(certificates: [Pair] = [], clientCA: String? = nil) {
    self.certificates = certificates
    self.clientCA = clientCA
  }
}

// MARK: Files

extension TLSFiles {
  /// The most bytes of a file.
  package static let maximumFileBytes = 1 << 20

  /// The files: each certificate and its key, then the authorities and the ticket keys, if there are.
  package var paths: [String] {
    certificates.flatMap { [$0.certificate, $0.key] } + [clientCA, ticketKeys].compactMap(\.self)
  }

  /// The bytes of all files.
  package func read() throws(TLSFilesProblem) -> [[UInt8]] {
    var all: [[UInt8]] = []
    for index in paths.indices { all.append(try read(index)) }
    return all
  }

  /// The bytes of one file.
  package func read(_ index: Int) throws(TLSFilesProblem) -> [UInt8] {
    do {
      let bytes = try SmallFile.bytes(of: paths[index], limit: Self.maximumFileBytes + 1)
      if bytes.count <= Self.maximumFileBytes { return bytes }
    } catch {
      throw TLSFilesProblem("\(name(index)) \(error.text)", file: index)
    }
    throw TLSFilesProblem("\(name(index)) is larger than 1 MiB", file: index)
  }

  /// The context that the bytes of all files make.
  ///
  /// - Parameter previous: The context that this one replaces, whose ticket keys stay good if they may.
  package func context(
    of bytes: [[UInt8]], after previous: TLSServerContext? = nil
  ) throws(TLSFilesProblem) -> TLSServerContext {
    var settings = rules
    settings.certificates = certificates.indices.map { TLSCertificate(chain: bytes[2 * $0], key: bytes[2 * $0 + 1]) }
    settings.clientCA = clientCA == nil ? nil : bytes[2 * certificates.count]
    settings.ticketKeys = ticketKeys == nil ? nil : bytes.last.map(Self.keys)
    do {
      return try TLSServerContext(settings, keysOf: previous)
    } catch {
      guard let file = file(of: error.subject) else { throw TLSFilesProblem("\(error)") }
      throw TLSFilesProblem("\(name(file)): \(error)", file: file)
    }
  }

  /// The index of the file that a part of the settings comes from; nil if it comes from none.
  private func file(of part: TLSProblem.Subject) -> Int? {
    switch part {
    case .chain(let index): 2 * index
    case .key(let index): 2 * index + 1
    case .clientCA: 2 * certificates.count
    case .ticketKeys: 2 * certificates.count + (clientCA == nil ? 0 : 1)
    case .other: nil
    }
  }

  /// The path in full: the part that tells files apart is at the end.
  private func name(_ index: Int) -> String { paths[index].inQuotes(limit: Int(PATH_MAX)) }

  /// The keys of a file that holds them one after the other. What is left at the end is a key that is too short.
  private static func keys(in bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: TLSSettings.ticketKeyLength).map {
      Array(bytes[$0..<min(bytes.count, $0 + TLSSettings.ticketKeyLength)])
    }
  }
}

/// The reason why files make no TLS.
package struct TLSFilesProblem: Error, Hashable, CustomStringConvertible {
  /// The reason in words, with the path of a file that it is about.
  package let description: String
  /// The index of that file; nil if it is about no single one.
  package let file: Int?

  init(_ description: String, file: Int? = nil) {
    self.description = description
    self.file = file
  }
}
