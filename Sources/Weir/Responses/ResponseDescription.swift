/// The debug text of a response, block by block, without secret fields and user info.
struct ResponseDescription {
  /// The largest body, in bytes, that is shown as text.
  static let maximumBodyText = 100_000

  let contents: ResponseContents
  let serializationDuration: TimeInterval
  let result: String

  /// The whole text. Data requests and downloads differ by the blocks `responseBody` and `extra`.
  func text(responseBody: Data?? = nil, extra: [String] = []) -> String {
    guard let request = contents.hop?.urlRequest else {
      return "[Request]: None\n[Result]: \(result)"
    }
    let network = contents.metrics.map { "\($0.taskInterval.duration)s" } ?? "None"
    let blocks =
      [requestBlock(request), responseBlock(body: responseBody)] + extra + [
        "[Network Duration]: \(network)",
        "[Serialization Duration]: \(serializationDuration)s",
        "[Result]: \(result)",
      ]
    return blocks.joined(separator: "\n")
  }

  private func requestBlock(_ request: URLRequest) -> String {
    let headers = request.headers
    let url = Redaction.urls(in: request.url?.absoluteString ?? "nil")
    let body = Self.bodyText(request.httpBody, contentType: headers.value(for: "Content-Type"))
    return """
      [Request]: \(request.httpMethod ?? "nil") \(url)
      \(Self.indented(Self.headersText(headers)))
      \(Self.indented(body))
      """
  }

  private func responseBlock(body: Data??) -> String {
    guard let response = contents.head?.response else { return "[Response]: None" }
    let headers = response.headers
    var lines = ["[Status Code]: \(response.statusCode)", Self.headersText(headers)]
    if let body { lines.append(Self.bodyText(body, contentType: headers.value(for: "Content-Type"))) }
    return "[Response]:\n\(Self.indented(lines.joined(separator: "\n")))"
  }

  private static func headersText(_ headers: HTTPHeaders) -> String {
    guard !headers.isEmpty else { return "[Headers]: None" }
    let lines = headers.sorted().map { header in
      Redaction.isSecretField(header.name)
        ? "\(header.name): \(Redaction.placeholder)" : Redaction.urls(in: header.description)
    }
    return "[Headers]:\n\(indented(lines.joined(separator: "\n")))"
  }

  private static func bodyText(_ body: Data?, contentType: String?) -> String {
    guard let body, !body.isEmpty else { return "[Body]: None" }
    let type = contentType?.lowercased() ?? ""
    guard body.count <= maximumBodyText, ["json", "xml", "text"].contains(where: type.contains) else {
      return "[Body]: \(body.count) bytes"
    }
    let text = String(decoding: body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return "[Body]:\n\(indented(text))"
  }

  private static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "    \($0)" }.joined(separator: "\n")
  }
}

extension Result {
  /// The result's description, without secrets in the error's text.
  fileprivate var redactedDescription: String {
    if case .success = self { "\(self)" } else { Redaction.urls(in: "\(self)") }
  }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
  /// The result's description, without secrets.
  public var description: String { result.redactedDescription }

  /// Request, response, body, durations and result, without secrets.
  public var debugDescription: String {
    ResponseDescription(
      contents: contents, serializationDuration: serializationDuration, result: result.redactedDescription
    )
    .text(responseBody: data)
  }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
  /// The result's description, without secrets.
  public var description: String { result.redactedDescription }

  /// Request, response, file, durations and result, without secrets.
  public var debugDescription: String {
    ResponseDescription(
      contents: contents, serializationDuration: serializationDuration, result: result.redactedDescription
    )
    .text(extra: [
      "[File URL]: \(fileURL?.path ?? "None")",
      "[Resume Data]: \(resumeData.map { "\($0.count) bytes" } ?? "None")",
    ])
  }
}
