import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// A session with the metrics it feeds.
struct MeasuredSession {
  let registry = Registry()
  let session: Session

  init(
    interceptor: (any RequestInterceptor)? = nil, monitors: [any EventMonitor] = [],
    _ configure: (inout SessionConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = SessionConfiguration()
    // A test that hangs fails with an error that says where.
    configuration.timeoutIntervalForResource = 60
    configure(&configuration)
    session = Session(
      configuration: configuration, interceptor: interceptor,
      eventMonitors: [try MetricsMonitor(registry: registry)] + monitors)
  }

  func get(_ url: String) async -> WeirDataResponse<Data> {
    await session.request(url).serializingData().response
  }

  /// The body of a response as text.
  func text(_ url: String) async throws -> String {
    try await session.request(url).validate().serializingString().value
  }

  /// The sum of a metric's series that have these labels.
  func sum(_ metric: String, _ labels: [String: String] = [:]) -> Double {
    ExpositionText(registry.text()).sum(metric, labels)
  }
}

/// A page of metrics, read.
struct ExpositionText {
  private var samples: [(name: Substring, labels: String, value: Double)] = []

  init(_ text: String) {
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
      let series = line[..<space]
      let brace = series.firstIndex(of: "{") ?? series.endIndex
      samples.append((series[..<brace], String(series[brace...]), value))
    }
  }

  func sum(_ metric: String, _ labels: [String: String] = [:]) -> Double {
    samples.reduce(0) { sum, sample in
      let matches =
        sample.name == metric
        && labels.allSatisfy {
          sample.labels.contains("{\($0)=\"\($1)\"") || sample.labels.contains(",\($0)=\"\($1)\"")
        }
      return matches ? sum + sample.value : sum
    }
  }
}

extension DataResponse where Failure == WeirError {
  /// The code of a transfer that failed; nil when it didn't fail in the transfer.
  var urlErrorCode: URLError.Code? {
    guard case .sessionTaskFailed(let error) = error else { return nil }
    return (error as? URLError)?.code
  }

  var statusCode: Int? { response?.statusCode }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test when one of these programs is not installed.
  static func needs(_ tools: Tool...) -> Self {
    let missing = tools.first { !$0.isInstalled }
    return .enabled(if: missing == nil, "\(missing?.isMissing ?? "")")
  }
}
