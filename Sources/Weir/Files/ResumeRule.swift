import WeirHTTP

/// Judges a response to a request for the rest of a body; a value.
struct ResumeRule: Equatable, Sendable {
  enum Verdict: Equatable, Sendable {
    /// The response is the rest: `length` bytes of a body of `total` bytes, if the total is known.
    case append(length: Int64, total: Int64?)
    /// The response is the whole body.
    case whole
    /// The response is of no use, but without a range the server would send the body.
    case askAgain
    /// The response is about something else; the partial file may still be of use later.
    case other
  }

  /// The requested range and its condition.
  let offset: Int64
  let validator: ResumeData.Validator
  let total: Int64?

  func verdict(on response: LazyHTTPResponse) -> Verdict {
    switch response.statusCode {
    case 200: .whole
    case 206: rest(in: response) ?? .askAgain
    case 416: .askAgain
    default: .other
    }
  }

  private func rest(in response: LazyHTTPResponse) -> Verdict? {
    guard !response.isContentCoded, isSame(response),
      let range = response.value(forHeader: "Content-Range").flatMap(ContentRange.init),
      range.first == offset, isToTheEnd(range),
      lengthAgrees(response, range)
    else { return nil }
    return .append(length: range.length, total: range.total ?? total)
  }

  /// Whether the response is about the same state of the resource; without a validator it might be another state.
  private func isSame(_ response: LazyHTTPResponse) -> Bool {
    switch validator {
    case .entityTag(let tag): response.value(forHeader: "ETag") == tag
    case .lastModified(let date): response.value(forHeader: "Last-Modified") == date
    }
  }

  /// Whether the range reaches the end. A server may send less than the requested range (RFC 9110 section 14.2); the
  /// body would not be whole then.
  private func isToTheEnd(_ range: ContentRange) -> Bool {
    if let known = total, let said = range.total, known != said { return false }
    return (range.total ?? total).map { range.last == $0 - 1 } ?? true
  }

  private func lengthAgrees(_ response: LazyHTTPResponse, _ range: ContentRange) -> Bool {
    guard let length = response.value(forHeader: "Content-Length") else { return true }
    return Int64(length) == range.length
  }
}

/// A `Content-Range` such as `bytes 5-9/10` (RFC 9110 section 14.4).
struct ContentRange: Equatable, Sendable {
  let first: Int64
  let last: Int64
  /// Nil stands for `*`.
  let total: Int64?

  var length: Int64 { last - first + 1 }

  /// Nil for any other form, also for an unsatisfied range.
  init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, FieldSyntax.lowercased(String(words[0])) == "bytes" else { return nil }
    let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
      return nil
    }
    self.first = first
    self.last = last
    if halves[1] == "*" {
      total = nil
    } else {
      guard let total = Self.number(halves[1]), total > last else { return nil }
      self.total = total
    }
  }

  /// Nil for the greatest number: it stands for all numbers that are too great, and adding 1 to it would overflow.
  private static func number(_ text: Substring) -> Int64? {
    let number = String(text).withOctets { $0.decimal }
    return number == .max ? nil : number
  }
}

extension LazyHTTPResponse {
  /// Whether the body has a content coding (RFC 9110 section 8.4).
  var isContentCoded: Bool {
    guard let coding = value(forHeader: "Content-Encoding") else { return false }
    return coding.withOctets { codings in
      codings.listElements.contains { !$0.isEmpty && !$0.spells("identity") }
    }
  }
}

/// Decides from which responses an interrupted download could be resumed.
enum Resumability {
  /// The validator that the rest would have to match; nil if the server may not send the rest alone. A 206 that is not
  /// the rest of a download answers the caller's own range, and its file does not begin where the body does.
  ///
  /// - Parameter isRest: Whether this response is itself the rest of a download.
  static func validator(
    of response: LazyHTTPResponse, to request: URLRequest, isRest: Bool
  ) -> ResumeData.Validator? {
    guard request.httpMethod ?? "GET" == "GET", response.statusCode == (isRest ? 206 : 200), !response.isContentCoded,
      FieldSyntax.lowercased(response.value(forHeader: "Accept-Ranges") ?? "") != "none"
    else { return nil }
    return ResumeData.Validator(of: response)
  }
}
