import Foundation
import FoundationNetworking
import Synchronization

@testable import Weir

/// What adapters and retriers are asked with in these tests; nothing is sent.
enum Interception {
  /// A request as it looks after an attempt.
  static func request(
    in session: Session, method: HTTPMethod = .get, retryCount: Int = 0, status: Int? = nil, fields: String = ""
  ) throws -> Request {
    let urlRequest = try URLRequest(url: "http://h/", method: method)
    let request = session.request(urlRequest)
    let task = TransferTask(identifier: 1, request: HopRequest(urlRequest), owner: request)
    if let status { task.received(try LazyHTTPResponseTests.response(fields, status: status)) }
    task.complete(error: nil)
    request.fields.withLock {
      $0.attempt = RequestFields.AttemptFields(number: 1, initial: HopRequest(urlRequest), task: task)
      $0.retryCount = retryCount
    }
    return request
  }

  static func answer(
    of retrier: any RequestRetrier, about request: Request, error: any Error, in session: Session
  ) -> [RetryResult] {
    let answers = Log<RetryResult>()
    retrier.retry(request, for: session, dueTo: error) { answers.append($0) }
    return answers.values
  }

  /// Sets a field.
  static func setting(_ name: String, _ value: String) -> Adapter {
    Adapter { request, _, completion in
      var request = request
      request.setValue(value, forHTTPHeaderField: name)
      completion(.success(request))
    }
  }
}

/// What happened, in order, from any thread.
final class Log<Value: Sendable>: Sendable {
  private let entries = Mutex<[Value]>([])

  func append(_ value: Value) { entries.withLock { $0.append(value) } }

  var values: [Value] { entries.withLock { $0 } }
}

extension RetryResult {
  /// A text to compare with.
  var text: String {
    switch self {
    case .retry: "retry"
    case .retryWithDelay(let delay): "retry after \(delay)"
    case .doNotRetry: "no"
    case .doNotRetryWithError(let error): "no: \(error)"
    }
  }
}
