package import WeirMetrics

/// A request to `/metrics`: the page that it asks for, and its timeout.
package struct ScrapeRequest: Hashable, Sendable {
  /// The properties that determine the page. Requests with equal ones can be answered with the same bytes.
  package struct Variant: Hashable, Sendable {
    package let format: Exposition.Format
    package let coding: PageCoding
    /// The names of the metrics to show; nil shows all.
    package let names: Set<String>?
  }

  /// A request that gets no page.
  package enum Refusal: Error, Hashable {
    case malformedFilter
    case noAcceptableCoding
  }

  package let variant: Variant
  /// Seconds within which the request must be answered.
  package let timeout: Double
}

extension ScrapeRequest {
  /// - Parameters: The values of the header fields with these names; nil if the request has none.
  package init(
    query: String?, accept: String?, acceptEncoding: String?, announcedTimeout: String?, timeoutLimit: Double
  ) throws(Refusal) {
    guard let coding = PageCoding(acceptEncoding: acceptEncoding) else { throw .noAcceptableCoding }
    let names: [String]
    do throws(QueryItems.Malformed) {
      names = try QueryItems(query ?? "").values(of: "name[]")
    } catch {
      throw .malformedFilter
    }
    let format = Exposition.Format(accept: accept)
    variant = Variant(format: format, coding: coding, names: names.isEmpty ? nil : Set(names))
    timeout = ScrapeTimeout.seconds(announcedTimeout, limit: timeoutLimit)
  }
}

extension ScrapeRequest.Refusal {
  var status: Int {
    switch self {
    case .malformedFilter: 400
    case .noAcceptableCoding: 406
    }
  }

  var text: String {
    switch self {
    case .malformedFilter: "a name[] in the query is not percent-encoded UTF-8\n"
    case .noAcceptableCoding: "Accept-Encoding refuses both gzip and identity, the only codings there are\n"
    }
  }
}
