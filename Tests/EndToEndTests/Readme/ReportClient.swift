// docs/bodies.md begins
import Foundation
import FoundationNetworking
import Weir

/// Sends reports as a form, the way a browser does, compressed.
final class ReportClient: Sendable {
  private let session = Session(interceptor: .gzipCompressor)

  func send(_ document: URL, title: String, to url: String) async throws {
    let form = MultipartFormData()
    form.append(Data(title.utf8), withName: "title")
    form.append(document, withName: "document")
    var request = try URLRequest(url: url, method: .post, headers: ["Content-Type": form.contentType])
    request.httpBody = try form.encode()
    _ = try await session.request(request).validate().serializingData(emptyResponseCodes: [204]).value
  }
}
// docs/bodies.md ends
