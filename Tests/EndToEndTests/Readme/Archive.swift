// docs/bodies.md begins
import Foundation
import Weir

/// Stores files with another service: each goes out as it is read, and again if a retry may help.
final class Archive: Sendable {
  struct Receipt: Decodable, Sendable { let id: Int }

  private let base: String
  private let session: Session

  init(base: String) {
    self.base = base
    session = Session(interceptor: RetryPolicy.recommended())
  }

  func store(_ file: URL, progress: @escaping @Sendable (Double) -> Void) async throws -> Receipt {
    try await session.upload(file, to: "\(base)/files/\(file.lastPathComponent)", method: .put)
      .uploadProgress { progress($0.fractionCompleted) }
      .validate().serializingDecodable(Receipt.self).value
  }

  func store(_ file: URL, note: String) async throws -> Receipt {
    try await session.upload(
      multipartFormData: { form in
        form.append(Data(note.utf8), withName: "note")
        form.append(file, withName: "file")
      }, to: "\(base)/forms"
    ).validate().serializingDecodable(Receipt.self).value
  }
}
// docs/bodies.md ends
