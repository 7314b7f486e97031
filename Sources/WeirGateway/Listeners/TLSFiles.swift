import Glibc
import WeirIO
import WeirTLS

/// The files of a TLS configuration, and how settings are made of them.
struct TLSFiles: Sendable {
  /// The most bytes of a file.
  static let limit = 1 << 20

  /// The files in the order in which `make` gets their bytes.
  let paths: [String]
  private let make: @Sendable ([[UInt8]]) throws(TLSFilesProblem) -> TLSSettings
  private let place: @Sendable (TLSProblem.Subject) -> Int?

  /// - Parameters:
  ///   - place: The index of the file that a part of the settings comes from; nil if it comes from none.
  ///   - make: Makes settings of the bytes of all files, or throws what is wrong with them.
  init(
    _ paths: [String], place: @escaping @Sendable (TLSProblem.Subject) -> Int?,
    make: @escaping @Sendable ([[UInt8]]) throws(TLSFilesProblem) -> TLSSettings
  ) {
    self.paths = paths
    self.place = place
    self.make = make
  }

  /// The bytes of all files.
  func read() throws(TLSFilesProblem) -> [[UInt8]] {
    var all: [[UInt8]] = []
    for index in paths.indices { all.append(try read(index)) }
    return all
  }

  /// The bytes of one file.
  func read(_ index: Int) throws(TLSFilesProblem) -> [UInt8] {
    do {
      let bytes = try SmallFile.bytes(of: paths[index], limit: Self.limit + 1)
      if bytes.count <= Self.limit { return bytes }
    } catch {
      throw TLSFilesProblem("\(name(index)) \(error.text)", file: index)
    }
    throw TLSFilesProblem("\(name(index)) is larger than 1 MiB", file: index)
  }

  /// The settings that the files' bytes make.
  func settings(of bytes: [[UInt8]]) throws(TLSFilesProblem) -> TLSSettings { try make(bytes) }

  /// The problem with the name of its file.
  func problem(_ problem: TLSProblem) -> TLSFilesProblem {
    guard let file = place(problem.subject) else { return TLSFilesProblem("\(problem)") }
    return TLSFilesProblem("\(name(file)): \(problem)", file: file)
  }

  /// The path in full: the part that tells files apart is at the end.
  private func name(_ index: Int) -> String { quoted(paths[index], limit: Int(PATH_MAX)) }
}

/// The reason why files make no TLS.
struct TLSFilesProblem: Error, Hashable, CustomStringConvertible {
  /// The reason in words, with the path of a file that it is about.
  let description: String
  /// The index of that file; nil if it is about no single one.
  let file: Int?

  init(_ description: String, file: Int? = nil) {
    self.description = description
    self.file = file
  }
}
