import WeirHTTP

/// The data from which an interrupted download is resumed: a value, and its bytes, which callers store unchanged.
///
/// The bytes are JSON with a name and a version. A caller may have kept them anywhere, so they are not trusted: they
/// name the partial file by its name only. They contain the URL with its query and the caller's header fields, except
/// those that ``Redaction`` takes for secrets.
struct ResumeData: Equatable, Sendable {
  /// A validator that tells one state of a resource from another (RFC 9110 section 8.8).
  enum Validator: Hashable, Sendable {
    /// A strong entity tag, with its quotation marks.
    case entityTag(String)
    case lastModified(String)

    /// The value of `If-Range` (RFC 9110 section 13.1.5).
    var fieldValue: String {
      switch self {
      case .entityTag(let value), .lastModified(let value): value
      }
    }
  }

  /// The URL without userinfo and fragment.
  var url: URL
  /// The caller's own fields, except secrets and those that belong to a range.
  var headers: [String: String]
  var validator: Validator
  /// The partial file's name in the session's directory for downloads.
  var fileName: String
  /// The bytes of the body that are present.
  var offset: Int64
  /// The length of the whole body; nil if it is not known.
  var total: Int64?

  static let name = "weir-resume-data"
  static let version = 1
  /// More bytes than any resume data made here.
  static let sizeLimit = 256 << 10

  /// Fields that a resumed request sets itself.
  private static let rangeFields = ["range", "if-range"]
}

extension ResumeData {
  /// Nil if the request can't be sent again from its URL and fields, or nothing is missing.
  init?(
    request: URLRequest, validator: Validator, fileName: String, offset: Int64, total: Int64?
  ) {
    guard offset > 0, total.map({ $0 > offset }) ?? true, request.httpMethod ?? "GET" == "GET", request.httpBody == nil,
      request.httpBodyStream == nil,
      let url = request.url.flatMap(Self.withoutSecrets)
    else { return nil }
    self.init(
      url: url, headers: Self.kept(request.allHTTPHeaderFields ?? [:]), validator: validator, fileName: fileName,
      offset: offset, total: total)
  }

  private static func withoutSecrets(_ url: URL) -> URL? {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    return parts.url
  }

  private static func kept(_ headers: [String: String]) -> [String: String] {
    headers.filter { name, _ in
      !Redaction.isSecretField(name) && !rangeFields.contains { FieldSyntax.isSameName($0, name) }
    }
  }

  // MARK: Bytes

  private struct Form: Codable {
    var format: String
    var version: Int
    var url: String
    var headers: [String: String]
    var entityTag: String?
    var lastModified: String?
    var file: String
    var offset: Int64
    var total: Int64?
  }

  /// Nil if the bytes would exceed the limit for reading them again.
  var data: Data? {
    var form = Form(
      format: Self.name, version: Self.version, url: url.absoluteString, headers: headers, file: fileName,
      offset: offset, total: total)
    switch validator {
    case .entityTag(let value): form.entityTag = value
    case .lastModified(let value): form.lastModified = value
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(form), data.count <= Self.sizeLimit else { return nil }
    return data
  }

  /// Reads bytes that may come from anywhere; nil unless every value is one that could have been written here.
  init?(_ data: Data) {
    guard data.count <= Self.sizeLimit, let form = try? JSONDecoder().decode(Form.self, from: data),
      form.format == Self.name, form.version == Self.version, form.offset > 0,
      form.total.map({ $0 > form.offset }) ?? true,
      PartialFile.isName(form.file), let url = Self.usable(form.url), let validator = Self.validator(of: form),
      form.headers.allSatisfy({ FieldSyntax.isToken($0) && FieldSyntax.isSendable($1) }),
      Self.kept(form.headers).count == form.headers.count
    else { return nil }
    self.init(
      url: url, headers: form.headers, validator: validator, fileName: form.file, offset: form.offset, total: form.total
    )
  }

  private static func usable(_ text: String) -> URL? {
    guard let url = URL(string: text), withoutSecrets(url) == url, HopRequest(URLRequest(url: url)).isSupported,
      url.host()?.isEmpty == false
    else { return nil }
    return url
  }

  private static func validator(of form: Form) -> Validator? {
    switch (form.entityTag, form.lastModified) {
    case (let tag?, nil): Validator(entityTag: tag)
    case (nil, let date?): Validator(lastModified: date)
    default: nil
    }
  }

  // MARK: The request

  /// A new request for the body from its beginning, without a range.
  var plainRequest: URLRequest {
    var request = URLRequest(url: url)
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  /// The request for the rest.
  var rangeRequest: URLRequest {
    var request = plainRequest
    request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
    request.setValue(validator.fieldValue, forHTTPHeaderField: "If-Range")
    return request
  }
}

extension ResumeData.Validator {
  /// Nil unless it is a strong entity tag (RFC 9110 section 8.8.3).
  init?(entityTag value: String) {
    let octets = Array(value.utf8)
    guard octets.count >= 2, octets.count <= 1024, octets.first == .quotationMark, octets.last == .quotationMark,
      octets.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != .quotationMark })
    else { return nil }
    self = .entityTag(value)
  }

  /// Nil unless the value is a date.
  init?(lastModified value: String) {
    guard value.utf8.count <= 64, FieldSyntax.isValue(Array(value.utf8)), HTTPDate.parse(value, now: 0) != nil
    else { return nil }
    self = .lastModified(value)
  }

  /// The validator for `If-Range` (RFC 9110 section 13.1.5): a strong entity tag, or the modification date if there is
  /// no entity tag. The date has to be strong: at least one second before the date of the response (section 8.8.2.2).
  init?(of response: LazyHTTPResponse) {
    if let tag = response.value(forHeader: "ETag") {
      self.init(entityTag: tag)
    } else if let changed = response.value(forHeader: "Last-Modified"), let date = response.value(forHeader: "Date") {
      let now = Int(Date().timeIntervalSince1970)
      guard let changedAt = HTTPDate.parse(changed, now: now), let sentAt = HTTPDate.parse(date, now: now),
        sentAt > changedAt
      else { return nil }
      self.init(lastModified: changed)
    } else {
      return nil
    }
  }
}
