import WeirHTTP

/// Where and how an access log is written: a line for each request that has ended.
package struct AccessLogSettings: Sendable, Equatable {
  package enum Target: Sendable, Equatable {
    /// A file that is appended to, or a FIFO, by an absolute path.
    case file(String)
    case standardError
    case standardOutput
  }

  package enum Format: String, Sendable, CaseIterable {
    case json
    case combined
  }

  /// A part of requests that is logged only if it is asked for, since it may hold secrets.
  package enum Field: Sendable, Equatable {
    case query
    case userAgent
    case referer
    case header(String)
  }

  package var target: Target
  package var format = Format.json
  package var fields: [Field] = []
  /// The share of requests below 400 whose lines are written.
  package var sampleSuccesses = 1.0

  static let mostFields = 32

  package init(to target: Target) {
    self.target = target
  }
}

extension AccessLogSettings.Field {
  /// Reads `query`, `user_agent`, `referer` or `header NAME`.
  init?(_ text: String) {
    switch text {
    case "query": self = .query
    case "user_agent": self = .userAgent
    case "referer": self = .referer
    case _ where text.hasPrefix("header "): self = .header(String(text.dropFirst("header ".count)))
    default: return nil
    }
  }

  /// The key in a line of JSON: `header_x_tenant` for the field `X-Tenant`.
  var key: String {
    switch self {
    case .query: "query"
    case .userAgent: "user_agent"
    case .referer: "referer"
    case .header(let name):
      "header_" + String(decoding: name.utf8.map { $0.isLetterOrDigit ? $0.lowercased : 0x5f }, as: UTF8.self)
    }
  }

  /// The header field that has the value; nil for the query.
  var name: String? {
    switch self {
    case .query: nil
    case .userAgent: "User-Agent"
    case .referer: "Referer"
    case .header(let name): name
    }
  }
}
