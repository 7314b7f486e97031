import Vapor
import Weir
import WeirSwiftLog
import WeirTracing

/// Passes files on to another service while they arrive, and its answers back while they come.
struct FileRelay: Sendable {
  private static let sent = ["Accept", "Content-Type", "Content-Encoding", "Content-Disposition"]
  private static let returned = ["Content-Type", "Content-Encoding", "Location", "ETag", "Retry-After"]

  let session: Weir.Session

  init(monitor: any EventMonitor) {
    var configuration = SessionConfiguration.server
    // An answer goes back as it came, so that its coding and length stay true.
    configuration.automaticallyDecompresses = false
    // An upload keeps its place, however slow its client is.
    configuration.httpMaximumConnectionsPerHost = 256
    // A POST is repeated only if nothing of it was sent: then nothing was read of its body either.
    let retries = RetryPolicy(
      retryableHTTPMethods: [.post], retryableHTTPStatusCodes: [],
      retryableURLErrorCodes: [.cannotConnectToHost, .cannotFindHost], jitter: .full)
    session = Weir.Session(configuration: configuration, interceptor: retries, eventMonitors: [monitor])
  }

  func serve(_ application: Application) {
    // Else Vapor decodes a body, whose length is another one then.
    application.http.server.configuration.requestDecompression = .disabled
    application.on(.POST, "files", body: .stream) { request in
      do {
        return try await answer(request)
      } catch let error as WeirError {
        throw Self.abort(error)
      }
    }
  }

  private func answer(_ request: Vapor.Request) async throws -> Vapor.Response {
    var message = try URLRequest(url: "https://store.example.com/files", method: .post)
    for name in Self.sent {
      if let value = request.headers.first(name: name) { message.setValue(value, forHTTPHeaderField: name) }
    }
    // Without it the session would ask for gzip, which the client may not understand.
    message.setValue(
      request.headers.first(name: "Accept-Encoding") ?? "identity", forHTTPHeaderField: "Accept-Encoding")
    message.httpBodyStream = SequenceInputStream(
      request.body.map { $0.readableBytesView },
      length: request.headers.first(name: "Content-Length").flatMap { Int64($0) })

    // Every status is the client's, a redirect too: no validate().
    let response = try await session.streamRequest(message).operation("POST /files").redirect(using: .doNotFollow)
      .traced(in: request.serviceContext).log(to: request.logger).streaming()
    let head = response.head
    if head.statusCode == 204 {
      for try await _ in response.body {}
      return Vapor.Response(status: .noContent)
    }
    let answer = Vapor.Response(
      status: HTTPResponseStatus(statusCode: head.statusCode),
      body: .init(
        managedAsyncStream: { writer in
          for try await chunk in response.body { try await writer.write(.buffer(ByteBuffer(bytes: chunk))) }
        }, count: head.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) } ?? -1))
    for name in Self.returned {
      if let value = head.value(forHTTPHeaderField: name) { answer.headers.replaceOrAdd(name: name, value: value) }
    }
    return answer
  }

  /// The answer to the client if there is none to pass on.
  private static func abort(_ error: WeirError) -> Abort {
    switch error {
    case .createUploadableFailed: Abort(.badRequest)  // the client's body broke off
    case .requestRejected, .sessionInvalidated: Abort(.serviceUnavailable, headers: ["Retry-After": "1"])
    case .sessionTaskFailed(let error as URLError) where error.code == .timedOut: Abort(.gatewayTimeout)
    default: Abort(.badGateway)
    }
  }
}
